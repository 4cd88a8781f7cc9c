// What a config alone lacks when random weights are measured: a tokenizer, for directories without
// one. It gives every byte its own id.
#pragma once

#include "text/tokenizer.h"

namespace syrinx::qwen3_tts {

/// Ids below kByteIds.
Tokenizer byte_tokenizer();
inline constexpr int kByteIds = 264;

}  // namespace syrinx::qwen3_tts
