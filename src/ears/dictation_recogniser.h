// Uses models that answer questions about recordings as recognisers. Each stretch of a recording
// becomes one request that asks the model to transcribe it (Pipeline::dictation()); a stretch is at
// most as long as the model accepts. A recording is cut at its quietest places, no matter in which
// pieces it arrives; stretches of pure silence are skipped. Stretches are transcribed one after
// another, each without the text of the others, and each becomes a segment. Times of words and
// partial hypotheses are not reported.
#pragma once

#include <memory>

#include "ears/recogniser.h"
#include "engine/engine.h"

namespace syrinx {

/// Makes a recogniser of an engine's model; null if the model does not
/// transcribe recordings.
std::shared_ptr<Recogniser> dictation_recogniser(std::shared_ptr<Engine> engine);

/// Returns how many of `samples` (at kHearingRate) the next stretch takes, at most `most`: it ends
/// in the middle of the quietest 0.2 s of its last third.
size_t quietest_cut(std::span<const float> samples, size_t most);

}  // namespace syrinx
