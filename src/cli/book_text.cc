#include "cli/book_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "text/sentences.h"

namespace syrinx {
namespace {

constexpr size_t kMaxHeading = 90;  // bytes of a line
constexpr size_t kForeword = 200;   // bytes before the first heading that are a chapter
constexpr size_t kPart = 800;       // bytes after which a part ends with its paragraph
constexpr size_t kLongPart = 2000;  // and with its sentence
constexpr size_t kNameBytes = 48;   // of a title in a file's name
constexpr std::array<std::string_view, 17> kWords = {
    "chapter",      "part",    "book",     "prologue",  "epilogue", "preface",
    "introduction", "kapitel", "teil",     "vorwort",   "chapitre", "partie",
    "capítulo",     "parte",   "capitolo", "hoofdstuk", "appendix"};

struct Line {
  size_t begin = 0, end = 0;  // without the line feed
  bool after_empty = false, before_empty = false;
};

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::vector<Line> split_lines(std::string_view text) {
  std::vector<Line> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back({.begin = at, .end = end});
    at = end + 1;
  }
  const auto empty = [&](size_t i) {
    return trimmed(text.substr(lines[i].begin, lines[i].end - lines[i].begin)).empty();
  };
  for (size_t i = 0; i < lines.size(); ++i) {
    lines[i].after_empty = i == 0 || empty(i - 1);
    lines[i].before_empty = i + 1 == lines.size() || empty(i + 1);
  }
  return lines;
}

/// 1 for "# Title", 2 for "## Title", ...; 0 for other lines.
size_t markdown_level(std::string_view line) {
  const size_t level = std::min(line.find_first_not_of('#'), line.size());
  const bool heading = level >= 1 && level <= 6 && level < line.size() && line[level] == ' ';
  return heading && !trimmed(line.substr(level)).empty() ? level : 0;
}

bool is_named(const Line& line, std::string_view text) {
  if (!line.after_empty || !line.before_empty || text.size() > kMaxHeading) return false;
  std::string folded(text);
  for (char& c : folded) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    if (!folded.starts_with(word)) return false;
    // "Part of the reason ..." is no heading: after the word comes nothing, a number or a mark.
    const std::string_view rest = trimmed(std::string_view(text).substr(word.size()));
    if (rest.empty() || text[word.size()] != ' ') return rest.empty() || std::ispunct(rest[0]);
    const std::string_view next = rest.substr(0, rest.find_first_of(" .:,-"));
    const bool number = next.find_first_not_of("0123456789IVXLCDM") == std::string_view::npos;
    return number || std::isupper(static_cast<unsigned char>(next[0]));
  });
}

std::string title_of(std::string_view line) {
  while (line.starts_with('#')) line.remove_prefix(1);
  return std::string(trimmed(line));
}

}  // namespace

std::vector<Chapter> find_chapters(std::string_view text) {
  const std::vector<Line> lines = split_lines(text);
  const auto words = [&](const Line& line) {
    return trimmed(text.substr(line.begin, line.end - line.begin));
  };
  size_t highest = 7;
  for (const Line& line : lines) {
    const size_t level = markdown_level(words(line));
    if (level > 0) highest = std::min(highest, level);
  }
  std::vector<Chapter> chapters = {{"", 0, text.size()}};
  for (const Line& line : lines) {
    const std::string_view content = words(line);
    const size_t level = markdown_level(content);
    const bool heading = highest < 7 ? level > 0 && level <= highest + 1 : is_named(line, content);
    if (!heading) continue;
    Chapter& before = chapters.back();
    // A heading right under another one (a title and its chapter) is no chapter of its own.
    const std::string_view between = trimmed(text.substr(before.begin, line.begin - before.begin));
    const bool bare = !before.title.empty() && title_of(between) == before.title;
    if (chapters.size() == 1 && before.title.empty() && between.size() < kForeword) {
      before.title = title_of(content);
    } else if (bare) {
      before.title += ". " + title_of(content);
    } else {
      before.end = line.begin;
      chapters.push_back({title_of(content), line.begin, text.size()});
    }
  }
  return chapters;
}

std::vector<BookPart> cut_book(std::string_view text, const std::vector<Chapter>& chapters) {
  std::vector<BookPart> parts;
  for (size_t i = 0; i < chapters.size(); ++i) {
    const std::string_view chapter =
        text.substr(chapters[i].begin, chapters[i].end - chapters[i].begin);
    BookPart part{.chapter = i};
    const auto close = [&] {
      if (trimmed(part.text).empty()) return;
      parts.push_back(std::exchange(part, {.chapter = i}));
    };
    for (const Sentence& sentence : split_sentences(chapter)) {
      std::string_view words = chapter.substr(sentence.begin, sentence.end - sentence.begin);
      if (markdown_level(trimmed(words)) > 0) words.remove_prefix(words.find_first_not_of("# \n"));
      part.text += words;
      const size_t size = part.text.size();
      if (size >= kLongPart || (size >= kPart && sentence.ends_paragraph)) close();
    }
    close();
  }
  return parts;
}

std::string chapter_file_name(const Chapter& chapter, size_t number, size_t count) {
  std::string name = std::to_string(number);
  const size_t digits = std::max<size_t>(2, std::to_string(count).size());
  name.insert(0, digits - std::min(digits, name.size()), '0');
  std::string words;
  bool gap = false;
  for (const char c : chapter.title) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && std::isalnum(byte) == 0) {
      gap = !words.empty();
      continue;
    }
    if (words.size() >= kNameBytes && (byte & 0xC0) != 0x80) break;  // between characters
    if (std::exchange(gap, false)) words += '-';
    words += byte < 0x80 ? static_cast<char>(std::tolower(byte)) : c;
  }
  return words.empty() ? name : name + "-" + words;
}

}  // namespace syrinx
