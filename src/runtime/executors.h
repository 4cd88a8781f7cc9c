// The executors of a model that is alone on its machine.
#pragma once

#include "engine/engine.h"
#include "model/pipeline.h"

namespace syrinx {

/// As executors_alone() of runtime.h. With a few threads, all of them run one batch, too, where a
/// chunk is a whole utterance: first audio waits for all of it.
Executors executors_for(const Pipeline& pipeline, int threads);

}  // namespace syrinx
