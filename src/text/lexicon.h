// A list of words with their pronunciation, given as sounds or as other words to read instead.
//
//     # a word, then how it is said
//     Syrinx    /ˈsɪɹɪŋks/        IPA
//     Nguyen    {W IH1 N}         ARPAbet
//     nginx     engine X          other words
//
// An entry in small letters applies to the word in any case. An entry with capitals applies only to
// exactly this spelling. Const after construction, so thread-safe.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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

  /// Parses the text of a lexicon file. An Error names the line and the fault.
  static Result<std::shared_ptr<const Lexicon>> parse(std::string_view text);
  /// Makes a lexicon of words and their pronunciations. An Error names the invalid word.
  static Result<std::shared_ptr<const Lexicon>> of(
      std::span<const std::pair<std::string, std::string>> entries);
  /// Returns a lexicon that searches `first`, then `second`. If one is null, returns the other one.
  static std::shared_ptr<const Lexicon> both(const std::shared_ptr<const Lexicon>& first,
                                             const std::shared_ptr<const Lexicon>& second);

  size_t size() const { return entries_.size() + (next_ ? next_->size() : 0); }
  /// Writes the lexicon as bytes, for another process.
  void append_to(std::string& bytes) const;
  /// Reads the bytes that append_to() wrote; throws LoadError for other bytes.
  static std::shared_ptr<const Lexicon> read(ByteReader& in);

  /// Appends a Saying for each known word of `text`, in order. A possessive 's belongs to its word.
  void find(std::string_view text, std::vector<Saying>& out) const;

 private:
  struct Entry {
    std::string words;  ///< words to read instead; empty if the entry has phones
    Phones phones;
  };
  Status add(std::string_view word, std::string_view how);
  const Entry* entry(std::string_view word) const;

  std::map<std::string, Entry> entries_;  // in order, so that equal lexicons have equal bytes
  std::shared_ptr<const Lexicon> next_;
};

/// Loads a lexicon file. Throws a LoadError that names the line.
std::shared_ptr<const Lexicon> load_lexicon(const std::string& path);

/// Replaces words by the other words of a lexicon, in a text that arrives in pieces, for models
/// that do not accept phones. The result does not depend on the pieces. Not thread-safe.
class Respeller {
 public:
  explicit Respeller(std::shared_ptr<const Lexicon> lexicon) : lexicon_(std::move(lexicon)) {}
  /// Adds a piece and returns the text that is final: all except a last word that may continue.
  std::string push(std::string_view text, bool last);

 private:
  std::shared_ptr<const Lexicon> lexicon_;
  std::string held_;
};

/// Returns the sayings in `part`, which begins at byte `begin` of its text, with offsets in `part`.
/// These are the sayings of `given`, and in other places those of `lexicon`, which may be null.
std::vector<Saying> sayings_in(std::string_view part, int64_t begin,
                               const std::vector<Saying>& given, const Lexicon* lexicon);

}  // namespace syrinx
