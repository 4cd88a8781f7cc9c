// Uses models that answer questions about recordings as recognisers. Each stretch of a recording
// becomes one request that asks the model to transcribe it (Pipeline::dictation()). A stretch is at
// most as long as the model accepts, and 30 s if the recording is live or times of segments are
// read. A recording is cut at its quietest places, no matter in which pieces it arrives; stretches
// of pure silence are skipped. Stretches are transcribed one after another, each without the text
// of the others, and each becomes a segment. Times of words are not reported.
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

/// Does the same by the rule of the model's authors, which cuts at most `reach` samples before or
/// after `at`: at the lowest sample of the 0.1 s with the least sum of |x|, the first of equal
/// ones. Source: qwen_asr/inference/utils.py, split_audio_into_chunks().
size_t quietest_near(std::span<const float> samples, size_t at, size_t reach);

}  // namespace syrinx
