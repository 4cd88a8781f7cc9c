// A list of words with their pronunciation, as sounds or as other words that are read instead.
//
//     # a word, then how it is said
//     Syrinx    /ˈsɪɹɪŋks/        IPA
//     Nguyen    {W IH1 N}         ARPAbet
//     nginx     engine X          other words
//
// An entry in small letters applies to the word in any case, one with capitals only to exactly this
// spelling. Const after construction; any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "text/saying.h"

namespace syrinx {

class Lexicon {
 public:
  static constexpr size_t kMostEntries = 100'000;
  static constexpr size_t kMostWordBytes = 64, kMostHowBytes = 400;

  /// Parses the text of a lexicon file. An Error names the line and its fault.
  static Result<std::shared_ptr<const Lexicon>> parse(std::string_view text);
  /// Makes a lexicon of words and their pronunciations. An Error names the word.
  static Result<std::shared_ptr<const Lexicon>> of(
      std::span<const std::pair<std::string, std::string>> entries);
  /// Returns a lexicon that searches `first`, then `second`; if one is null, returns the other.
  static std::shared_ptr<const Lexicon> both(const std::shared_ptr<const Lexicon>& first,
                                             const std::shared_ptr<const Lexicon>& second);

  size_t size() const { return entries_.size() + (next_ ? next_->size() : 0); }
  /// Writes the lexicon as bytes, for another process.
  void append_to(std::string& bytes) const;
  /// Reads what append_to() has written; throws LoadError for anything else.
  static std::shared_ptr<const Lexicon> read(ByteReader& in);

  /// Appends the known words of `text`, in order; a possessive 's belongs to its word.
  void find(std::string_view text, std::vector<Saying>& out) const;

 private:
  struct Entry {
    std::string words;  ///< words to read instead; or:
    Phones phones;
  };
  Status add(std::string_view word, std::string_view how);
  const Entry* entry(std::string_view word) const;

  std::unordered_map<std::string, Entry> entries_;
  std::shared_ptr<const Lexicon> next_;
};

/// Loads a lexicon file. Throws LoadError with the line.
std::shared_ptr<const Lexicon> load_lexicon(const std::string& path);

/// Replaces words by a lexicon's other words, in a text that arrives in pieces; for models that do
/// not take phones. The result does not depend on the pieces. One thread.
class Respeller {
 public:
  explicit Respeller(std::shared_ptr<const Lexicon> lexicon) : lexicon_(std::move(lexicon)) {}
  /// Adds a piece and returns the final text: all except a word that may continue.
  std::string push(std::string_view text, bool last);

 private:
  std::shared_ptr<const Lexicon> lexicon_;
  std::string held_;
};

}  // namespace syrinx
