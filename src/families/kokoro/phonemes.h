// Text to the phonemes that Kokoro was trained on, in misaki's alphabet, a word or mark at a time.
// This program's own reader (text/english) reads US English. Its words have the phonemes of
// misaki's lexicon. Words that the lexicon lacks have libflite's phonemes in misaki's alphabet. The
// program espeak-ng reads other languages and British English. Pure functions. Source of the
// alphabet: misaki 0.9.4 (EN_PHONES.md, espeak.py: EspeakFallback, EspeakG2P).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "families/finch/frontend.h"
#include "families/kokoro/lexicon.h"

namespace syrinx::kokoro {

/// The phonemes of a word or mark, and the bytes [begin, end) of the request's text.
struct Spoken {
  std::string phonemes;  ///< UTF-8
  int64_t begin = 0, end = 0;
  bool word = true;   ///< whether it is a word; false: a mark
  bool space = true;  ///< whether a space precedes it
};

/// Splits valid UTF-8 into its characters, one string each.
std::vector<std::string> characters(std::string_view text);

/// Converts the phones of a word of US English (names as in finch::phone_names()) to misaki's
/// alphabet.
std::string misaki_of_phones(std::span<const std::string_view> phones);

/// The reader of US English. Const after construction; any thread.
struct EnglishReader {
  finch::Frontend frontend;
  UsLexicon lexicon;
};

/// Returns the words and marks of a sentence of US English. Calls libflite; takes about a
/// millisecond.
std::vector<Spoken> english_words(const EnglishReader& reader, const finch::Sentence& sentence);

/// Converts espeak-ng's output to misaki's alphabet. `voice`: name in espeak-ng ("es", "en-gb").
std::string misaki_of_espeak(std::string ipa, std::string_view voice);

/// Returns the words and marks of a sentence in a language of espeak-ng. Its text begins at byte
/// `offset`. Takes about 10 ms. Returns an Error if espeak-ng is not installed.
Result<std::vector<Spoken>> espeak_words(std::string_view text, int64_t offset,
                                         std::string_view voice);

}  // namespace syrinx::kokoro
