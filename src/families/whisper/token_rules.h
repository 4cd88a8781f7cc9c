// Which ids may come next, as the authors decide it: ids that are never written, none at the
// beginning that would write nothing, and with timestamps their grammar. A segment is a timestamp,
// text, a timestamp; the next one follows at once, or the end. Timestamps never fall, a segment
// lasts, and where all timestamps together are likelier than any text, one of them comes.
// Source: whisper:whisper/decoding.py, the LogitFilters. Pure; any thread. V vocabulary.
#pragma once

#include <cstdint>
#include <span>

#include "families/whisper/config.h"

namespace syrinx::whisper {

/// Sets the logits [V] of ids that may not come after `sampled` (what was drawn in this window) to
/// minus infinity.
void apply_rules(const Generation& g, bool timestamps, std::span<const int32_t> sampled,
                 std::span<float> logits);

/// Only a language may come.
void allow_languages(const Generation& g, std::span<float> logits);

/// e^logits[id] / sum of all.
float probability(std::span<const float> logits, int32_t id);

}  // namespace syrinx::whisper
