#include "cli/files/book_text.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/ascii.h"
#include "cli/files/book_headings.h"
#include "text/layout.h"
#include "text/sentences.h"

namespace syrinx {
namespace {

constexpr size_t kForeword = 200;   // fewest bytes before the first heading that make a chapter
constexpr size_t kPart = 800;       // bytes after which a part ends with its paragraph
constexpr size_t kLongPart = 2000;  // bytes after which a part ends with its sentence
constexpr size_t kNameBytes = 48;   // most bytes of a title in a file's name
constexpr float kChapterPause = 0.7f;

/// The bytes of a text that a mark of Project Gutenberg takes.
struct LicenceMark {
  size_t begin = std::string_view::npos, end = 0;
};

/// Finds the first mark at the beginning of a line from `from` on. `word`: "start" or "end".
LicenceMark find_mark(std::string_view text, std::string_view word, size_t from) {
  constexpr std::string_view kStars = "***";
  constexpr size_t kLongest = 300;  // bytes of a mark
  for (size_t at = from; (at = text.find(kStars, at)) != text.npos; at += kStars.size()) {
    if (at > 0 && text[at - 1] != '\n') continue;
    const std::string_view rest = text.substr(at + kStars.size(), kLongest);
    const size_t stars = rest.find(kStars);
    if (stars == rest.npos) continue;
    const std::string inside = lower_ascii(trimmed(rest.substr(0, stars)));
    if (!inside.starts_with(word) || inside.find("\n\n") != inside.npos) continue;
    if (inside.find("project gutenberg") == inside.npos) continue;
    return {at, at + stars + 2 * kStars.size()};
  }
  return {};
}
}  // namespace

std::vector<Chapter> find_chapters(std::string_view text) {
  std::vector<Chapter> chapters = {{"", 0, text.size()}};
  const auto between = [text](size_t begin, size_t end) {
    return trimmed(text.substr(begin, end - begin));
  };
  Heading last;  // heading of the last chapter in the list, if it has one
  for (Heading& heading : find_headings(text)) {
    Chapter& before = chapters.back();
    const bool first = chapters.size() == 1 && before.title.empty();
    const bool bare = !before.title.empty() && between(last.end, heading.begin).empty();
    if (first && between(0, heading.begin).size() < kForeword) {
      before.title = heading.title;
    } else if (bare && heading.level > last.level) {
      before.title += ". " + heading.title;  // joins the titles of a part and its first chapter
    } else if (bare) {
      before.title = heading.title;  // in a table of contents the last line is the heading
    } else {
      before.end = heading.begin;
      chapters.push_back({heading.title, heading.begin, text.size()});
    }
    last = std::move(heading);
  }
  return chapters;
}

std::vector<BookPart> cut_book(std::string_view text, const std::vector<Chapter>& chapters,
                               bool markdown) {
  std::vector<BookPart> parts;
  for (size_t i = 0; i < chapters.size(); ++i) {
    const std::string_view chapter =
        text.substr(chapters[i].begin, chapters[i].end - chapters[i].begin);
    BookPart part{.chapter = i, .begin = chapters[i].begin};
    const auto close = [&](size_t end) {
      if (trimmed(part.text).empty()) return;
      parts.push_back(std::exchange(part, {.chapter = i, .begin = chapters[i].begin + end}));
    };
    for (const Sentence& sentence : split_sentences(chapter)) {
      std::string_view words = chapter.substr(sentence.begin, sentence.end - sentence.begin);
      part.pause_s = layout_pause_s(words, sentence.ends_paragraph);
      const bool heading = markdown && markdown_level(trimmed(words)) > 0;
      if (heading) words.remove_prefix(words.find_first_not_of("# \n"));
      part.text += words;
      if (heading && !sentence.ends_paragraph) part.text += '\n';
      const size_t size = part.text.size();
      if (size >= kLongPart || (size >= kPart && sentence.ends_paragraph)) {
        close(sentence.end);
      }
    }
    close(chapter.size());
    if (!parts.empty() && parts.back().chapter == i) parts.back().pause_s = kChapterPause;
  }
  return parts;
}

BookNames find_names(std::string_view text) {
  constexpr int kLines = 60;
  BookNames names;
  const auto take = [](std::string_view line, std::string_view key, std::string& to) {
    if (!to.empty() || !lower_ascii(line.substr(0, key.size())).starts_with(key)) return;
    std::string_view value = trimmed(line.substr(key.size()));
    const bool quoted = value.size() > 1 && value.front() == '"' && value.back() == '"';
    to = quoted ? value.substr(1, value.size() - 2) : value;
  };
  for (int i = 0; i < kLines && !text.empty(); ++i) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    take(line, "title:", names.title);
    take(line, "author:", names.author);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

std::string_view without_licence(std::string_view text) {
  const size_t begin = find_mark(text, "start of ", 0).end;
  const size_t end = find_mark(text, "end of ", begin).begin;
  return text.substr(begin, std::min(end, text.size()) - begin);
}

std::string_view without_front_matter(std::string_view text) {
  constexpr std::string_view kLine = "---", kKey = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  const auto belongs = [&](std::string_view line) {
    if (trimmed(line).empty() || std::string_view(" \t-#").find(line[0]) != line.npos) return true;
    const size_t colon = line.find(':');
    return colon != line.npos && colon == lower_ascii(line).find_first_not_of(kKey);
  };
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line == kLine && at > 0) return text.substr(std::min(end + 1, text.size()));
    if (at == 0 ? line != kLine : !belongs(line)) break;
  }
  return text;
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
    if (words.size() >= kNameBytes && (byte & 0xC0) != 0x80) break;  // cuts only between characters
    if (std::exchange(gap, false)) words += '-';
    words += byte < 0x80 ? static_cast<char>(std::tolower(byte)) : c;
  }
  return words.empty() ? name : name + "-" + words;
}

}  // namespace syrinx
