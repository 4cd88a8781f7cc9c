// Regular expressions of tokenizers, run by PCRE2. Tokenizer files use Oniguruma's syntax. Where
// the two differ in spaces, word characters and line anchors, the pattern is translated. Other
// differences throw a LoadError. A Regex is const; a RegexMatcher is for one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace syrinx {

/// A compiled pattern.
class Regex {
 public:
  /// `where` names the file and entry in a LoadError.
  Regex(const std::string& pattern, const std::string& where);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  /// Returns whether a match can depend on the text before it (look-behind, word boundaries,
  /// anchors).
  bool looks_behind() const;

 private:
  friend class RegexMatcher;
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

/// Finds matches of one Regex from left to right. The cost is bounded: if a search exceeds the
/// match limit, the position counts as unmatched.
class RegexMatcher {
 public:
  enum class Found { kMatch, kNone, kUnfinished };

  explicit RegexMatcher(const Regex& regex);
  ~RegexMatcher();
  RegexMatcher(const RegexMatcher&) = delete;
  RegexMatcher& operator=(const RegexMatcher&) = delete;

  /// Finds the first match at or after byte `from` of valid UTF-8. `more`: text may follow. If it
  /// could change the result, returns kUnfinished; begin() is the first affected position.
  Found find(std::string_view text, size_t from, bool more = false);
  size_t begin() const { return begin_; }
  size_t end() const { return end_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  size_t begin_ = 0, end_ = 0;
};

/// Translates a pattern in Oniguruma's syntax to PCRE2's.
std::string translate_pattern(const std::string& pattern, const std::string& where);

}  // namespace syrinx
