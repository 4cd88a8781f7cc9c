// Where the chapters of a book begin: headings of Markdown, and those of plain texts such as
// Project Gutenberg's. Free functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// Bytes [begin, end) of the text are whole lines. A heading of a smaller level holds those of a
/// greater one: a part has chapters.
struct Heading {
  size_t begin = 0, end = 0;
  std::string title;  ///< one line, without marks
  int level = 0;
};

/// In order. With Markdown ("# Title") those of the two highest levels that occur. Otherwise short
/// lines that stand alone and begin with a word like "Chapter" or "Part", in some languages, with a
/// title behind the number or on the next lines; and, where no line says "chapter", Roman numerals
/// that count from I, alone or in front of a title in capitals.
std::vector<Heading> find_headings(std::string_view text);

/// 1 for "# Title", 2 for "## Title", ...; 0 for other lines.
size_t markdown_level(std::string_view line);

}  // namespace syrinx
