// How a speaker's pitch ends: the end of a statement lies below the rest of it, that
// of a question that asks for yes or no above. The pitch of 40 ms is the lag at which they are most
// like themselves (normalized autocorrelation, 65 to 440 Hz); the end is the median of the last 120
// ms with a pitch, held against that of all before. Rules, no model: creaks, music and voices in
// noise are misread. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace syrinx {

class Melody {
 public:
  /// The next 10 ms at kHearingRate.
  void hear(std::span<const int16_t> frame);
  /// Semitones from the pitch of what was said to that of its end; nothing: too little had a pitch.
  std::optional<double> ending() const;
  /// Whether it ended as a statement does.
  bool fell() const;
  void reset();

 private:
  std::optional<float> pitch() const;

  std::vector<float> recent_;  // the last 40 ms at a quarter of the rate
  std::vector<float> said_;    // semitones above 100 Hz of frames with a pitch, newest last
};

}  // namespace syrinx
