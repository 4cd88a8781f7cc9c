// Model directories in their authors' layout, without the config.json by which a family is found.
#pragma once

#include <span>

namespace syrinx {

struct Unfinished {
  const char* marker;  ///< file that identifies such a directory, whatever other files it contains
  const char* needs;   ///< the missing file and its source, as the end of a sentence
};

/// Returns all known kinds of such directories.
std::span<const Unfinished> unfinished();

}  // namespace syrinx
