#include "families/zonos/phonemes.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <unordered_map>

#include "base/ascii.h"
#include "families/loading/espeak.h"
#include "io/program.h"
#include "text/utf8.h"

namespace syrinx::zonos {
namespace {

constexpr int32_t kUnknown = 1, kBegin = 2, kEnd = 3, kFirst = 4;

constexpr std::string_view kPunctuation = ";:,.!?¡¿—…\"«»“”() *~-/\\&";
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kIpa =
    "ɑɐɒæɓʙβɔɕçɗɖðʤəɘɚɛɜɝɞɟʄɡɠɢʛɦɧħɥʜɨɪʝɭɬɫɮʟɱɯɰŋɳɲɴøɵɸθœɶʘɹɺɾɻʀʁɽʂʃʈʧʉʊʋⱱʌɣɤʍχʎʏʑʐʒʔʡʕʢǀǁǂǃˈˌːˑʼʴʰ"
    "ʱʲʷˠˤ˞"
    "↓↑→↗↘'̩'ᵻ";

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at < text.size();) {
    size_t size = 1;
    while (at + size < text.size() && (text[at + size] & 0xc0) == 0x80) ++size;
    out.push_back(text.substr(at, size));
    at += size;
  }
  return out;
}

const std::unordered_map<std::string_view, int32_t>& symbols() {
  static const auto kSymbols = [] {
    std::unordered_map<std::string_view, int32_t> map;
    int32_t id = kFirst;
    for (const std::string_view set : {kPunctuation, kLetters, kIpa}) {
      for (const std::string_view c : characters(set))
        map[c] = id++;  // if a character occurs twice, the later id counts
    }
    return map;
  }();
  return kSymbols;
}

bool is_space(std::string_view c) { return c.find_first_of(" \t\r\n\v\f") == 0; }
bool is_mark(std::string_view c) {
  static const auto kMarks = [] {
    std::unordered_map<std::string_view, bool> map;
    for (const std::string_view mark : characters(kPunctuation)) map[mark] = true;
    return map;
  }();
  return kMarks.contains(c);
}

/// A text split at punctuation marks. `marks` are the runs of marks with the white space around
/// them, `words` the texts between them. Both alternate; words[0] comes before marks[0].
struct Split {
  std::vector<std::string> words, marks;
};

Split split_at_marks(std::string_view text) {
  Split out{{""}, {}};
  const auto all = characters(text);
  for (size_t at = 0; at < all.size();) {
    size_t end = at;
    bool marked = false;
    while (end < all.size() && (is_space(all[end]) || is_mark(all[end]))) {
      marked |= is_mark(all[end++]);
    }
    if (end > at && marked) {
      std::string marks;
      for (; at < end; ++at) marks += all[at];
      out.marks.push_back(marks);
      out.words.emplace_back();
      continue;
    }
    for (end = std::max(end, at + 1); at < end; ++at) out.words.back() += all[at];
  }
  return out;
}

// SSML that ends a word. espeak-ng does not find the sound file "-" and ends the clause, but
// without the stress of a clause's last word. (The authors' calls of its library give no such
// stress either.) The first tag ends the word; the second makes an empty line after it.
constexpr std::string_view kWordEnd = "<audio src=\"-\"/><audio src=\"-\"/>";

std::string escaped(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '\n' || c == '\r' || c == '[' || c == ']') {
      out += ' ';  // a line end would end a clause, and brackets would begin phonemes
    } else if (c != '\0') {
      out += c;
    }
  }
  return out;
}

Result<std::string> run_espeak(const std::string& input, std::string_view language) {
  Result<std::string> out = run_program(
      {"espeak-ng", "-q", "--ipa", "-m", "-b", "1", "-v", std::string(language), "--stdin"}, input);
  if (!out.ok() && out.error().code == ErrorCode::kNotFound) {
    return Error{ErrorCode::kUnsupported,
                 "this model reads phonemes, which the program espeak-ng makes; espeak-ng is "
                 "not installed (Debian: apt-get install espeak-ng)",
                 "input"};
  }
  return out;
}

/// Returns the phonemes of each word. The lines of a word are joined by spaces.
std::vector<std::string> read_words(std::string_view printed) {
  std::vector<std::string> out;
  std::string word;
  for (size_t begin = 0; begin < printed.size();) {
    const size_t end = std::min(printed.find('\n', begin), printed.size());
    const std::string_view line = trimmed(printed.substr(begin, end - begin));
    begin = end + 1;
    if (line.empty()) {
      out.push_back(std::move(word));
      word.clear();
    } else {
      word += (word.empty() ? "" : " ") + std::string(line);
    }
  }
  if (!word.empty()) out.push_back(std::move(word));
  return out;
}

/// Returns the phonemes of words if some are silent (e.g. a lone symbol), so that espeak-ng prints
/// fewer lines than words. Puts a nonsense word before each word; its phonemes mark the border.
Result<std::vector<std::string>> say_with_borders(const std::vector<std::string>& words,
                                                  std::string_view language) {
  // If a word of the text sounds like the first border, the second border is tried.
  for (const std::string_view border : {"zdragzvok", "wubbleflink"}) {
    const std::string between = std::string(border) + std::string(kWordEnd);
    std::string input = between;
    for (const std::string& word : words) input += between + escaped(word) + std::string(kWordEnd);
    const Result<std::string> printed = run_espeak(input, language);
    if (!printed.ok()) return printed.error();
    std::vector<std::string> said;
    std::string sign;
    for (const std::string& part : read_words(printed.value())) {
      if (part.empty()) continue;
      if (sign.empty()) {
        sign = part;
      } else if (part == sign) {
        said.emplace_back();
      } else if (!said.empty()) {
        said.back() += (said.back().empty() ? "" : " ") + part;
      }
    }
    if (said.size() == words.size()) return said;
  }
  return Error{ErrorCode::kInternal, "espeak-ng does not report the ends of words", "input"};
}

/// Gets the phonemes from a separate espeak-ng process.
Result<std::vector<std::string>> say_by_process(const std::vector<std::string>& words,
                                                std::string_view language) {
  std::string input;
  for (const std::string& word : words) input += escaped(word) + std::string(kWordEnd);
  const Result<std::string> printed = run_espeak(input, language);
  if (!printed.ok()) return printed.error();
  std::vector<std::string> said = read_words(printed.value());
  if (said.size() != words.size()) return say_with_borders(words, language);
  return said;
}

}  // namespace

Result<std::string> espeak_phonemes(std::string_view text, std::string_view language) {
  const Split split = split_at_marks(utf8_repair(text));
  std::vector<std::string> words;
  std::copy_if(split.words.begin(), split.words.end(), std::back_inserter(words),
               [](const std::string& word) { return !word.empty(); });
  std::vector<std::string> said;
  if (!words.empty()) {
    std::vector<std::string> lines;
    for (const std::string& word : words) lines.push_back(escaped(word) + std::string(kWordEnd));
    if (auto kept = espeak_kept(lines, language, EspeakInput::kMarkup)) {
      said = std::move(*kept);
    } else {
      Result<std::vector<std::string>> each = say_by_process(words, language);
      if (!each.ok()) return each.error();
      said = each.take();
    }
  }
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < split.words.size(); ++i) {
    if (!split.words[i].empty()) out += said[next++];
    if (i < split.marks.size()) out += split.marks[i];
  }
  return out;
}

Result<std::string> say_phonemes(const Phonemize& phonemize, std::string_view text,
                                 std::string_view language, std::span<const Saying> sayings) {
  if (sayings.empty()) return phonemize(text, language);
  std::string plain, out;  // `plain`: text before the next given phones. `out`: phonemes so far
  // Spaces at the ends of `plain` are kept, because they separate it from the given phones.
  const auto say_plain = [&]() -> Status {
    if (!plain.empty() && plain.find_first_not_of(' ') == plain.npos) {
      out += plain;
    } else if (!plain.empty()) {
      Result<std::string> said = phonemize(plain, language);
      if (!said) return said.error();
      const bool before = plain.front() == ' ', after = plain.back() == ' ';
      out += (before && !said.value().starts_with(' ') ? " " : "") + said.value();
      if (after && !out.ends_with(' ')) out += ' ';
    }
    plain.clear();
    return ok_status();
  };
  size_t at = 0;
  for (const Saying& saying : sayings) {
    if (saying.words.empty() && saying.phones.empty()) continue;
    plain += text.substr(at, static_cast<size_t>(saying.begin) - at);
    at = static_cast<size_t>(saying.end);
    plain += saying.phones.empty() ? saying.words : std::string();
    if (saying.phones.empty()) continue;
    if (Status said = say_plain(); !said) return said.error();
    out += saying.phones.ipa;
  }
  plain += text.substr(at);
  if (Status said = say_plain(); !said) return said.error();
  return out;
}

std::vector<int32_t> symbol_ids(std::string_view phonemes) {
  std::vector<int32_t> ids{kBegin};
  for (const std::string_view c : characters(phonemes)) {
    const auto found = symbols().find(c);
    ids.push_back(found == symbols().end() ? kUnknown : found->second);
  }
  ids.push_back(kEnd);
  return ids;
}

int32_t symbol_count() {
  return kFirst + static_cast<int32_t>(characters(kPunctuation).size() +
                                       characters(kLetters).size() + characters(kIpa).size());
}

const std::vector<std::string>& languages() {
  static const auto kLanguages = [] {
    std::istringstream names(
        "af am an ar as az ba bg bn bpy bs ca cmn cs cy da de el en-029 en-gb en-gb-scotland "
        "en-gb-x-gbclan en-gb-x-gbcwmd en-gb-x-rp en-us eo es es-419 et eu fa fa-latn fi fr-be "
        "fr-ch fr-fr ga gd gn grc gu hak hi hr ht hu hy hyw ia id is it ja jbo ka kk kl kn ko "
        "kok ku ky la lfn lt lv mi mk ml mr ms mt my nb nci ne nl om or pa pap pl pt pt-br py "
        "quc ro ru ru-lv sd shn si sk sl sq sr sv sw ta te tn tr tt ur uz vi vi-vn-x-central "
        "vi-vn-x-south yue");
    return std::vector<std::string>{std::istream_iterator<std::string>(names), {}};
  }();
  return kLanguages;
}

}  // namespace syrinx::zonos
