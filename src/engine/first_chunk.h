// How much audio a first chunk carries: as little as the model allows while the second chunk still
// comes in time, more when it comes late. Learned from how close the second chunks were.
#pragma once

#include <algorithm>

namespace syrinx {

class FirstChunk {
 public:
  /// Bounds in frames: the initial and the steady chunk of the edge.
  FirstChunk(int initial, int steady) : least_(initial), most_(std::max(initial, steady)) {}

  /// Frames that the next stream's first chunk should have.
  int frames() const { return static_cast<int>(std::min(frames_ + least_, most_ * 1.0)); }

  /// A second chunk arrived with `slack_s` to spare (negative: late), `first_s` seconds of audio
  /// after the first had been delivered. Late ones count at once, comfortable ones slowly.
  void second_chunk(double slack_s, double first_s) {
    if (slack_s < kNarrow * first_s) {
      frames_ = std::min(frames_ + 1, most_ - least_ * 1.0);
    } else if (slack_s > kComfortable * first_s) {
      frames_ = std::max(0.0, frames_ - kShrink);
    }
  }

 private:
  static constexpr double kNarrow = 0.2, kComfortable = 0.5, kShrink = 0.1;
  int least_, most_;
  double frames_ = 0;  // beyond the least
};

}  // namespace syrinx
