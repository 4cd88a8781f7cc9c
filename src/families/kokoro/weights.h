// The weights of a Kokoro checkpoint under the names of the authors' modules, however they are
// stored. Free function.
#pragma once

#include <memory>
#include <string>

#include "io/weights.h"

namespace syrinx::kokoro {

/// Opens the only *.pth of a directory, a pickle of five dicts whose keys may begin with "module.";
/// else the only *.onnx; else *.safetensors with the names that the *.pth would have. Throws
/// LoadError if the directory has no such file.
std::unique_ptr<WeightSource> open_kokoro_weights(const std::string& dir);

}  // namespace syrinx::kokoro
