// Models that answer questions about recordings as recognisers: each stretch of a recording, as
// long as the model hears at once, is a request that writes it down (Pipeline::dictation()). A
// recording is cut where it is quietest, whatever the pieces that it comes in; what is silence all
// through is not asked about. Stretches are asked about one after another and know nothing of each
// other; each becomes a segment. Times of words and partial hypotheses are not reported.
#pragma once

#include <memory>

#include "ears/recogniser.h"
#include "engine/engine.h"

namespace syrinx {

/// Makes a recogniser of an engine's model; null where it does not write recordings down.
std::shared_ptr<Recogniser> dictation_recogniser(std::shared_ptr<Engine> engine);

/// Where to end the stretch that begins with `samples`, at kHearingRate, of which it may have
/// `most`: in the middle of the quietest fifth of a second of its last third.
size_t quietest_cut(std::span<const float> samples, size_t most);

}  // namespace syrinx
