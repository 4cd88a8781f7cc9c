// A config file as the command line's library reads it, which knows less of TOML than people write.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// `text` without comments (a '#' within quotes is not one), carriage returns and a mark of the
/// order of bytes; a list over several lines stands on its first one, so that line numbers stay.
/// Throws CLI::ConfigError that names `file` and the line where there is no NAME = VALUE, or where
/// a text in quotes or a list does not end.
std::string toml_lines(std::string_view text, const std::string& file);

}  // namespace syrinx
