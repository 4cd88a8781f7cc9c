// Which family a file is of that is a whole checkpoint.
#pragma once

#include <string>

#include "families/family.h"

namespace syrinx {

/// Returns the family of a file: by its ending, and of a GGUF file also by its tokens, since a
/// Llama may speak. Null: the ending is unknown. Throws LoadError for a broken GGUF file.
const Family* family_of_file(const std::string& path);

}  // namespace syrinx
