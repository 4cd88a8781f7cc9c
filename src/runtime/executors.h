// The executors of a model that is alone on its machine.
#pragma once

#include "engine/engine.h"
#include "model/pipeline.h"

namespace syrinx {

/// Does what executors_alone() of runtime.h describes. With a few threads, all of them also run one
/// batch if a client waits for one large batch: a chunk that is a whole utterance, or a
/// recogniser's encoder.
Executors executors_for(const Pipeline& pipeline, int threads);

}  // namespace syrinx
