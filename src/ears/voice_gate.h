// Selects the stretches of a recording that a recogniser processes: those in which Silero's
// detector finds a voice. The recogniser does not receive noise and music, because it would spend
// time on them and invent words. One thread at a time.
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
  /// Returns whether samples [from, to) contain at least 128 ms of speech (less than a syllable).
  /// The samples must already have been added.
  bool speaks(int64_t from, int64_t to) const;

 private:
  SileroStream stream_;
  std::vector<bool> voices_;  // whether each chunk has a voice
};

}  // namespace syrinx
