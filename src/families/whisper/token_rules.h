// The authors' rules for the next id. Some ids are never allowed. Ids that have no text cannot
// begin a text. Timestamps follow a grammar: a segment is a timestamp, text and a timestamp; the
// next segment or the end follows at once. Timestamps never decrease, and no segment has length 0.
// If all timestamps together are likelier than the likeliest text id, a timestamp must follow.
// Source: whisper:whisper/decoding.py, the LogitFilters. Pure functions; any thread. V:
// vocabulary.
#pragma once

#include <cstdint>
#include <span>

#include "families/whisper/config.h"

namespace syrinx::whisper {

/// Sets the logits [V] of ids that must not follow `sampled` to minus infinity. `sampled`: ids of
/// this window so far.
void apply_rules(const Generation& g, bool timestamps, std::span<const int32_t> sampled,
                 std::span<float> logits);

/// Allows only the ids of languages.
void allow_languages(const Generation& g, std::span<float> logits);

/// Returns e^logits[id] / sum of all e^logits.
float probability(std::span<const float> logits, int32_t id);

}  // namespace syrinx::whisper
