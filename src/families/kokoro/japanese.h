// Japanese text to misaki's phonemes. The program mecab finds words and readings; text that has
// only kana needs no mecab. Latin words, which misaki keeps as letters, are read as US English.
// Free functions; any thread. Source: misaki 0.9.4, misaki/cutlet.py and data/ja_words.txt.
#pragma once

#include <span>
#include <vector>

#include "base/error.h"
#include "families/kokoro/phonemes.h"
#include "text/sentences.h"

namespace syrinx::kokoro {

/// Returns the words and marks of each sentence. Takes 10 ms if a sentence needs mecab. If mecab is
/// missing and a text has more than kana, returns an Error that names the package to install.
Result<std::vector<std::vector<Spoken>>> japanese_words(
    std::span<const SentenceStream::Item> sentences, const EnglishReader& english);

/// Returns the text that is passed to mecab: in Unicode's NFKC, with numbers in kana. For tests.
std::string japanese_as_read(std::string_view text);

/// Returns the packed list of words that mecab splits although they are one word. CMake makes it.
std::string_view packed_japanese_words();

}  // namespace syrinx::kokoro
