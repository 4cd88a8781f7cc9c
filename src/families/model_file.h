// Finds the family of a file that is a whole checkpoint.
#pragma once

#include <string>

#include "families/family.h"

namespace syrinx {

/// Returns the family of a file: by its ending, and for a GGUF file also by its architecture and
/// its tokens, because a Llama model may speak. Null if the ending is unknown, or if the file is
/// only a part of a model, such as a codec. Throws LoadError for a broken GGUF file.
const Family* family_of_file(const std::string& path);

}  // namespace syrinx
