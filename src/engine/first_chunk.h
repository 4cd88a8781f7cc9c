// Learns the size of first chunks. The size is as small as the model allows while second chunks
// come in time. It grows after second chunks that were late or nearly late.
#pragma once

#include <algorithm>

namespace syrinx {

class FirstChunk {
 public:
  /// `initial`, `steady`: the smallest and largest size, in frames, from the edge's chunk policy.
  FirstChunk(int initial, int steady) : least_(initial), most_(std::max(initial, steady)) {}

  /// Returns the size of the next stream's first chunk, in frames.
  int frames() const { return static_cast<int>(std::min(frames_ + least_, most_ * 1.0)); }

  /// Records the listener's `slack_s` when the second chunk arrived (negative: late). `first_s`:
  /// audio of the first chunk. A late chunk raises the size at once; an early one lowers it slowly.
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
  double frames_ = 0;  // learned part of the size above least_, in frames
};

}  // namespace syrinx
