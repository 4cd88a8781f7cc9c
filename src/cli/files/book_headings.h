// Finds where chapters of a book begin: by headings of Markdown, or of plain texts such as Project
// Gutenberg's. Free functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// A heading in bytes [begin, end) of the text, which are whole lines. A part contains its
/// chapters: the following headings of greater levels.
struct Heading {
  size_t begin = 0, end = 0;
  std::string title;  ///< one line, without Markdown marks
  int level = 0;
};

/// Returns the headings in order. Markdown ("# Title"): headings of the two highest levels that
/// occur. Other texts: separate short lines that begin with a word like "Chapter" or "Part" (in
/// several languages), with a title after the number or on the next lines. Without such words:
/// Roman numerals that count from I, alone or before a title in capitals.
std::vector<Heading> find_headings(std::string_view text);

/// Returns 1 for "# Title", 2 for "## Title", and so on; 0 for other lines.
size_t markdown_level(std::string_view line);

}  // namespace syrinx
