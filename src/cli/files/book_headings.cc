#include "cli/files/book_headings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "base/ascii.h"

namespace syrinx {
namespace {

constexpr size_t kMaxHeading = 90;  // most bytes of a heading's line
constexpr size_t kTitleLines = 2;   // most title lines below a line with only a number
constexpr int kPartLevel = 1, kChapterLevel = 2, kNumeralLevel = 3;

struct HeadingWord {
  std::string_view word;
  int level;
};
constexpr std::array<HeadingWord, 25> kHeadingWords = {{
    {"chapter", kChapterLevel},   {"letter", kChapterLevel},    {"stave", kChapterLevel},
    {"adventure", kChapterLevel}, {"canto", kChapterLevel},     {"kapitel", kChapterLevel},
    {"chapitre", kChapterLevel},  {"capítulo", kChapterLevel},  {"capitolo", kChapterLevel},
    {"hoofdstuk", kChapterLevel}, {"part", kPartLevel},         {"book", kPartLevel},
    {"volume", kPartLevel},       {"teil", kPartLevel},         {"partie", kPartLevel},
    {"parte", kPartLevel},        {"prologue", kPartLevel},     {"epilogue", kPartLevel},
    {"preface", kPartLevel},      {"introduction", kPartLevel}, {"foreword", kPartLevel},
    {"afterword", kPartLevel},    {"vorwort", kPartLevel},      {"nachwort", kPartLevel},
    {"appendix", kPartLevel},
}};

struct Line {
  size_t begin = 0, end = 0;  // `end` excludes the line feed
  std::string_view words = {};
};

/// The rest of a heading after its first word ("Chapter").
struct NamedLine {
  int level = 0;
  bool alone = false;     // nothing follows the word
  bool numbered = false;  // only a number follows the word
};

std::vector<Line> split_lines(std::string_view text) {
  std::vector<Line> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back({at, end, trimmed(text.substr(at, end - at))});
    at = end + 1;
  }
  return lines;
}

bool is_empty(const std::vector<Line>& lines, size_t i) {
  return i >= lines.size() || lines[i].words.empty();  // also true before the first line
}

std::optional<NamedLine> named_line(std::string_view text) {
  if (text.empty() || text.size() > kMaxHeading) return {};
  std::string folded(text);
  for (char& c : folded) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [word, level] : kHeadingWords) {
    if (!folded.starts_with(word)) continue;
    // "Part of the reason ..." is not a heading: only nothing, a number or a mark may follow the
    // word.
    const std::string_view rest = trimmed(text.substr(word.size()));
    const auto is_mark = [](char c) { return std::ispunct(static_cast<unsigned char>(c)) != 0; };
    if (rest.empty()) return NamedLine{level, true, false};
    if (text[word.size()] != ' ') {
      if (is_mark(rest[0])) return NamedLine{level, false, false};
      continue;  // the text has a longer word with this beginning
    }
    const size_t end = std::min(rest.find_first_of(" .:,-"), rest.size());
    const std::string_view next = rest.substr(0, end);
    const bool number = next.find_first_not_of("0123456789IVXLCDM") == std::string_view::npos;
    if (!number && std::isupper(static_cast<unsigned char>(next[0])) == 0) continue;
    const std::string_view behind = rest.substr(end);
    return NamedLine{level, false, std::all_of(behind.begin(), behind.end(), is_mark)};
  }
  return {};
}

/// Returns the value of a Roman numeral (14 for "XIV"); 0 if it is invalid or above 199.
int roman(std::string_view text) {
  constexpr std::array<std::pair<int, std::string_view>, 9> kDigits = {{
      {100, "C"},
      {90, "XC"},
      {50, "L"},
      {40, "XL"},
      {10, "X"},
      {9, "IX"},
      {5, "V"},
      {4, "IV"},
      {1, "I"},
  }};
  if (text.size() > 12) return 0;
  for (int value = 1; value < 200; ++value) {
    std::string want;
    int left = value;
    for (const auto& [worth, digits] : kDigits) {
      for (; left >= worth; left -= worth) want += digits;
    }
    if (want == text) return value;
  }
  return 0;
}

/// Returns the index of the line after the title below line i, which has only a number; i + 1
/// without a title. A title ends at an empty line.
size_t after_title(const std::vector<Line>& lines, size_t i) {
  size_t end = i + 1;
  while (!is_empty(lines, end) && end - i <= kTitleLines + 1) ++end;
  for (size_t at = i + 1; at < end; ++at) {
    const auto named = named_line(lines[at].words);  // a word like "Preface" may be a title
    const bool heading = (named && !named->alone) || roman(lines[at].words) > 0;
    if (heading || lines[at].words.size() > kMaxHeading) return i + 1;
  }
  return end - i <= kTitleLines + 1 ? end : i + 1;
}

/// Returns whether a line is a title: all in capitals, or with a capital at each long word and
/// without a mark at its end.
bool is_title(std::string_view text) {
  constexpr size_t kMaxTitle = 60, kShortWord = 3;
  if (text.empty() || text.size() > kMaxTitle || named_line(text) || roman(text) > 0) return false;
  const auto lower = [](unsigned char c) { return std::islower(c) != 0; };
  if (std::none_of(text.begin(), text.end(), lower)) {
    return std::any_of(text.begin(), text.end(),
                       [](unsigned char c) { return std::isupper(c) != 0; });
  }
  for (const std::string_view mark : {".", "!", "?", ":", ";", ",", "\"", "”", "’", "»", "…", "—"})
    if (text.ends_with(mark)) return false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (lower(static_cast<unsigned char>(text[at])) && (at == 0 || end - at > kShortWord))
      return false;
    at = end + 1;
  }
  return true;
}

/// Like after_title(); also accepts one empty line between the number and its title.
size_t after_apart_title(const std::vector<Line>& lines, size_t i) {
  const size_t end = after_title(lines, i), at = i + 2;
  const bool apart = end == i + 1 && is_empty(lines, i + 1) && at < lines.size() &&
                     is_empty(lines, at + 1) && is_title(lines[at].words);
  return apart ? at + 1 : end;
}

std::string joined(std::string title, std::string_view more) {
  const bool closed = std::ispunct(static_cast<unsigned char>(title.back())) != 0;
  return title.append(closed ? " " : ". ").append(more);
}

Heading heading_of(const std::vector<Line>& lines, size_t i, size_t end, int level) {
  Heading out{lines[i].begin, lines[end - 1].end, std::string(lines[i].words), level};
  bool titled = false;
  for (size_t at = i + 1; at < end; ++at) {
    if (lines[at].words.empty()) continue;
    out.title = titled ? out.title.append(" ").append(lines[at].words)
                       : joined(std::move(out.title), lines[at].words);
    titled = true;
  }
  return out;
}

std::vector<Heading> markdown_headings(const std::vector<Line>& lines) {
  size_t highest = 7;
  for (const Line& line : lines) {
    const size_t level = markdown_level(line.words);
    if (level > 0) highest = std::min(highest, level);
  }
  std::vector<Heading> out;
  for (const Line& line : lines) {
    const size_t level = markdown_level(line.words);
    if (level == 0 || level > highest + 1) continue;
    out.push_back({line.begin, line.end, std::string(trimmed(line.words.substr(level))),
                   static_cast<int>(level)});
  }
  return out;
}

std::vector<Heading> named_headings(const std::vector<Line>& lines) {
  std::vector<Heading> out;
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto named = is_empty(lines, i - 1) ? named_line(lines[i].words) : std::nullopt;
    if (!named) continue;
    const size_t end = named->numbered ? after_apart_title(lines, i) : i + 1;
    if (is_empty(lines, end)) out.push_back(heading_of(lines, i, end, named->level));
  }
  return out;
}

/// Returns the headings that are Roman numerals. Their values rise from I and may restart at I; a
/// single numeral is ignored. `titled`: only lines with a title in capitals after the numeral.
std::vector<Heading> numeral_headings(const std::vector<Line>& lines, bool titled) {
  std::vector<Heading> out;
  int last = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view words = lines[i].words;
    if (!is_empty(lines, i - 1) || words.empty() || words.size() > kMaxHeading) continue;
    const size_t end = std::min(words.find_first_of(". "), words.size());
    const std::string_view rest = trimmed(words.substr(std::min(end + 1, words.size())));
    const bool capitals = std::none_of(rest.begin(), rest.end(),
                                       [](unsigned char c) { return std::islower(c) != 0; });
    const int value = roman(words.substr(0, end));
    if (value == 0 || rest.empty() == titled || !capitals) continue;
    if (value != 1 && value != last + 1) continue;
    const size_t after = titled ? i + 1 : after_apart_title(lines, i);
    if (!is_empty(lines, after)) continue;
    last = value;
    out.push_back(heading_of(lines, i, after, kNumeralLevel));
  }
  if (out.size() < 2) out.clear();
  return out;
}

}  // namespace

size_t markdown_level(std::string_view line) {
  const size_t level = std::min(line.find_first_not_of('#'), line.size());
  const bool heading = level >= 1 && level <= 6 && level < line.size() && line[level] == ' ';
  return heading && !trimmed(line.substr(level)).empty() ? level : 0;
}

std::vector<Heading> find_headings(std::string_view text) {
  const std::vector<Line> lines = split_lines(text);
  std::vector<Heading> out = markdown_headings(lines);
  if (!out.empty()) return out;
  out = named_headings(lines);
  const bool chapters = std::any_of(out.begin(), out.end(), [](const Heading& heading) {
    return heading.level == kChapterLevel;
  });
  if (chapters) return out;
  std::vector<Heading> numerals = numeral_headings(lines, true);
  if (numerals.empty()) numerals = numeral_headings(lines, false);
  out.insert(out.end(), numerals.begin(), numerals.end());
  std::sort(out.begin(), out.end(),
            [](const Heading& a, const Heading& b) { return a.begin < b.begin; });
  return out;
}

}  // namespace syrinx
