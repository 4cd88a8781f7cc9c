// A book as text: its chapters, and the parts in which it is spoken. Free functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// Bytes [begin, end) of the text, heading included. The title is one line, without marks.
struct Chapter {
  std::string title;
  size_t begin = 0, end = 0;
};

/// Chapters lie end to end and hold the whole text, and there is at least one; they begin with the
/// headings of book_headings.h. What comes before the first heading is a chapter of its own without
/// a title, unless it is shorter than 200 bytes: then it belongs to the first. A heading right
/// under a greater one (a chapter under its part) is not a chapter of its own.
std::vector<Chapter> find_chapters(std::string_view text);

/// What is spoken by one request. Parts end with sentences, if possible with paragraphs.
struct BookPart {
  size_t chapter = 0;
  std::string text = {};
  size_t begin = 0;   ///< byte of the book, where its marks of Markdown are not taken out
  float pause_s = 0;  ///< of silence behind it, as the layout asks for; before a chapter longer
};
/// `markdown`: marks of headings are taken out, and a line of that kind is a paragraph.
std::vector<BookPart> cut_book(std::string_view text, const std::vector<Chapter>& chapters,
                               bool markdown = true);

/// "03-the-pool-of-tears": a file's name for a chapter, `number` counts from 1, of `count`.
std::string chapter_file_name(const Chapter& chapter, size_t number, size_t count);

}  // namespace syrinx
