// The words of Japanese text with their readings, found by the program mecab and its dictionary.
// Dictionaries: UniDic, which misaki uses, or IPADIC and NAIST-jdic. Free function; any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "families/kokoro/written.h"

namespace syrinx::kokoro {

/// The classes of characters in a dictionary's char.def, in the order of that file.
enum class KanaType : uint8_t {
  kOther = 0,
  kKanji = 2,
  kSymbol = 3,
  kNumber = 4,
  kLatin = 5,
  kWord = 6,  ///< kana, or a word that is in the dictionary
  kKatakana = 7,
};

/// A word of a sentence, as MeCab cuts it.
struct Morpheme {
  std::u32string surface;
  std::u32string reading;  ///< spoken form in hiragana; for an unknown word, its surface
  KanaType type = KanaType::kWord;
  int64_t begin = 0, end = 0;  ///< range of bytes in the request's text
};

/// Returns the words of each sentence, without its spaces. Starts mecab once, which takes 10 ms,
/// and a millisecond per sentence. If mecab or its dictionary is missing, returns an Error with the
/// package names.
Result<std::vector<std::vector<Morpheme>>> mecab_words(
    std::span<const std::vector<Written>> sentences);

}  // namespace syrinx::kokoro
