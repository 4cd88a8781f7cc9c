#include "families/kokoro/chinese.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <utility>

#include "families/kokoro/bopomofo.h"
#include "families/kokoro/written.h"
#include "text/unicode.h"

namespace syrinx::kokoro {
namespace {

using WrittenText = std::span<const Written>;

constexpr std::u32string_view kHanDigits = U"零一二三四五六七八九";
constexpr size_t kMostDigits = 16, kMostDecimals = 16;

bool is_han(char32_t c) { return c >= kFirstHan && c <= kLastHan; }

std::u32string digit_by_digit(std::string_view digits) {
  std::u32string out;
  for (const char c : digits) out += kHanDigits[static_cast<size_t>(c - '0')];
  return out;
}

/// Reads up to four digits. `first`: these are the first digits of the number.
std::u32string four_in_han(std::string_view digits, bool first) {
  static constexpr std::array<std::u32string_view, 4> kUnits{U"", U"十", U"百", U"千"};
  std::u32string out;
  bool gap = false;  // zeros came after the last nonzero digit, or before the first one
  for (size_t i = 0; i < digits.size(); ++i) {
    const size_t unit = digits.size() - 1 - i;
    if (digits[i] == '0') {
      gap = true;
      continue;
    }
    if (gap && !(first && out.empty())) out += U'零';
    gap = false;
    out += kHanDigits[static_cast<size_t>(digits[i] - '0')];
    out += kUnits[unit];
  }
  return out;
}

/// Reads a whole number: 10 is 十, 105 一百零五.
std::u32string whole_number(std::string_view digits) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return U"零";
  if (digits.size() > kMostDigits) return digit_by_digit(digits);
  static constexpr std::array<std::u32string_view, 4> kUnits{U"", U"万", U"亿", U"万"};
  std::u32string out;
  for (size_t group = (digits.size() + 3) / 4; group-- > 0;) {
    const size_t end = digits.size() - 4 * group, begin = end > 4 ? end - 4 : 0;
    const std::u32string said = four_in_han(digits.substr(begin, end - begin), out.empty());
    if (!said.empty()) {
      out += said;
      out += kUnits[group];
    } else if (group == 2 && !out.empty()) {
      out += U'亿';
    }
  }
  if (out.starts_with(U"一十")) out.erase(0, 1);
  return out;
}

/// A number in the text: its ASCII digits, and the range [begin, end) of its characters.
struct HanNumber {
  std::string whole, decimals;
  bool minus = false;
  size_t begin = 0, end = 0;

  std::u32string said() const {
    std::u32string out(minus ? U"负" : U"");
    out += whole_number(whole);
    if (!decimals.empty()) out += U'点' + digit_by_digit(decimals.substr(0, kMostDecimals));
    return out;
  }
};

std::string digits_at(WrittenText text, size_t& at) {
  std::string out;
  for (; at < text.size() && is_any_digit(text[at].c); ++at) {
    out += static_cast<char>('0' + digit_value(text[at].c));
  }
  return out;
}

/// Returns the number at `at`, or nullopt. `sign`: the number may begin with a minus.
std::optional<HanNumber> number_at(WrittenText text, size_t at, bool sign) {
  HanNumber out;
  out.begin = at;
  if (sign && at < text.size() && text[at].c == U'-') {
    out.minus = true;
    ++at;
  }
  out.whole = digits_at(text, at);
  if (out.whole.empty()) return std::nullopt;
  out.end = at;
  if (at + 1 < text.size() && text[at].c == U'.') {
    out.decimals = digits_at(text, ++at);
    if (!out.decimals.empty()) out.end = at;
  }
  return out;
}

/// Returns whether a unit begins at `at`. Before a unit, "3-5" is a range.
bool is_measure_at(WrittenText text, size_t at) {
  constexpr std::u32string_view kFirsts =
      U"斤克千公吨米厘毫升元角分个只条张块瓶杯份本辆台匹头位亩小秒天半";
  if (at >= text.size() || kFirsts.find(text[at].c) == kFirsts.npos) return false;
  constexpr std::u32string_view kPairs = U"千公厘毫小";
  if (kPairs.find(text[at].c) == kPairs.npos) return true;
  static constexpr std::array<std::u32string_view, 7> kLong{U"千克", U"公斤", U"公里", U"厘米",
                                                            U"毫米", U"毫升", U"小时"};
  return at + 1 < text.size() && std::any_of(kLong.begin(), kLong.end(), [&](auto unit) {
           return unit[0] == text[at].c && unit[1] == text[at + 1].c;
         });
}

/// Writes the numbers of a text in characters, as cn2an's "an2cn" does.
std::vector<Written> with_numbers_in_han(WrittenText text) {
  std::vector<Written> out;
  const auto c_at = [&](size_t i) { return i < text.size() ? text[i].c : U'\0'; };
  for (size_t at = 0; at < text.size();) {
    const std::optional<HanNumber> first = number_at(text, at, true);
    if (!first) {
      out.push_back(text[at++]);
      continue;
    }
    std::u32string said = first->said();
    size_t end = first->end;
    const char32_t next = c_at(end);
    const bool whole = first->decimals.empty() && !first->minus;
    const std::optional<HanNumber> second =
        next == U'-' || next == U'/' ? number_at(text, end + 1, false) : std::nullopt;
    if (next == U'-' && second && !first->minus && is_measure_at(text, second->end)) {
      said += U'到' + second->said();
      end = second->end;
    } else if (next == U'/' && second && whole && second->decimals.empty()) {
      said.insert(0, second->said().append(U"分之"));
      end = second->end;
    } else if (next == U'%' || next == U'％') {
      said.insert(0, U"百分之");
      ++end;
    } else if (next == U'℃') {
      said += U"摄氏度";
      ++end;
    } else if (next == U'年' && whole && first->whole.size() >= 2 && first->whole.size() <= 4) {
      said = digit_by_digit(first->whole);
    }
    append(out, said, text.subspan(at, end - at));
    at = end;
  }
  return out;
}

/// A Chinese punctuation mark in misaki's alphabet, and whether it has spaces before and after it.
struct ChineseMark {
  std::u32string_view written;
  std::string_view said;
  bool before, after;
};
constexpr std::array<ChineseMark, 10> kChineseMarks{{{U"、，", ",", false, true},
                                                     {U"。．", ".", false, true},
                                                     {U"！", "!", false, true},
                                                     {U"：", ":", false, true},
                                                     {U"；", ";", false, true},
                                                     {U"？", "?", false, true},
                                                     {U"«《「【", "“", true, false},
                                                     {U"»》」】", "”", false, true},
                                                     {U"（", "(", true, false},
                                                     {U"）", ")", false, true}}};

/// Returns the entry of a Chinese mark in kChineseMarks. Null for another character.
const ChineseMark* mark_of_han(char32_t c) {
  const auto row = std::find_if(
      kChineseMarks.begin(), kChineseMarks.end(),
      [&](const ChineseMark& each) { return each.written.find(c) != each.written.npos; });
  return row == kChineseMarks.end() ? nullptr : &*row;
}

bool is_english(char32_t c) { return c < 0x80 && is_letter(c); }

/// Collects the words and marks of a sentence, with the spaces between them.
class ChineseOutput {
 public:
  void put(std::string phonemes, int64_t begin, int64_t end, bool word) {
    out_.push_back({std::move(phonemes), begin, end, word, space_ && !out_.empty()});
    space_ = false;
  }
  /// Appends words of US English.
  void put_english(WrittenText run, const EnglishReader& english) {
    space_ = true;
    for (const finch::Sentence& sentence : finch::split_sentences(utf8_of(run))) {
      for (const Spoken& each : english_words(english, sentence)) {
        if (!each.word) continue;  // skips the mark that ends every English sentence
        space_ |= each.space;
        put(each.phonemes, run.front().begin, run.back().end, true);
      }
    }
  }
  void put_space(bool space = true) { space_ |= space; }
  bool spaced() const { return space_; }
  Spoken* last() { return out_.empty() ? nullptr : &out_.back(); }
  std::vector<Spoken> take() { return std::move(out_); }

 private:
  std::vector<Spoken> out_;
  bool space_ = false;  // put a space before the next word or mark
};

/// Reads a sentence in the alphabet of version 1.0.
class IpaSpeech {
 public:
  IpaSpeech(const ChineseReader& reader, const EnglishReader& english)
      : reader_(reader), english_(english) {}

  std::vector<Spoken> read(WrittenText text) {
    bool after_english = false;  // put a space before the next word
    for (size_t at = 0; at < text.size();) {
      size_t end = at;
      if (is_han(text[at].c)) {
        while (end < text.size() && is_han(text[end].c)) ++end;
        out_.put_space(std::exchange(after_english, false));
        add_chinese(text.subspan(at, end - at));
      } else if (is_english(text[at].c)) {
        while (end < text.size() && (is_english(text[end].c) || is_within_english(text, end))) {
          ++end;
        }
        out_.put_english(text.subspan(at, end - at), english_);
        after_english = true;
      } else {
        after_english &= is_space(text[at].c);
        add_mark(text[end++]);
      }
      at = end;
    }
    return out_.take();
  }

 private:
  static bool is_within_english(WrittenText text, size_t at) {
    const char32_t c = text[at].c;
    return (c == U' ' || c == U'\'' || c == U'-') && at + 1 < text.size() &&
           is_english(text[at + 1].c);
  }

  void add_chinese(WrittenText run) {
    std::u32string characters;
    for (const Written& each : run) characters += each.c;
    size_t at = 0;
    for (const std::u32string& word : reader_.jieba->cut(characters)) {
      const std::vector<std::string> syllables = reader_.pinyin.read(word);
      std::string said;
      for (size_t i = 0; i < word.size(); ++i) {
        const std::string sound = ipa_of_pinyin(syllables[i]);
        // A character without a reading is reported to the client as not in the model's alphabet.
        said += sound.empty() ? utf8_of(std::u32string_view(word).substr(i, 1)) : sound;
      }
      out_.put_space(at > 0);
      out_.put(std::move(said), run[at].begin, run[at + word.size() - 1].end, true);
      at += word.size();
    }
  }

  void add_mark(const Written& mark) {
    if (is_space(mark.c)) return out_.put_space();
    const ChineseMark* row = mark_of_han(mark.c);
    if (row == nullptr) {
      return out_.put(utf8_of(std::span(&mark, 1)), mark.begin, mark.end, false);
    }
    out_.put_space(row->before);
    out_.put(std::string(row->said), mark.begin, mark.end, false);
    out_.put_space(row->after);
  }

  const ChineseReader& reader_;
  const EnglishReader& english_;
  ChineseOutput out_;
};

/// Reads a sentence in the alphabet of version 1.1, which has "/" or a space between words.
class BopomofoSpeech {
 public:
  BopomofoSpeech(const ChineseReader& reader, const EnglishReader& english)
      : reader_(reader), english_(english) {}

  std::vector<Spoken> read(WrittenText text) {
    for (size_t at = 0; at < text.size();) {
      size_t end = at;
      bool letters = false;
      for (; end < text.size() && is_of_english(text[end].c); ++end) {
        letters |= is_english(text[end].c);
      }
      if (letters) {
        out_.put_english(text.subspan(at, end - at), english_);
      } else {
        while (end < text.size() && !is_english(text[end].c)) ++end;
        add_chinese(text.subspan(at, end - at));
      }
      out_.put_space();
      after_word_ = false;
      at = end;
    }
    return out_.take();
  }

 private:
  static bool is_of_english(char32_t c) {
    return is_english(c) || c == U' ' || c == U'\'' || c == U'-';
  }
  /// Returns whether `c` belongs to a run of characters that jieba cuts as a whole.
  static bool is_of_run(char32_t c) {
    return is_han(c) || is_any_digit(c) || is_one_of(c, U"+#&._");
  }

  /// Reads text without Latin letters.
  void add_chinese(WrittenText text) {
    std::vector<Written> mapped;
    for (const Written& each : text) {
      const ChineseMark* row = mark_of_han(each.c);
      if (row == nullptr) {
        mapped.push_back(each);
        continue;
      }
      if (row->before) append(mapped, U" ", std::span(&each, 1));
      append(mapped, utf32_of(row->said), std::span(&each, 1));
      if (row->after) append(mapped, U" ", std::span(&each, 1));
    }
    std::vector<TaggedWord> words;
    for (size_t at = 0; at < mapped.size();) {
      std::u32string run;
      while (at < mapped.size() && is_of_run(mapped[at].c)) run += mapped[at++].c;
      for (TaggedWord& word : reader_.jieba->cut(run, *reader_.tags)) {
        words.push_back(std::move(word));
      }
      if (at < mapped.size()) words.push_back({std::u32string(1, mapped[at++].c), "x"});
    }
    size_t at = 0;
    for (const TaggedWord& word : Tones::joined(std::move(words), reader_.pinyin)) {
      add(word, WrittenText(mapped).subspan(at, word.text.size()));
      at += word.text.size();
    }
  }

  void add(const TaggedWord& word, WrittenText source) {
    const int64_t begin = source.front().begin, end = source.back().end;
    const bool han = std::all_of(word.text.begin(), word.text.end(), is_han);
    if (is_space(word.text[0])) {
      out_.put_space();
      after_word_ = false;
      return;
    }
    if (word.text.size() == 1 && !han) {
      out_.put(utf8_of(word.text), begin, end, false);
      after_word_ = false;
      return;
    }
    std::vector<std::string> syllables = reader_.pinyin.read(word.text);
    reader_.tones->change(word, *reader_.jieba, syllables);
    const bool r = reader_.tones->ends_in_r(word) && syllables.back().starts_with("er");
    if (after_word_) out_.last()->phonemes += '/';
    out_.put(bopomofo_of(word.text, syllables, r), begin, end, true);
    after_word_ = true;
  }

  const ChineseReader& reader_;
  const EnglishReader& english_;
  ChineseOutput out_;
  bool after_word_ = false;  // the last output is a Chinese word without a space after it
};

}  // namespace

Result<const ChineseReader*> chinese_reader(ChineseAlphabet alphabet) {
  static std::mutex mutex;
  static std::array<std::unique_ptr<const ChineseReader>, 2> readers;
  const bool bopomofo = alphabet == ChineseAlphabet::kBopomofo;
  const std::lock_guard lock(mutex);
  std::unique_ptr<const ChineseReader>& reader = readers[bopomofo ? 1 : 0];
  if (reader) return reader.get();
  const std::string folder = jieba_folder();
  Result<std::unique_ptr<const Jieba>> jieba = Jieba::load(folder);
  if (!jieba.ok()) return jieba.error();
  auto made = std::make_unique<ChineseReader>(
      ChineseReader{jieba.take(), Pinyin(bopomofo ? packed_large_pinyin() : packed_pinyin())});
  if (bopomofo) {
    Result<std::unique_ptr<const TagModel>> tags = TagModel::load(folder);
    if (!tags.ok()) return tags.error();
    made->tags = tags.take();
    made->tones = std::make_unique<const Tones>();
  }
  reader = std::move(made);
  return reader.get();
}

std::vector<std::vector<Spoken>> chinese_words(const ChineseReader& reader,
                                               std::span<const SentenceStream::Item> sentences,
                                               const EnglishReader& english) {
  std::vector<std::vector<Spoken>> out;
  for (const SentenceStream::Item& item : sentences) {
    const auto text =
        with_numbers_in_han(written(item.text, static_cast<int64_t>(item.place.begin)));
    out.push_back(reader.tones ? BopomofoSpeech(reader, english).read(text)
                               : IpaSpeech(reader, english).read(text));
  }
  return out;
}

std::string chinese_numbers(std::string_view text) {
  return utf8_of(with_numbers_in_han(written(text, 0)));
}

}  // namespace syrinx::kokoro
