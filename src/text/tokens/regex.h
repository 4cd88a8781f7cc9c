// Regular expressions of tokenizers, run by PCRE2. Tokenizer files write them for Oniguruma; what
// the two read differently (spaces, word characters, line anchors) is translated, and what cannot
// be is a LoadError. A Regex is const after construction; a RegexMatcher is for one thread.
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

  /// Whether a match can depend on what stands before it (look-behind, word boundaries, anchors).
  bool looks_behind() const;

 private:
  friend class RegexMatcher;
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

/// Finds matches of one Regex from left to right. Cost is bounded: a search that exceeds the
/// match limit counts as no match at that place.
class RegexMatcher {
 public:
  enum class Found { kMatch, kNone, kUnfinished };

  explicit RegexMatcher(const Regex& regex);
  ~RegexMatcher();
  RegexMatcher(const RegexMatcher&) = delete;
  RegexMatcher& operator=(const RegexMatcher&) = delete;

  /// The first match at or after byte `from` of valid UTF-8. With `more`, text may follow: as soon
  /// as that could change the outcome the answer is kUnfinished, and begin() says where.
  Found find(std::string_view text, size_t from, bool more = false);
  size_t begin() const { return begin_; }
  size_t end() const { return end_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  size_t begin_ = 0, end_ = 0;
};

/// A pattern written for Oniguruma as PCRE2 wants it.
std::string translate_pattern(const std::string& pattern, const std::string& where);

}  // namespace syrinx
