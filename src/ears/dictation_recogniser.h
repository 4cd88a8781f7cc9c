// Uses models that answer questions about recordings as recognisers. Each stretch of a recording
// becomes one request that asks the model to transcribe it (Pipeline::dictation()). A stretch is at
// most as long as the model accepts. For live recordings, and for times of segments, it is also at
// most 30 s long. A recording is cut at its quietest places, regardless of the pieces in which it
// arrives. Stretches of pure silence are skipped. Stretches are transcribed one after another,
// without the text of other stretches; each becomes a segment. Times of words are not reported.
#pragma once

#include <memory>

#include "ears/recogniser.h"
#include "engine/engine.h"

namespace syrinx {

/// Makes a recogniser of an engine's model. Returns null if the model does not transcribe
/// recordings.
std::shared_ptr<Recogniser> dictation_recogniser(std::shared_ptr<Engine> engine);

/// Returns how many of `samples` (at kHearingRate) belong to the next stretch, at most `most`. The
/// stretch ends in the middle of the quietest 0.2 s of its last third.
size_t quietest_cut(std::span<const float> samples, size_t most);

/// Returns where the model's authors cut: within `reach` samples of `at`, at the smallest sample of
/// the first 0.1 s with the smallest sum of |x|. Source: qwen_asr/inference/utils.py,
/// split_audio_into_chunks().
size_t quietest_near(std::span<const float> samples, size_t at, size_t reach);

}  // namespace syrinx
