// Removes temporary files of NewFile (file.h) that a killed process has left. Any thread.
#pragma once

#include <string>

namespace syrinx {

/// Removes the temporary file of a NewFile, unless a process still writes the file, so holds its
/// lock. Does nothing if the file cannot be opened.
void remove_abandoned_file(const std::string& path);

}  // namespace syrinx
