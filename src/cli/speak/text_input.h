// Texts that people give as files or on the standard input. Free functions; faults are LoadErrors.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

namespace syrinx {

/// The whole of a file, a pipe, or of the standard input ("-"), in UTF-8 without a byte order mark.
/// Windows-1252 is read as such, which one line of `report` says (null: nothing does). Other bytes
/// that are no text are refused, and so is more than kMaxTextFileBytes.
std::string read_text(const std::string& path, std::ostream* report = nullptr);
inline constexpr size_t kMaxTextFileBytes = size_t{64} << 20;

/// Why `bytes` are no text that could be spoken, or "". A zero byte says so, and many control
/// characters or bytes that are not UTF-8 (more than one in ten); a few are an accident.
std::string why_no_text(std::string_view bytes);

}  // namespace syrinx
