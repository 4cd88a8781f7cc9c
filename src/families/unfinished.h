// Directories in their authors' layout without the config.json that identifies a family.
#pragma once

#include <span>

namespace syrinx {

struct Unfinished {
  const char* marker;  ///< a file that identifies such a directory, whatever other files it has
  const char* needs;   ///< the missing file and where to get it, as the end of a sentence
};

/// Returns all known kinds of such directories.
std::span<const Unfinished> unfinished();

}  // namespace syrinx
