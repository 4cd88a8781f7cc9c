// The rules by which neighbouring Chinese tones change, and the words that must be joined for them.
// Const after construction; any thread. Source: misaki 0.9.4, tone_sandhi.py, which is
// PaddleSpeech's (Apache-2.0).
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "families/kokoro/jieba.h"
#include "families/kokoro/pinyin.h"

namespace syrinx::kokoro {

class Tones {
 public:
  /// Unpacks the word lists that are linked into the program.
  Tones();

  /// Joins words whose tones change together, e.g. a numeral with the word after it.
  static std::vector<TaggedWord> joined(std::vector<TaggedWord> words, const Pinyin& pinyin);
  /// Changes the tones, which are the last characters of a word's syllables. Each character has one
  /// syllable, which is "" if the character has no reading.
  void change(const TaggedWord& word, const Jieba& jieba,
              std::vector<std::string>& syllables) const;
  /// Returns whether the last syllable of a word is an r that joins the syllable before it.
  bool ends_in_r(const TaggedWord& word) const;

 private:
  using Words = std::unordered_set<std::u32string>;
  bool is_neutral(std::u32string_view word) const;
  void change_neutral(const TaggedWord& word, const Jieba& jieba,
                      std::vector<std::string>& syllables) const;

  Words neutral_, not_neutral_;  // words whose last tone is neutral; words without neutral tones
  Words r_, not_r_;  // words whose last r joins the syllable before it; words where it does not
};

/// The word lists, in four lines. CMake makes them.
std::string_view packed_tone_words();

}  // namespace syrinx::kokoro
