// Functions for models that consist of several GGUF files in one folder. Any thread; faults are
// LoadErrors.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "io/weights.h"

namespace syrinx {

/// Returns the path of another part of a model: of all GGUF files in the folder of `file` with
/// `word` in their names the largest, because it has the most exact weights. Throws LoadError if
/// the folder has no such file: `what` is the name of the part, `example` that of a file.
std::string gguf_beside(const std::string& file, std::string_view word, std::string_view what,
                        std::string_view example);

/// Returns the tensors of `inner`, and for each codebook a usage ("cluster_usage") of 1 for each
/// code: converters have already divided the sums of vectors ("embed_sum", in networks under
/// "decoder." "embedding_sum") by the usage.
std::unique_ptr<WeightSource> with_usage(std::unique_ptr<WeightSource> inner);

}  // namespace syrinx
