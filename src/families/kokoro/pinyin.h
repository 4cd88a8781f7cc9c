// Readings of Chinese words, and misaki's phonemes of a syllable. A syllable is pinyin with a
// tone: "zhong1", "lve4"; 5 means no tone. Const after construction; any thread. Source:
// pypinyin 0.55.0 (its tables, its choice of phrases), misaki 0.9.4 (transcription.py, zh.py:
// retone).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace syrinx::kokoro {

/// Range of the characters that have readings.
inline constexpr char32_t kFirstHan = 0x4e00, kLastHan = 0x9fff;

class Pinyin {
 public:
  /// Unpacks tables that are linked into the program; takes milliseconds.
  explicit Pinyin(std::string_view packed);
  /// Returns the syllable of each character of a word; "" for a character without a reading. The
  /// longest phrases in the word set the readings.
  std::vector<std::string> read(std::u32string_view word) const;

 private:
  std::vector<std::string> syllables_;  // entry 0 is ""
  std::vector<uint16_t> usual_;         // usual syllable of each character, from kFirstHan on
  // Phrases in which a character has an unusual reading. 0 means the usual reading.
  std::unordered_map<std::u32string, std::vector<uint16_t>> phrases_;
  size_t longest_ = 0;  // number of characters of the longest phrase
};

/// Returns the phonemes of a syllable in the alphabet of the first model. Empty for other text.
std::string ipa_of_pinyin(std::string_view syllable);

/// A syllable as pypinyin splits it: initial, final before spelling rules, and tone as a digit.
struct SyllableParts {
  std::string initial, final;
  char tone = '5';
};
/// Splits a syllable: "jun1" into j, vn, 1. The final is empty if the text is not a syllable.
SyllableParts parts_of_pinyin(std::string_view syllable);

/// The packed tables for the readers of versions 1.0 and 1.1. CMake makes them.
std::string_view packed_pinyin();
std::string_view packed_large_pinyin();

}  // namespace syrinx::kokoro
