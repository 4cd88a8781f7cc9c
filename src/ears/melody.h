// Measures how a speaker's pitch ends. Statements end lower than their mean pitch, yes-no questions
// end higher. The pitch of each 40 ms is the lag with the largest normalized autocorrelation (65 to
// 440 Hz). The median pitch of the last 120 ms with a pitch is compared with the median of all
// earlier frames. These are rules without a model: creaky voice, music and voices in noise give
// wrong results. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace syrinx {

class Melody {
 public:
  /// Adds the next 10 ms of samples at kHearingRate.
  void hear(std::span<const int16_t> frame);
  /// Returns the semitones between the median pitch of the turn and the pitch of its end. Returns
  /// nothing if too few frames have a pitch.
  std::optional<double> ending() const;
  /// Returns whether the pitch ended as low as in a statement.
  bool fell() const;
  void reset();

 private:
  std::optional<float> pitch() const;

  std::vector<float> recent_;  // samples of the last 40 ms, at a quarter of kHearingRate
  std::vector<float> said_;    // pitch of the newest frames, in semitones above 100 Hz
};

}  // namespace syrinx
