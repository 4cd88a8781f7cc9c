// Selects the stretches of a recording that a recogniser processes: those in which Silero's
// detector finds a voice. Noise and music never reach the recogniser, so they cost it no time and
// it makes up no words for them. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ears/silero.h"

namespace syrinx {

class VoiceGate {
 public:
  explicit VoiceGate(std::shared_ptr<const SileroVad> model) : stream_(std::move(model)) {}

  /// Adds samples, at kHearingRate.
  void hear(std::span<const float> samples);
  /// Returns whether samples [from, to), all added before, hold at least 128 ms of speech (less
  /// than a syllable).
  bool speaks(int64_t from, int64_t to) const;

 private:
  SileroStream stream_;
  std::vector<bool> voices_;  // for each chunk, whether it has a voice
};

}  // namespace syrinx
