// The weights of a Kokoro checkpoint in any of its formats, with the names of the authors' modules.
// Free function.
#pragma once

#include <memory>
#include <string>

#include "io/weights.h"

namespace syrinx::kokoro {

/// Opens the only *.pth of a directory, which is a pickle of five dicts whose keys may begin with
/// "module."; or else the only *.onnx; or else *.safetensors with the same names as in the *.pth.
/// Throws LoadError if the directory has no such file.
std::unique_ptr<WeightSource> open_kokoro_weights(const std::string& dir);

}  // namespace syrinx::kokoro
