#include "families/cosyvoice2/frontend.h"

#include <algorithm>

#include "text/inflect.h"
#include "text/tokens/normalizer.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::cosyvoice2 {
namespace {

// Limits of a part, in ids of the tokenizer or in Chinese characters.
constexpr size_t kMostOfPart = 80, kLeastOfPart = 60, kTooShort = 20;
constexpr std::string_view kEndOfPrompt = "<|endofprompt|>";
constexpr std::string_view kSystem = "You are a helpful assistant.";  // system prompt of CosyVoice3

/// Phonemes of English that have tokens in the third edition, in the order of their ids.
constexpr std::string_view kPhonemes =
    "AA AA0 AA1 AA2 AE AE0 AE1 AE2 AH AH0 AH1 AH2 AO AO0 AO1 AO2 AW AW0 AW1 AW2 AY AY0 AY1 AY2 "
    "B CH D DH EH EH0 EH1 EH2 ER ER0 ER1 ER2 EY EY0 EY1 EY2 F G HH IH IH0 IH1 IH2 IY IY0 IY1 "
    "IY2 JH K L M N NG OW OW0 OW1 OW2 OY OY0 OY1 OY2 P R S SH T TH UH UH0 UH1 UH2 UW UW0 UW1 "
    "UW2 V W Y Z ZH";
/// Initials and finals of Pinyin that have tokens in the third edition, in the order of their ids.
constexpr std::string_view kPinyin =
    "a ai an ang ao b c ch d e ei en eng f g h i ian in ing iu ià iàn iàng iào iá ián iáng iáo "
    "iè ié iòng ióng iù iú iā iān iāng iāo iē iě iōng iū iǎ iǎn iǎng iǎo iǒng iǔ j k l m n o "
    "ong ou p q r s sh t u uang ue un uo uà uài uàn uàng uá uái uán uáng uè ué uì uí uò uó uā "
    "uāi uān uāng uē uě uī uō uǎ uǎi uǎn uǎng uǐ uǒ vè w x y z zh à ài àn àng ào á ái án áng áo "
    "è èi èn èng èr é éi én éng ér ì ìn ìng í ín íng ò òng òu ó óng óu ù ùn ú ún ā āi ān āng āo "
    "ē ēi ēn ēng ě ěi ěn ěng ěr ī īn īng ō ōng ōu ū ūn ǎ ǎi ǎn ǎng ǎo ǐ ǐn ǐng ǒ ǒng ǒu ǔ ǔn ǘ "
    "ǚ ǜ";

bool is_chinese(char32_t code) { return code >= 0x4e00 && code <= 0x9fff; }

bool contains_chinese(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = utf8_at(text, at);
    if (is_chinese(c.value)) return true;
    at += c.size;
  }
  return false;
}

std::string stripped(std::string_view text) {
  size_t begin = 0, end = text.size();
  while (begin < end && is_space(utf8_at(text, begin).value)) begin += utf8_at(text, begin).size;
  while (end > begin && is_space(utf8_before(text, end).value)) end -= utf8_before(text, end).size;
  return std::string(text.substr(begin, end - begin));
}

/// Removes spaces. Keeps spaces between two ASCII characters that are not spaces.
std::string without_blanks(const std::string& text) {
  const auto inner = [&](size_t at) {
    return at < text.size() && static_cast<unsigned char>(text[at]) < 128 && text[at] != ' ';
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ' ' || (i > 0 && inner(i - 1) && inner(i + 1))) out += text[i];
  }
  return out;
}

std::string normalized_chinese(std::string text) {
  text = without_blanks(replaced(text, "\n", ""));
  text = replaced(replaced(text, "²", "平方"), "³", "立方");
  text = replaced(replaced(text, ".", "。"), " - ", "，");
  for (const char* mark : {"（", "）", "【", "】", "`"}) text = replaced(text, mark, "");
  text = replaced(text, "——", " ");
  bool comma = false;
  for (;;) {
    const auto ends = [&](std::string_view mark) { return text.ends_with(mark); };
    const size_t cut = ends("，") || ends("、") ? 3 : ends(",") ? 1 : 0;
    if (cut == 0) break;
    text.resize(text.size() - cut);
    comma = true;
  }
  return comma ? text + "。" : text;
}

bool ends_sentence(char32_t code, bool chinese) {
  constexpr std::u32string_view kBoth = U".?!;", kWestern = U":", kChinese = U"。？！；：、";
  return kBoth.find(code) != kBoth.npos ||
         (chinese ? kChinese.find(code) != kChinese.npos : kWestern.find(code) != kWestern.npos);
}

/// Returns the sentences of a text, with their end marks and closing quotes.
std::vector<std::string> sentences(const std::string& text, bool chinese) {
  std::vector<std::string> out;
  size_t start = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = utf8_at(text, at);
    const size_t next = at + c.size;
    if (ends_sentence(c.value, chinese)) {
      if (at > start) out.push_back(text.substr(start, next - start));
      start = next;
      const std::string_view rest = std::string_view(text).substr(next);
      for (const std::string_view quote : {"\"", "”"}) {
        if (!rest.starts_with(quote)) continue;
        if (!out.empty()) out.back() += quote;
        start = next + quote.size();
      }
    }
    at = next;
  }
  return out;
}

}  // namespace

std::vector<AddedToken> markup(const Edition& edition) {
  std::vector<AddedToken> out;
  const auto add = [&](std::string text) {
    AddedToken token;
    token.content = std::move(text);
    out.push_back(std::move(token));
  };
  for (const char* text : {"<|im_start|>", "<|im_end|>", "<|endofprompt|>", "[breath]", "<strong>",
                           "</strong>", "[noise]", "[laughter]", "[cough]", "[clucking]",
                           "[accent]", "[quick_breath]", "<laughter>", "</laughter>", "[hissing]",
                           "[sigh]", "[vocalized-noise]", "[lipsmack]", "[mn]"}) {
    add(text);
  }
  if (!edition.third) return out;
  add("<|endofsystem|>");
  for (const std::string_view sounds : {kPhonemes, kPinyin}) {
    for (size_t at = 0; at < sounds.size();) {
      const size_t end = std::min(sounds.find(' ', at), sounds.size());
      add(concat("[", sounds.substr(at, end - at), "]"));
      at = end + 1;
    }
  }
  return out;
}

Frontend::Frontend(Tokenizer tokenizer, const Edition& edition)
    : tokenizer_(std::move(tokenizer)),
      edition_(edition),
      end_of_prompt_(ids(kEndOfPrompt)),
      punctuation_("[^\\p{P}\\p{S}]", "cosyvoice2") {
  if (edition.third) system_ = ids(concat(kSystem, kEndOfPrompt));
}

bool Frontend::ends_prompt(std::span<const int32_t> ids) const {
  const auto& end = end_of_prompt_;
  return std::search(ids.begin(), ids.end(), end.begin(), end.end()) != ids.end();
}

std::vector<int32_t> Frontend::ids(std::string_view text) const { return tokenizer_.encode(text); }

bool Frontend::only_punctuation(const std::string& text) const {
  RegexMatcher matcher(punctuation_);
  return matcher.find(text, 0) != RegexMatcher::Found::kMatch;
}

/// Joins sentences to parts of 60 to 80 ids or characters. Adds a short rest to the last part.
std::vector<std::string> Frontend::split(const std::string& text, bool chinese) const {
  const auto length = [&](const std::string& part) {
    return chinese ? utf8_count(part) : ids(part).size();
  };
  std::vector<std::string> parts;
  std::string current;
  const auto add = [&](const std::string& sentence) {
    const std::string joined = current + sentence;
    if (length(joined) > kMostOfPart && length(current) > kLeastOfPart) {
      parts.push_back(current);
      current = sentence;
    } else {
      current = joined;
    }
  };
  for (const std::string& sentence : sentences(text, chinese)) add(sentence);
  if (current.empty()) return parts;
  if (length(current) < kTooShort && !parts.empty()) {
    parts.back() += current;
  } else {
    parts.push_back(current);
  }
  return parts;
}

std::vector<int32_t> Frontend::prompt_text(std::string_view raw) const {
  std::string text = utf8_repair(raw);
  if (edition_.third) {
    const bool ended = text.find(kEndOfPrompt) != text.npos;
    return ids(ended ? text : concat(kSystem, kEndOfPrompt, text));
  }
  const bool marked = text.find("<|") != text.npos && text.find("|>") != text.npos;
  if (!marked) {
    text = stripped(text);
    text = contains_chinese(text) ? normalized_chinese(std::move(text)) : inflect_numbers(text);
  }
  return ids(text);
}

std::vector<std::string> Frontend::parts(std::string_view raw, bool spell) const {
  std::string text = utf8_repair(raw);
  std::vector<std::string> parts{text};
  const bool marked = text.find("<|") != text.npos && text.find("|>") != text.npos;
  if (!marked) {
    text = stripped(text);
    if (text.empty()) return {};
    const bool chinese = contains_chinese(text);
    if (chinese) text = normalized_chinese(std::move(text));
    if (!chinese && spell) text = inflect_numbers(text);
    if (text.empty()) return {};
    if (!ends_sentence(utf8_before(text, text.size()).value, chinese)) text += chinese ? "。" : ".";
    parts = split(text, chinese);
  }
  std::erase_if(parts, [this](const std::string& part) { return only_punctuation(part); });
  return parts;
}

std::vector<int32_t> Frontend::instructions(std::string_view text) const {
  std::string before(text);
  if (edition_.third && !before.starts_with(kSystem) && before.find(kEndOfPrompt) == before.npos)
    before = concat(kSystem, " ", before);
  if (!before.ends_with(kEndOfPrompt)) before += kEndOfPrompt;
  return ids(before);
}

}  // namespace syrinx::cosyvoice2
