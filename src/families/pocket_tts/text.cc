#include "families/pocket_tts/text.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/error.h"
#include "text/tokens/normalizer.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::pocket_tts {
namespace {

constexpr std::array<std::string_view, 4> kEnds{".", "!", "?", "\u2026"};
constexpr std::array<std::string_view, 6> kWeak{",", ";", ":", "-", "\u2013", "\u2014"};
constexpr std::array<std::string_view, 8> kClosers{"\"", "'", "\u201d", "\u2019",
                                                   ")",  "]", "\u00bb", " "};
constexpr int kShortWords = 4, kPaddedWords = 5, kTail = 3, kShortTail = 5;

/// Returns whether a character is white space for Python's str.isspace().
bool is_python_space(char32_t code) { return is_space(code) || (code >= 0x1c && code <= 0x1f); }

/// Returns the words of a text, separated by white space.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = utf8_at(text, at);
    if (is_python_space(code.value)) {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += text.substr(at, code.size);
    }
    at += code.size;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::string stripped(std::string_view text) {
  const auto space = [&](const CodePoint& code) { return is_python_space(code.value); };
  while (!text.empty() && space(utf8_at(text, 0))) text.remove_prefix(utf8_at(text, 0).size);
  while (!text.empty() && space(utf8_before(text, text.size())))
    text.remove_suffix(utf8_before(text, text.size()).size);
  return std::string(text);
}

/// Removes all marks in `marks` from the end of a text, and with `blanks` also spaces.
template <size_t N>
std::string_view without_ends(std::string_view text, const std::array<std::string_view, N>& marks,
                              bool blanks) {
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view mark : marks) {
      if (text.ends_with(mark)) text.remove_suffix(mark.size()), found = true;
    }
    if (blanks && text.ends_with(' ')) text.remove_suffix(1), found = true;
  }
  return text;
}

bool ends_with_one_of(std::string_view text, std::span<const std::string_view> marks) {
  return std::ranges::any_of(marks, [&](std::string_view mark) { return text.ends_with(mark); });
}

std::string with_end_mark(const std::string& text) {
  const std::string_view core = without_ends(text, kClosers, true);
  if (core.empty() || ends_with_one_of(core, kEnds)) return text;
  if (!ends_with_one_of(core, kWeak)) return text + ".";
  return std::string(without_ends(core, kWeak, true)) + "." +
         stripped(std::string_view(text).substr(core.size()));
}

/// Removes a comma, semicolon or colon that follows an end
/// mark, which earlier deletions may leave: "?, she" becomes "?
/// she".
std::string without_stray_marks(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint code = utf8_at(text, 0);
    const std::string_view one = text.substr(0, code.size);
    out += one;
    text.remove_prefix(code.size);
    if (std::ranges::find(kEnds, one) == kEnds.end()) continue;
    size_t at = 0;
    while (at < text.size() && is_python_space(utf8_at(text, at).value))
      at += utf8_at(text, at).size;
    if (at < text.size() && (text[at] == ',' || text[at] == ';' || text[at] == ':')) {
      text.remove_prefix(at + 1);
    }
  }
  return out;
}

std::string rewritten(std::string_view text, const TextRules& rules) {
  std::string out;
  while (!text.empty()) {
    const size_t size = utf8_at(text, 0).size;
    const std::string_view one = text.substr(0, size);
    const auto found = std::ranges::find(rules.replaced, one,
                                         [](const auto& r) { return std::string_view(r.first); });
    out += found == rules.replaced.end() ? one : std::string_view(found->second);
    text.remove_prefix(size);
  }
  std::string joined;
  for (const std::string& word : words_of(out)) joined += (joined.empty() ? "" : " ") + word;
  return without_stray_marks(joined);
}

}  // namespace

TextReader::TextReader(const ModelConfig& config, Unigram tokenizer)
    : rules_(config.text), tail_(config.tail), tokenizer_(std::move(tokenizer)) {
  if (tokenizer_.size() > config.vocab) {
    throw LoadError(concat("the tokenizer has ", tokenizer_.size(), " ids, but the model has ",
                           config.vocab, " (flow_lm.lookup_table.n_bins)"));
  }
  const auto but_first = [&](const char* marks) {
    std::vector<int32_t> ids = tokenizer_.encode(marks);
    if (!ids.empty()) ids.erase(ids.begin());
    return ids;
  };
  ends_ = but_first(".!...?"), pauses_ = but_first(",;:");
}

TextReader::Prepared TextReader::prepared(const std::string& given) const {
  std::string text = stripped(utf8_repair(given));
  if (!rules_.replaced.empty()) text = rewritten(text, rules_);
  if (text.empty()) return {};
  text = replaced(replaced(replaced(text, "\n", " "), "\r", " "), "  ", " ");
  if (rules_.remove_semicolons) text = replaced(text, ";", ",");
  const bool brief = std::ssize(words_of(text)) <= kShortWords;
  const CodePoint first = utf8_at(text, 0);
  if (rules_.capital && !is_upper(first.value)) {
    text = to_upper(first.value) + text.substr(first.size);
  }
  if (rules_.end_mark) text = with_end_mark(text);
  if (rules_.pad_short && std::ssize(words_of(text)) < kPaddedWords)
    text = std::string(8, ' ') + text;
  return {text, brief};
}

TextReader::Ids TextReader::read(const std::string& chunk) const {
  const Prepared text = prepared(chunk);
  if (text.text.empty()) return {};
  const int tail = text.brief ? kShortTail : kTail;
  return {tokenizer_.encode(text.text), tail_ >= 0 ? tail_ : tail};
}

bool TextReader::within_a_number(const std::vector<int32_t>& ids, size_t at) const {
  const std::string before = tokenizer_.decode(std::span(ids).first(at));
  const std::string after = tokenizer_.decode(std::span(ids).subspan(at));
  return before.size() >= 2 && before.ends_with('.') && is_digit(before[before.size() - 2]) &&
         !after.empty() && is_digit(after[0]);
}

TextReader::Pieces TextReader::cut(const std::vector<int32_t>& ids,
                                   const std::vector<int32_t>& marks, bool spare_decimals) const {
  Pieces out;
  size_t begin = 0;
  bool marked = false;
  const auto end_at = [&](size_t end) {
    out.emplace_back(end - begin, tokenizer_.decode(std::span(ids).subspan(begin, end - begin)));
    begin = end;
  };
  for (size_t at = 0; at < ids.size(); ++at) {
    const bool mark = std::ranges::find(marks, ids[at]) != marks.end();
    if (!mark && marked && !(spare_decimals && within_a_number(ids, at))) end_at(at);
    marked = mark;
  }
  end_at(ids.size());
  return out;
}

std::vector<std::string> TextReader::chunks(const std::string& text) const {
  const std::string whole = stripped(prepared(text).text);
  if (whole.empty()) return {};
  Pieces parts;
  for (auto& sentence : cut(tokenizer_.encode(whole), ends_, true)) {
    Pieces clauses;
    if (sentence.first > kMostIds) {
      clauses = cut(tokenizer_.encode(stripped(sentence.second)), pauses_, false);
    }
    if (clauses.size() > 1) {
      parts.insert(parts.end(), clauses.begin(), clauses.end());
    } else {
      parts.push_back(std::move(sentence));
    }
  }
  std::vector<std::string> out;
  int64_t held = 0;
  for (const auto& [count, part] : parts) {
    if (out.empty() || out.back().empty()) {
      if (out.empty()) out.emplace_back();
      out.back() = part, held = count;
    } else if (held + count > kMostIds) {
      out.push_back(part), held = count;
    } else {
      out.back() += " " + part, held += count;
    }
  }
  for (std::string& chunk : out) chunk = stripped(chunk);
  return out;
}

}  // namespace syrinx::pocket_tts
