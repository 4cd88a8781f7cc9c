// Finds out whether a temporary file of NewFile (file.h) may be removed. Any thread.
#pragma once

#include <string>

namespace syrinx {

/// Returns whether a process still writes the temporary file of a NewFile, so holds its lock. Also
/// returns true for a file that cannot be opened.
bool is_being_written(const std::string& path);

}  // namespace syrinx
