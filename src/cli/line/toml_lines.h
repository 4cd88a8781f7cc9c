// Simplifies a config file for the command line's library, which accepts only a part of TOML.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// Returns `text` without comments (a '#' within quotes does not begin one), carriage returns and a
/// byte order mark. A list over several lines is put on its first line; line numbers stay. Throws
/// CLI::ConfigError naming `file` and the line for a line without NAME = VALUE, and for a text in
/// quotes or a list without an end.
std::string toml_lines(std::string_view text, const std::string& file);

}  // namespace syrinx
