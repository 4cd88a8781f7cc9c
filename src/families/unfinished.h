// Directories as their authors publish them, without the config.json that identifies a family.
#pragma once

#include <span>

namespace syrinx {

struct Unfinished {
  const char* marker;  ///< a file of such a directory, whatever else lies there
  const char* needs;   ///< what belongs beside it and where that comes from, as a sentence goes on
};

/// Those that are known.
std::span<const Unfinished> unfinished();

}  // namespace syrinx
