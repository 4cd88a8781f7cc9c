// Reads texts from files or the standard input. Free functions; faults are LoadErrors.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

namespace syrinx {

/// Returns the whole content of a file, a pipe or the standard input ("-"), in UTF-8 without a byte
/// order mark. Converts Windows-1252 and reports this in one line to `report`, unless null. Refuses
/// other bytes that are not text, and more than kMaxTextFileBytes.
std::string read_text(const std::string& path, std::ostream* report = nullptr);
inline constexpr size_t kMaxTextFileBytes = size_t{64} << 20;

/// Returns why `bytes` are not text, or an empty string. Reasons: a ZIP archive or a PDF; a zero
/// byte; control characters or invalid UTF-8, if these are more than 8 and more than a tenth of the
/// characters.
std::string why_no_text(std::string_view bytes);

}  // namespace syrinx
