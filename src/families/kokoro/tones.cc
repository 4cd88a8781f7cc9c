#include "families/kokoro/tones.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.h"
#include "families/kokoro/written.h"

namespace syrinx::kokoro {
namespace {

constexpr char32_t kNot = U'不', kOne = U'一', kErhua = U'儿', kMeasure = U'个';

using Syllables = std::span<std::string>;

bool is_mark(const TaggedWord& word) { return word.tag == "x" || word.tag == "eng"; }

char tone_of(const std::string& syllable) { return syllable.empty() ? '\0' : syllable.back(); }
void set_tone(std::string& syllable, char tone) {
  if (!syllable.empty()) syllable.back() = tone;
}

/// Returns whether every tone is the third one; true for an empty list.
bool all_third(std::span<const std::string> syllables) {
  return std::all_of(syllables.begin(), syllables.end(),
                     [](const std::string& each) { return tone_of(each) == '3'; });
}

/// Returns whether Python's str.isnumeric() holds for a Chinese character or a digit.
bool is_numeral(char32_t c) {
  return is_any_digit(c) ||
         is_one_of(c,
                   U"一七万三九二五亖亿什仟仨伍佰億兆兩八六十千卄卅卌叁参參叄四壱壹幺廾廿弌弍弎弐"
                   U"拾捌柒漆玖百肆萬貮貳贰阡陆陌陸零");
}

void join(TaggedWord& to, const TaggedWord& word) { to.text += word.text; }

/// Joins 不 with the word after it.
std::vector<TaggedWord> with_not(const std::vector<TaggedWord>& words) {
  std::vector<TaggedWord> out;
  for (size_t i = 0; i < words.size(); ++i) {
    TaggedWord word = words[i];
    const std::u32string kAlone(1, kNot);
    if (!is_mark(word) && i > 0 && words[i - 1].text == kAlone) word.text = kAlone + word.text;
    const bool last = i + 1 == words.size() || is_mark(words[i + 1]);
    if (word.text != kAlone || last) out.push_back(std::move(word));
  }
  return out;
}

/// Joins 一 with the equal verbs around it, else with the word after it.
std::vector<TaggedWord> with_one(const std::vector<TaggedWord>& words) {
  const std::u32string kAlone(1, kOne);
  std::vector<TaggedWord> between, out;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool verbs = i > 0 && i + 1 < words.size() && words[i].text == kAlone &&
                       words[i - 1].text == words[i + 1].text && words[i - 1].tag == "v" &&
                       !is_mark(words[i + 1]);
    if (verbs && !between.empty()) {
      between.back().text += kAlone + words[++i].text;
    } else {
      between.push_back(words[i]);
    }
  }
  for (const TaggedWord& word : between) {
    if (!out.empty() && out.back().text == kAlone && !is_mark(word)) {
      join(out.back(), word);
    } else {
      out.push_back(word);
    }
  }
  return out;
}

std::vector<TaggedWord> with_repetitions(const std::vector<TaggedWord>& words) {
  std::vector<TaggedWord> out;
  for (const TaggedWord& word : words) {
    if (!out.empty() && word.text == out.back().text && !is_mark(word)) {
      join(out.back(), word);
    } else {
      out.push_back(word);
    }
  }
  return out;
}

/// Joins two words, of at most three characters together, if fits() holds for their syllables.
template <typename Fits>
std::vector<TaggedWord> with_third_tones(const std::vector<TaggedWord>& words, const Pinyin& pinyin,
                                         Fits fits) {
  std::vector<TaggedWord> out;
  std::vector<std::string> before, here;
  bool joined = false;
  for (size_t i = 0; i < words.size(); ++i, before = std::move(here)) {
    const TaggedWord& word = words[i];
    here = is_mark(word) ? std::vector<std::string>{"0"} : pinyin.read(word.text);
    const bool third = i > 0 && !joined && !is_mark(word) && fits(before, here);
    joined = false;
    if (third) {
      const std::u32string& last = words[i - 1].text;
      const bool twice = last.size() == 2 && last[0] == last[1];
      joined = !twice && last.size() + word.text.size() <= 3;
    }
    if (joined) {
      join(out.back(), word);
    } else {
      out.push_back(word);
    }
  }
  return out;
}

std::vector<TaggedWord> with_r(const std::vector<TaggedWord>& words) {
  std::vector<TaggedWord> out;
  for (const TaggedWord& word : words) {
    if (!out.empty() && word.text == std::u32string(1, kErhua) && !is_mark(out.back())) {
      join(out.back(), word);
    } else {
      out.push_back(word);
    }
  }
  return out;
}

void change_not(std::u32string_view word, Syllables syllables) {
  if (word.size() == 3 && word[1] == kNot) return set_tone(syllables[1], '5');
  for (size_t i = 0; i + 1 < word.size(); ++i) {
    if (word[i] == kNot && tone_of(syllables[i + 1]) == '4') set_tone(syllables[i], '2');
  }
}

void change_one(std::u32string_view word, Syllables syllables) {
  const bool number = std::all_of(word.begin(), word.end(), is_numeral);
  if (word.find(kOne) == word.npos || number) return;
  if (word.size() == 3 && word[1] == kOne && word[0] == word[2]) {
    return set_tone(syllables[1], '5');
  }
  if (word.starts_with(U"第一")) return set_tone(syllables[1], '1');
  for (size_t i = 0; i + 1 < word.size(); ++i) {
    if (word[i] != kOne) continue;
    const char next = tone_of(syllables[i + 1]);
    if (next == '4' || next == '5') {
      set_tone(syllables[i], '2');
    } else if (!is_one_of(word[i + 1], U"、：，；。？！“”‘’':,;.?!")) {
      set_tone(syllables[i], '4');
    }
  }
}

/// Returns the length of the first of two words that form a word.
size_t first_part(std::u32string_view word, const Jieba& jieba) {
  bool begins = true;
  const size_t part = jieba.shortest_part(word, begins);
  return begins ? part : word.size() - part;
}

void change_third(std::u32string_view word, const Jieba& jieba, Syllables syllables) {
  if (word.size() == 2 && all_third(syllables)) return set_tone(syllables[0], '2');
  if (word.size() == 4) {
    for (const Syllables half : {syllables.first(2), syllables.last(2)}) {
      if (all_third(half)) set_tone(half[0], '2');
    }
  }
  if (word.size() != 3) return;
  const size_t first = first_part(word, jieba);
  if (all_third(syllables)) {
    if (first == 2) set_tone(syllables[0], '2');
    if (first <= 2) set_tone(syllables[1], '2');
    return;
  }
  const Syllables begin = syllables.first(first), end = syllables.subspan(first);
  if (begin.size() == 2 && all_third(begin)) set_tone(begin[0], '2');
  if (end.size() == 2 && all_third(end)) {
    set_tone(end[0], '2');
  } else if (!all_third(end) && tone_of(end[0]) == '3' && tone_of(begin.back()) == '3') {
    set_tone(begin.back(), '2');
  }
}

}  // namespace

Tones::Tones() {
  const std::u32string text = utf32_of(packed_tone_words());
  size_t at = 0;
  for (Words* words : {&neutral_, &not_neutral_, &r_, &not_r_}) {
    const size_t line_end = std::min(text.find(U'\n', at), text.size());
    while (at < line_end) {
      const size_t end = std::min(text.find(U' ', at), line_end);
      words->insert(text.substr(at, end - at));
      at = end + 1;
    }
    at = line_end + 1;
    SYRINX_CHECK(!words->empty(), "[kokoro] the lists of tones are truncated");
  }
}

std::vector<TaggedWord> Tones::joined(std::vector<TaggedWord> words, const Pinyin& pinyin) {
  using Read = std::vector<std::string>;
  words = with_repetitions(with_one(with_not(words)));
  words = with_third_tones(words, pinyin, [](const Read& before, const Read& here) {
    return all_third(before) && all_third(here);
  });
  words = with_third_tones(words, pinyin, [](const Read& before, const Read& here) {
    return tone_of(before.back()) == '3' && tone_of(here.front()) == '3';
  });
  return with_r(words);
}

void Tones::change(const TaggedWord& word, const Jieba& jieba,
                   std::vector<std::string>& syllables) const {
  if (word.text.empty() || syllables.size() != word.text.size()) return;
  change_not(word.text, syllables);
  change_one(word.text, syllables);
  change_neutral(word, jieba, syllables);
  change_third(word.text, jieba, syllables);
}

/// Returns whether the word, or its last two characters, are in the list of neutral tones.
bool Tones::is_neutral(std::u32string_view word) const {
  const std::u32string_view end = word.substr(word.size() - std::min<size_t>(word.size(), 2));
  return neutral_.contains(std::u32string(word)) || neutral_.contains(std::u32string(end));
}

void Tones::change_neutral(const TaggedWord& word, const Jieba& jieba,
                           std::vector<std::string>& syllables) const {
  const std::u32string& text = word.text;
  if (not_neutral_.contains(text)) return;
  const auto tag_is = [&](std::initializer_list<std::string_view> tags) {
    return std::find(tags.begin(), tags.end(), word.tag) != tags.end();
  };
  const char kind = word.tag.empty() ? 'x' : word.tag[0];
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == text[i - 1] && (kind == 'n' || kind == 'v' || kind == 'a')) {
      set_tone(syllables[i], '5');
    }
  }
  const char32_t last = text.back();
  const bool longer = text.size() > 1;
  const size_t measure = text.find(kMeasure);
  if (is_one_of(last, U"吧呢啊呐噻嘛吖嗨呐哦哒滴哩哟喽啰耶喔诶的地得") ||
      (!longer && is_one_of(last, U"了着过") && tag_is({"ul", "uz", "ug"})) ||
      (longer && is_one_of(last, U"们子") && tag_is({"r", "n"})) ||
      (longer && is_one_of(last, U"上下") && tag_is({"s", "l", "f"})) ||
      (longer && is_one_of(last, U"来去") &&
       is_one_of(text[text.size() - 2], U"上下进出回过起开"))) {
    set_tone(syllables.back(), '5');
  } else if (measure != text.npos &&
             (text.size() == 1 ||
              (measure > 0 && (is_numeral(text[measure - 1]) ||
                               is_one_of(text[measure - 1], U"几有两半多各整每做是"))))) {
    set_tone(syllables[measure], '5');
  } else if (is_neutral(text)) {
    set_tone(syllables.back(), '5');
  }
  const size_t first = first_part(text, jieba);
  const std::u32string_view all = text;
  if (is_neutral(all.substr(0, first))) set_tone(syllables[first - 1], '5');
  if (first < all.size() && is_neutral(all.substr(first))) set_tone(syllables.back(), '5');
}

bool Tones::ends_in_r(const TaggedWord& word) const {
  const std::u32string& text = word.text;
  if (text.size() < 2 || text.back() != kErhua) return false;
  const bool kept = not_r_.contains(text) || word.tag == "a" || word.tag == "j" || word.tag == "nr";
  if (kept && !r_.contains(text)) return false;
  return !not_r_.contains(text.substr(text.size() - 2));
}

}  // namespace syrinx::kokoro
