// Reads the text of an EPUB: a ZIP archive with pages of XHTML, their order and a table of
// contents. Images and page numbers are left out; notes stay where they are. Memory and time are
// bounded for any file. Free functions; any thread.
#pragma once

#include <string>

#include "cli/files/book_text.h"

namespace syrinx {

struct Epub {
  BookNames names;
  std::string text = {};  ///< Markdown: chapters are headings; empty lines end paragraphs
};

/// Reads an EPUB 2 or 3. Chapters are those of the table of contents, in two levels; without one,
/// the headings of the pages. Throws LoadError for other archives, invalid XML, pages over 16 MiB
/// and more than 64 MiB of text.
Epub read_epub(const std::string& path);

}  // namespace syrinx
