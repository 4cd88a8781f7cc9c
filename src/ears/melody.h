// Measures how a speaker's pitch ends: statements end lower than the rest of their pitch, yes-no
// questions end higher. The pitch of each 40 ms is the lag with the largest normalized
// autocorrelation (65 to 440 Hz). The median pitch of the last 120 ms with a pitch is compared with
// the median of all earlier frames. Rules without a model: creaky voice, music and voices in noise
// are misread. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace syrinx {

class Melody {
 public:
  /// Adds the next 10 ms at kHearingRate.
  void hear(std::span<const int16_t> frame);
  /// Returns the semitones from the median pitch of the turn to the pitch of its end; nothing if
  /// too few frames had a pitch.
  std::optional<double> ending() const;
  /// Returns whether the pitch ended as low as that of a statement.
  bool fell() const;
  void reset();

 private:
  std::optional<float> pitch() const;

  std::vector<float> recent_;  // the last 40 ms at a quarter of the rate
  std::vector<float> said_;    // semitones above 100 Hz of frames with a pitch, newest last
};

}  // namespace syrinx
