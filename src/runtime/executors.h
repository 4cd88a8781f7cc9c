// The executors of a model that does not share its machine with other models.
#pragma once

#include "engine/engine.h"
#include "model/pipeline.h"

namespace syrinx {

/// Returns the same as executors_alone() of runtime.h, with one exception. With few threads, all
/// threads run one batch if clients wait for long batches, such as a chunk of a whole utterance or
/// a recogniser's encoder.
Executors executors_for(const Pipeline& pipeline, int threads);

}  // namespace syrinx
