// The authors' rules for the next id: ids that are never allowed, ids that may not begin a text
// because they have none, and the grammar of timestamps. A segment is a timestamp, text, a
// timestamp; the next segment or the end follows at once. Timestamps never decrease, and a segment
// is never of length 0. If all timestamps together are likelier than the likeliest text id, a
// timestamp must follow.
// Source: whisper:whisper/decoding.py, the LogitFilters. Pure; any thread. V vocabulary.
#pragma once

#include <cstdint>
#include <span>

#include "families/whisper/config.h"

namespace syrinx::whisper {

/// Sets the logits [V] of ids that may not follow `sampled`, the ids of this window so far, to
/// minus infinity.
void apply_rules(const Generation& g, bool timestamps, std::span<const int32_t> sampled,
                 std::span<float> logits);

/// Allows only the ids of languages.
void allow_languages(const Generation& g, std::span<float> logits);

/// Returns e^logits[id] / sum of all e^logits.
float probability(std::span<const float> logits, int32_t id);

}  // namespace syrinx::whisper
