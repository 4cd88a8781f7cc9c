// Weights of a PyTorch file that the caller has opened.
#pragma once

#include <memory>

#include "io/file.h"
#include "io/weights.h"

namespace syrinx {

/// Opens the weights of a PyTorch file. MappedFile::read() protects against a file that is
/// truncated or replaced while its weights are taken. Throws LoadError.
std::unique_ptr<WeightSource> open_torch_weights(std::shared_ptr<const MappedFile> file);

}  // namespace syrinx
