// Chinese text to misaki's phonemes: numbers are written out, jieba's files cut words, pypinyin's
// tables give readings. Latin words are read as US English, which misaki leaves as letters. Free
// functions; any thread. Source: misaki 0.9.4 (zh.py, version 1.0), cn2an 0.5.24 (transform.py).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "families/kokoro/jieba.h"
#include "families/kokoro/phonemes.h"
#include "families/kokoro/pinyin.h"
#include "text/sentences.h"

namespace syrinx::kokoro {

/// The reader of Chinese. Const after loading; any thread.
struct ChineseReader {
  std::unique_ptr<const Jieba> jieba;
  Pinyin pinyin;
};
/// Returns the reader, which the first call loads from jieba_folder() in 0.3 s; later calls return
/// the same one. If jieba's files are missing, returns an Error that names what to install; a later
/// call tries again.
Result<const ChineseReader*> chinese_reader();

/// Returns the words and marks of each sentence.
std::vector<std::vector<Spoken>> chinese_words(const ChineseReader& reader,
                                               std::span<const SentenceStream::Item> sentences,
                                               const EnglishReader& english);

/// Returns the text with its numbers, dates and fractions in Chinese characters.
std::string chinese_numbers(std::string_view text);

}  // namespace syrinx::kokoro
