// Kokoro-82M: phonemes to speech without a loop, an utterance at a time, voices by name or mixed.
// See docs/families/kokoro.md.
#pragma once

#include "families/family.h"

namespace syrinx::kokoro {

/// Loads a directory as hexgrad/Kokoro-82M: config.json, one *.pth, voices/*.pt. Throws LoadError.
std::shared_ptr<const Pipeline> load(const LoadSpec& spec);

}  // namespace syrinx::kokoro
