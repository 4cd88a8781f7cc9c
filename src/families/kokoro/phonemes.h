// Text to the phonemes that Kokoro was trained on, misaki's alphabet, a word or a mark at a time.
// US English is read by this program's own reader (text/english) and has the phonemes of misaki's
// lexicon, or where that does not know a word, those of libflite in misaki's alphabet; other
// languages and British English by espeak-ng, which is run as a program. Pure functions.
// Source of the alphabet: misaki 0.9.4 (EN_PHONES.md, espeak.py: EspeakFallback, EspeakG2P).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "families/finch/frontend.h"
#include "families/kokoro/lexicon.h"

namespace syrinx::kokoro {

/// A word or a mark as it is spoken, of the bytes [begin, end) of the request's text.
struct Spoken {
  std::string phonemes;  ///< UTF-8
  int64_t begin = 0, end = 0;
  bool word = true;   ///< else a mark
  bool space = true;  ///< a space stands before it
};

/// The characters of valid UTF-8, a string each.
std::vector<std::string> characters(std::string_view text);

/// The phones of one word of US English, names of finch::phone_names(), in misaki's alphabet.
std::string misaki_of_phones(std::span<const std::string_view> phones);

/// The reader of US English. Const after construction; any thread.
struct EnglishReader {
  finch::Frontend frontend;
  UsLexicon lexicon;
};

/// A sentence of US English. Enters libflite; takes about a millisecond.
std::vector<Spoken> english_words(const EnglishReader& reader, const finch::Sentence& sentence);

/// Converts the output of espeak-ng to misaki's alphabet, for a voice of espeak-ng ("es", "en-gb").
std::string misaki_of_espeak(std::string ipa, std::string_view voice);

/// A sentence whose text begins at byte `offset`, in a language of espeak-ng. Takes some 10 ms. An
/// Error says when espeak-ng is not installed.
Result<std::vector<Spoken>> espeak_words(std::string_view text, int64_t offset,
                                         std::string_view voice);

}  // namespace syrinx::kokoro
