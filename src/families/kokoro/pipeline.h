// Kokoro-82M: turns phonemes into speech without an autoregressive loop, one
// utterance at a time. A request names a voice or a mix of voices. See
// docs/families/kokoro.md.
#pragma once

#include "families/family.h"

namespace syrinx::kokoro {

/// Loads a directory with the files of hexgrad/Kokoro-82M: config.json, one *.pth, voices/*.pt.
/// Throws LoadError.
std::shared_ptr<const Pipeline> load(const LoadSpec& spec);

}  // namespace syrinx::kokoro
