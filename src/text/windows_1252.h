// Texts in Windows-1252, which old editors and e-books have. Free functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// Whether bytes that are not valid UTF-8 read as Windows-1252: most of what lies beyond ASCII does
/// not form characters of UTF-8, and every byte is a character of Windows-1252.
bool looks_windows_1252(std::string_view bytes);

/// The same text in UTF-8; the five bytes without a character become U+FFFD.
std::string from_windows_1252(std::string_view bytes);

}  // namespace syrinx
