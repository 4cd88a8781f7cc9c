// Japanese text to misaki's phonemes. The program mecab finds words and readings; a text of kana
// alone can be read without it. Latin words are read as US English, which misaki leaves as letters.
// Free functions; any thread. Source: misaki 0.9.4, misaki/cutlet.py and data/ja_words.txt.
#pragma once

#include <span>
#include <vector>

#include "base/error.h"
#include "families/kokoro/phonemes.h"
#include "text/sentences.h"

namespace syrinx::kokoro {

/// Returns the words and marks of each sentence. Takes 10 ms if a sentence needs mecab. If mecab is
/// missing and a text has more than kana, returns an Error that names what to install.
Result<std::vector<std::vector<Spoken>>> japanese_words(
    std::span<const SentenceStream::Item> sentences, const EnglishReader& english);

/// Returns the text that mecab gets: in Unicode's NFKC, with numbers in kana. For tests.
std::string japanese_as_read(std::string_view text);

/// Returns the packed list of words that mecab splits, although they are one word; made by CMake.
std::string_view packed_japanese_words();

}  // namespace syrinx::kokoro
