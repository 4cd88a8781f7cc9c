// Simplifies a config file for the command line's library, which accepts only a part of TOML.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// Returns `text` without comments (a '#' within quotes is not a comment), carriage returns and a
/// byte order mark. Joins a list over several lines on its first line; keeps the number of lines.
/// Throws CLI::ConfigError with `file` and the line, for a line without NAME = VALUE and for quotes
/// or a list without an end.
std::string toml_lines(std::string_view text, const std::string& file);

}  // namespace syrinx
