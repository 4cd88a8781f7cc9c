// The executors of a model that does not share its machine with other models.
#pragma once

#include "engine/engine.h"
#include "model/pipeline.h"

namespace syrinx {

/// Returns what executors_alone() of runtime.h returns, with one exception. If the threads are few,
/// all of them run one batch also if a client waits for a large batch: a chunk that is a whole
/// utterance, or a recogniser's encoder.
Executors executors_for(const Pipeline& pipeline, int threads);

}  // namespace syrinx
