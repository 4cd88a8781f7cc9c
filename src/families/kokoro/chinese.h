// Chinese text to misaki's phonemes. Numbers are written out, jieba's files cut words, and
// pypinyin's tables give readings. Latin words, which misaki keeps as letters, are read as US
// English. Free functions; any thread. Source: misaki 0.9.4 (zh.py, zh_frontend.py), cn2an 0.5.24
// (transform.py).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "families/kokoro/jieba.h"
#include "families/kokoro/phonemes.h"
#include "families/kokoro/pinyin.h"
#include "families/kokoro/tag_model.h"
#include "families/kokoro/tones.h"
#include "text/sentences.h"

namespace syrinx::kokoro {

/// The alphabets of the two published models.
enum class ChineseAlphabet : uint8_t {
  kIpa,       ///< Kokoro-82M v1.0: letters and arrows, with a space between words
  kBopomofo,  ///< Kokoro-82M-v1.1-zh: bopomofo and digits; neighbouring tones change each other
};

/// The reader of Chinese. Const after loading; any thread.
struct ChineseReader {
  std::unique_ptr<const Jieba> jieba;
  Pinyin pinyin;
  // For bopomofo: words with parts of speech, changes of tones. Null for the other alphabet.
  std::unique_ptr<const TagModel> tags = {};
  std::unique_ptr<const Tones> tones = {};
};
/// Returns the reader, which the first call loads from jieba_folder() in 0.3 s. Later calls return
/// the same reader. If jieba's files are missing, returns an Error that names the package to
/// install, and a later call tries again.
Result<const ChineseReader*> chinese_reader(ChineseAlphabet alphabet);

/// Returns the words and marks of each sentence.
std::vector<std::vector<Spoken>> chinese_words(const ChineseReader& reader,
                                               std::span<const SentenceStream::Item> sentences,
                                               const EnglishReader& english);

/// Returns the text with its numbers, dates and fractions in Chinese characters.
std::string chinese_numbers(std::string_view text);

}  // namespace syrinx::kokoro
