// The text of a book: its chapters, and the parts that are spoken one by one. Free functions; any
// thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// A chapter: bytes [begin, end) of the text, including the heading. The title is one line, without
/// Markdown marks.
struct Chapter {
  std::string title;
  size_t begin = 0, end = 0;
};

/// Returns at least one chapter. Chapters begin at the headings of book_headings.h and together
/// contain the whole text. Text before the first heading is an untitled chapter; if shorter than
/// 200 bytes, it belongs to the first chapter. A heading directly below a higher heading (a chapter
/// below its part) does not start another chapter.
std::vector<Chapter> find_chapters(std::string_view text);

/// The text of one request. Parts end at sentences, if possible at paragraphs.
struct BookPart {
  size_t chapter = 0;
  std::string text = {};
  size_t begin = 0;   ///< first byte in the book, before Markdown marks are removed
  float pause_s = 0;  ///< silence after the part; longer before a chapter
};
/// Cuts the chapters into parts. `markdown`: removes marks of headings; a heading line is a
/// paragraph.
std::vector<BookPart> cut_book(std::string_view text, const std::vector<Chapter>& chapters,
                               bool markdown = true);

/// The names of a book; empty if unknown.
struct BookNames {
  std::string title, author;
};
/// Finds the lines "Title: ..." and "Author: ..." among the first 60 lines, as Project Gutenberg's
/// texts and front matter have them.
BookNames find_names(std::string_view text);

/// Returns the book in a text of Project Gutenberg: the part between the lines "*** START OF THE
/// PROJECT GUTENBERG EBOOK ... ***", also broken, and "*** END OF ... ***". Other texts are
/// returned whole.
std::string_view without_licence(std::string_view text);

/// Returns the text behind its front matter: YAML between a first line "---" and the next line
/// "---". Other texts are returned whole, also those whose first line only separates scenes.
std::string_view without_front_matter(std::string_view text);

/// Returns a chapter's file name: "03-the-pool-of-tears". `number` counts from 1 to `count`.
std::string chapter_file_name(const Chapter& chapter, size_t number, size_t count);

}  // namespace syrinx
