// Reads texts in Windows-1252, which old editors and e-books use. Thread-safe free functions.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// Returns whether bytes are probably Windows-1252: most bytes beyond ASCII do not form UTF-8, and
/// all bytes are characters of Windows-1252.
bool looks_windows_1252(std::string_view bytes);

/// Returns the text in UTF-8; the five bytes without a character become U+FFFD.
std::string from_windows_1252(std::string_view bytes);

}  // namespace syrinx
