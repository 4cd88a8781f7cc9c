// Which stretches of a recording a recogniser looks at: those with a voice, as Silero's detector
// hears it. Noise and music cost nothing behind it, and no words are made up for them. One thread
// at a time.
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

  /// The next samples, at kHearingRate.
  void hear(std::span<const float> samples);
  /// Whether there are 128 ms of speech, less than a syllable, between two samples that it has
  /// heard, counted from the first.
  bool speaks(int64_t from, int64_t to) const;

 private:
  SileroStream stream_;
  std::vector<bool> voices_;  // of each chunk
};

}  // namespace syrinx
