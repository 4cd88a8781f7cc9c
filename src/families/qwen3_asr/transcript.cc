#include "families/qwen3_asr/transcript.h"

#include "base/ascii.h"
#include "text/languages.h"
#include "text/utf32.h"

namespace syrinx::qwen3_asr {
namespace {

constexpr size_t kMostRepeats = 20;  // most repeats that are kept; more become a single one
constexpr size_t kLongestPattern = 20;

constexpr std::u32string_view kTag = U"<asr_text>";

/// Returns whether Python's str.isspace() would return true.
bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

std::u32string_view stripped(std::u32string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::u32string without_runs(std::u32string_view text) {
  std::u32string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && text[end] == text[at]) ++end;
    out.append(end - at > kMostRepeats ? 1 : end - at, text[at]);
    at = end;
  }
  return out;
}

/// Returns the length of the shortest pattern that is repeated kMostRepeats times at the beginning
/// of `text`. Returns 0 if the text has no such pattern.
size_t pattern_of(std::u32string_view text) {
  for (size_t size = 1; size <= kLongestPattern && size * kMostRepeats <= text.size(); ++size) {
    const auto repeated = text.substr(0, size * kMostRepeats);
    // The text equals itself shifted by `size`.
    if (repeated.substr(size) == repeated.substr(0, repeated.size() - size)) return size;
  }
  return 0;
}

/// Returns the language (ISO 639) named in the part before the tag. Empty if it names none.
std::string language_of(std::string_view head) {
  constexpr std::string_view kBegin = "language ";
  if (lower_ascii(head).find("language none") != std::string::npos) return {};
  while (!head.empty()) {
    const size_t end = std::min(head.find_first_of("\r\n"), head.size());
    const std::string_view line = trimmed(head.substr(0, end));
    head.remove_prefix(std::min(end + 1, head.size()));
    if (!lower_ascii(line).starts_with(kBegin)) continue;
    return language_code(line.substr(kBegin.size()));
  }
  return {};
}

}  // namespace

std::u32string without_repetitions(std::u32string_view text) {
  const std::u32string flat = without_runs(text);
  std::u32string_view rest = flat;
  std::u32string out;
  while (rest.size() >= 2 * kMostRepeats) {
    const size_t size = pattern_of(rest);
    const std::u32string_view pattern = rest.substr(0, std::max<size_t>(size, 1));
    out += pattern;
    rest.remove_prefix(pattern.size());
    while (size > 0 && rest.starts_with(pattern)) rest.remove_prefix(size);
  }
  return out += rest;
}

Dictated read_answer(std::string_view answer, bool forced, bool whole) {
  const std::u32string points = utf32_of(answer);
  const std::u32string text = without_repetitions(stripped(points));
  const size_t tag = forced ? text.npos : text.find(kTag);
  if (tag == text.npos) {
    return forced || whole ? Dictated{utf8_of(stripped(text))} : Dictated();
  }
  const auto words = std::u32string_view(text).substr(tag + kTag.size());
  return {utf8_of(stripped(words)), language_of(utf8_of(text.substr(0, tag)))};
}

}  // namespace syrinx::qwen3_asr
