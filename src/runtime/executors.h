// The executors of a model that is alone on its machine.
#pragma once

#include "engine/engine.h"
#include "model/pipeline.h"

namespace syrinx {

/// As executors_alone() of runtime.h. With a few threads, all of them run one batch also where a
/// client waits for one large batch: a chunk that is a whole utterance, or a recogniser's encoder.
Executors executors_for(const Pipeline& pipeline, int threads);

}  // namespace syrinx
