// misaki's lexicon of US English and its rules for endings, stress and small words. So words get
// the phonemes that Kokoro was trained on. This code does not find parts of speech: a word whose
// phonemes depend on its part of speech gets the most usual ones. Const; any thread. Source: misaki
// 0.9.4, misaki/en.py (Lexicon) and data/us_gold.json (lexicon/README.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx::kokoro {

/// Marks of stress; a mark precedes the stressed vowel.
inline constexpr std::string_view kStress = "ˈ", kSecondStress = "ˌ";

/// The sound that follows a word.
enum class Follows : uint8_t {
  kPause,  ///< a punctuation mark, or the end of the text
  kVowel,
  kConsonant,
};
/// Classifies the first sound of `phonemes`. Returns `later` if `phonemes` has no sound.
Follows follows(std::string_view phonemes, Follows later);

class UsLexicon {
 public:
  /// Unpacks the lexicon that is linked into the program; takes about 50 ms.
  UsLexicon();

  /// Returns the phonemes of a word of letters and apostrophes, in the alphabet of the model's
  /// first version. Returns nullopt if word and stem are unknown. `to`: the word "to" follows.
  std::optional<std::string> find(std::string_view word, Follows next, bool to = false) const;

  size_t words() const { return words_.size(); }

 private:
  struct Entry {
    uint32_t word = 0, phonemes = 0;  // offsets in text_
    uint16_t word_size = 0, phonemes_size = 0;
  };
  std::string_view columns_of(std::string_view word) const;
  std::string_view columns_in_any_case(std::string_view word) const;
  std::string look_up(std::string_view word, Follows next, bool to) const;
  std::string known(std::string_view word, Follows next, bool to) const;
  std::string with_ending(std::string_view word, Follows next) const;
  bool has(std::string_view word) const { return !columns_in_any_case(word).empty(); }

  std::string text_;
  std::vector<Entry> words_;  // sorted by word
};

/// Returns the packed lexicon, which CMake makes.
std::string_view packed_us_lexicon();

}  // namespace syrinx::kokoro
