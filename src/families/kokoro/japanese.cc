#include "families/kokoro/japanese.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "base/check.h"
#include "families/kokoro/kana.h"
#include "families/kokoro/mecab.h"
#include "families/kokoro/packed.h"
#include "families/kokoro/written.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::kokoro {
namespace {

/// Returns whether a character is a voiced or semi-voiced sound mark, which joins the last kana.
bool joins(char32_t c) { return is_one_of(c, U"\u3099\u309a\uff9e\uff9f"); }

/// Normalises character widths (NFKC) and joins a voiced or semi-voiced mark with its kana.
std::vector<Written> normalised(std::span<const Written> text) {
  std::vector<Written> out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    while (end < text.size() && joins(text[end].c)) ++end;
    const auto source = text.subspan(at, end - at);
    append(out, utf32_of(normalize(utf8_of(source), NormalForm::kNfkc)), source);
    at = end;
  }
  return out;
}

/// Writes numbers in kana, with a space before each number. Removes commas between groups of three
/// digits. Reads a wave dash before a number as から.
std::vector<Written> with_numbers_in_kana(const std::vector<Written>& text) {
  std::vector<Written> out;
  const auto digit = [&](size_t i) { return i < text.size() && is_any_digit(text[i].c); };
  for (size_t at = 0; at < text.size();) {
    const std::span<const Written> rest = std::span(text).subspan(at);
    if (is_one_of(text[at].c, U"〜~") && digit(at + 1)) {
      append(out, U"から", rest.first(1));
      ++at;
      continue;
    }
    if (!digit(at)) {
      out.push_back(text[at++]);
      continue;
    }
    std::string digits;
    size_t end = at;
    bool point = false;
    for (; end < text.size(); ++end) {
      if (digit(end)) {
        digits += static_cast<char>('0' + digit_value(text[end].c));
      } else if (text[end].c == U'.' && digit(end + 1) && !point) {
        digits += '.';
        point = true;
      } else if (text[end].c != U',' || point || !digit(end + 1) || !digit(end + 2) ||
                 !digit(end + 3) || digit(end + 4)) {
        break;
      }
    }
    append(out, U" ", rest.first(1));
    append(out, number_in_kana(digits), rest.first(end - at));
    at = end;
  }
  return out;
}

/// The list of words that misaki treats as one word although mecab splits them.
class WordList {
 public:
  WordList() {
    const std::string packed = unpacked(packed_japanese_words());
    std::u16string word;
    for (size_t at = 0; at + 2 <= packed.size();) {
      const auto byte = [&](size_t i) { return static_cast<uint8_t>(packed[i]); };
      const size_t shared = byte(at), fresh = byte(at + 1);
      at += 2;
      SYRINX_CHECK(shared <= word.size() && at + 2 * fresh <= packed.size(), "[kokoro] ", at);
      word.resize(shared);
      for (size_t i = 0; i < fresh; ++i, at += 2) {
        word += static_cast<char16_t>(byte(at) << 8 | byte(at + 1));
      }
      longest_ = std::max(longest_, word.size());
      words_.insert(word);
    }
  }
  bool has(const std::u16string& word) const { return words_.contains(word); }
  size_t longest() const { return longest_; }

 private:
  std::unordered_set<std::u16string> words_;
  size_t longest_ = 0;
};

const WordList& word_list() {
  static const WordList kWords;
  return kWords;
}

std::u16string utf16_of(std::u32string_view text) {
  std::u16string out;
  for (const char32_t c : text) {
    if (c > 0xffff) return {};
    out += static_cast<char16_t>(c);
  }
  return out;
}

/// Joins mecab's words that form one word of the list. The longest match wins.
std::vector<Morpheme> grouped(std::vector<Morpheme> words) {
  const WordList& list = word_list();
  std::vector<Morpheme> out;
  for (size_t at = 0; at < words.size();) {
    size_t best = at + 1;
    std::u32string joined = words[at].surface;
    for (size_t end = at + 2; end <= words.size() && words[end - 1].type == words[at].type; ++end) {
      joined += words[end - 1].surface;
      if (joined.size() > list.longest()) break;
      if (list.has(utf16_of(joined))) best = end;
    }
    Morpheme group = std::move(words[at]);
    for (size_t i = at + 1; i < best; ++i) {
      group.surface += words[i].surface;
      group.reading += words[i].reading;
      group.end = words[i].end;
    }
    out.push_back(std::move(group));
    at = best;
  }
  return out;
}

/// Returns misaki's mark for a Japanese or ASCII mark. Empty if `c` is not a mark.
std::string_view mark_of(char32_t c) {
  struct Row {
    std::u32string_view marks;
    std::string_view said;
  };
  static constexpr Row kRows[] = {{U"。.", "."},    {U"、，,", ","},  {U"？?", "?"}, {U"！!", "!"},
                                  {U"「『«“", "“"}, {U"」』»”", "”"}, {U"：:", ":"}, {U"；;", ";"},
                                  {U"～〜—", "—"},  {U"…", "…"},      {U"\"", "\""}, {U"・", " "},
                                  {U"（《(", "("},  {U"）》)", ")"},  {U"【[", "["}, {U"】]", "]"}};
  for (const Row& row : kRows) {
    if (is_one_of(c, row.marks)) return row.said;
  }
  return {};
}

/// Appends words and marks, with the same spaces between them as in misaki's output.
class JapaneseSpeech {
 public:
  explicit JapaneseSpeech(const EnglishReader& english) : english_(english) {}

  void add(const Morpheme& word) {
    if (!word.surface.empty() && word.surface.front() < 0x80 && is_letter(word.surface.front())) {
      add_english(word);
      return;
    }
    std::string said;
    bool letters = false;
    for (const char32_t c : word.surface) letters |= mark_of(c).empty();
    if (letters && word.type == KanaType::kWord) {
      said = kana_phonemes(word.reading);
      if (said.empty()) said = utf8_of(word.surface);
    } else if (letters) {
      said = utf8_of(word.surface);  // the client gets a warning about this character
    } else {
      for (const char32_t c : word.surface) said += mark_of(c);
    }
    const bool opens = is_one_of(word.surface.front(), U"「『«(（[【《");
    const bool closes = is_one_of(word.surface.front(), U"」』»)）]】》") ||
                        (said.size() == 1 && std::string_view(".,?!:").find(said) != said.npos);
    if (opens && begun_) space_ = true;
    if (closes) space_ = false;
    // The model's alphabet has no sound for brackets and spaces.
    constexpr std::string_view kSilent = "()[] ";
    if (!letters && said.find_first_not_of(kSilent) == said.npos) {
      space_ = begun_;
      return;
    }
    put(said, word, !letters);
    space_ = !opens;
  }
  std::vector<Spoken> take() { return std::move(out_); }

 private:
  void add_english(const Morpheme& word) {
    for (const finch::Sentence& sentence : finch::split_sentences(utf8_of(word.surface))) {
      for (Spoken& each : english_words(english_, sentence)) {
        if (!each.word) continue;  // skips the mark that ends every English sentence
        put(each.phonemes, word, false);
        space_ = true;
      }
    }
  }

  /// Appends phonemes without brackets.
  void put(std::string_view said, const Morpheme& word, bool mark) {
    constexpr std::string_view kStop = "ʔ";
    if (!out_.empty() && space_) {
      const Spoken& last = out_.back();
      if (said.starts_with(kStop) && last.word) space_ = false;
      if (last.phonemes.ends_with(kStop) && !said.starts_with("“") && said != "\"") space_ = false;
    }
    for (const std::string& c : characters(said)) {
      if (c == "(" || c == ")" || c == "[" || c == "]") continue;
      if (!mark && !out_.empty() && out_.back().word && !space_ && begun_ &&
          out_.back().begin == word.begin) {
        out_.back().phonemes += c;
      } else {
        out_.push_back({c, word.begin, word.end, !mark, space_ && !out_.empty()});
      }
      space_ = false;
      begun_ = true;
    }
  }

  const EnglishReader& english_;
  std::vector<Spoken> out_;
  bool space_ = false;  // put a space before the next word or mark
  bool begun_ = false;
};

/// Returns the words of a sentence without mecab: runs of kana between spaces and marks. Returns
/// nullopt if the sentence has other letters.
std::optional<std::vector<Morpheme>> kana_words(std::span<const Written> sentence) {
  std::vector<Morpheme> out;
  bool open = false;  // the next kana continues the last word
  for (const Written& each : sentence) {
    const bool kana = is_kana(each.c);
    const bool latin = each.c < 0x80 && is_letter(each.c);
    if (!kana && !latin && is_word(each.c)) return std::nullopt;
    const bool joined = open && out.back().type == (kana ? KanaType::kWord : KanaType::kLatin);
    if ((kana || latin) && joined) {
      out.back().surface += each.c;
      out.back().end = each.end;
    } else if (each.c != U' ') {
      out.push_back({std::u32string(1, each.c), U"",
                     kana    ? KanaType::kWord
                     : latin ? KanaType::kLatin
                             : KanaType::kSymbol,
                     each.begin, each.end});
    }
    open = kana || latin;
  }
  for (Morpheme& word : out) {
    const std::u32string read = hiragana(word.surface);
    word.reading = read == U"は" ? U"わ" : read == U"へ" ? U"え" : with_long_vowels(read);
  }
  return out;
}

}  // namespace

Result<std::vector<std::vector<Spoken>>> japanese_words(
    std::span<const SentenceStream::Item> sentences, const EnglishReader& english) {
  std::vector<std::vector<Written>> read;
  for (const SentenceStream::Item& item : sentences) {
    const auto text = written(item.text, static_cast<int64_t>(item.place.begin));
    read.push_back(with_numbers_in_kana(normalised(text)));
  }
  std::vector<std::vector<Morpheme>> words;
  if (Result<std::vector<std::vector<Morpheme>>> found = mecab_words(read); found.ok()) {
    for (std::vector<Morpheme>& each : found.value()) words.push_back(grouped(std::move(each)));
  } else {
    for (const std::vector<Written>& sentence : read) {
      std::optional<std::vector<Morpheme>> plain = kana_words(sentence);
      if (!plain) return found.error();
      words.push_back(std::move(*plain));
    }
  }
  std::vector<std::vector<Spoken>> out;
  for (const std::vector<Morpheme>& sentence : words) {
    JapaneseSpeech speech(english);
    for (const Morpheme& word : sentence) speech.add(word);
    out.push_back(speech.take());
  }
  return out;
}

std::string japanese_as_read(std::string_view text) {
  return utf8_of(with_numbers_in_kana(normalised(written(text, 0))));
}

}  // namespace syrinx::kokoro
