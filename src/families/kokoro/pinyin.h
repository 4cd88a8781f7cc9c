// Readings of Chinese words and misaki's phonemes of a syllable. A syllable is pinyin with a tone,
// 5 for none: "zhong1", "lve4". Const after construction; any thread.
// Source: pypinyin 0.55.0 (its tables, its choice of phrases), misaki 0.9.4 (transcription.py,
// zh.py: retone).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace syrinx::kokoro {

/// Characters that have readings.
inline constexpr char32_t kFirstHan = 0x4e00, kLastHan = 0x9fff;

class Pinyin {
 public:
  /// Unpacks tables that are linked into the program, which takes milliseconds.
  explicit Pinyin(std::string_view packed);
  /// Returns the syllable of each character of a word; "" for a character without a reading.
  /// Readings are those of the longest phrases in the word.
  std::vector<std::string> read(std::u32string_view word) const;

 private:
  std::vector<std::string> syllables_;  // [0] is ""
  std::vector<uint16_t> usual_;         // reading of each character, from kFirstHan on
  // Phrases in which a character has another reading than alone; 0: the usual one.
  std::unordered_map<std::u32string, std::vector<uint16_t>> phrases_;
  size_t longest_ = 0;  // characters of the longest phrase
};

/// Returns the phonemes of a syllable in the alphabet of the first model; empty for other text.
std::string ipa_of_pinyin(std::string_view syllable);

/// A syllable as pypinyin splits it; the final without the rules of spelling, the tone a digit.
struct SyllableParts {
  std::string initial, final;
  char tone = '5';
};
/// Splits a syllable: "jun1" to j, vn, 1. Returns an empty final for what is not a syllable.
SyllableParts parts_of_pinyin(std::string_view syllable);

/// The packed tables of the readers of version 1.0 and 1.1; made by CMake.
std::string_view packed_pinyin();
std::string_view packed_large_pinyin();

}  // namespace syrinx::kokoro
