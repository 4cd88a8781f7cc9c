// Directories as their authors publish them, without the config.json that identifies a family.
#pragma once

#include <span>

namespace syrinx {

struct Unfinished {
  const char* marker;  ///< a file by which such a directory is known, whatever other files it has
  const char* needs;   ///< the missing file and where to get it, as the end of a sentence
};

/// Returns all such directories that are known.
std::span<const Unfinished> unfinished();

}  // namespace syrinx
