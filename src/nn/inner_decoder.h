// The small decoder inside of a step of a large one, which makes the codes of a frame after its
// first, one after another: every sequence that yields a step has positions of its own in it, and
// begins anew in the next step. Const after construction.
// E sequences that yield a step, H width, W width of what it is fed.
#pragma once

#include "nn/decoder.h"

namespace syrinx {

class InnerDecoder {
 public:
  /// `positions`: the most of a sequence in a step.
  InnerDecoder(const DecoderConfig& config, const Weights& weights, WeightType type,
               int64_t positions);

  const DecoderConfig& config() const { return decoder_.config(); }
  void move_to(Device device) { decoder_.move_to(device); }
  size_t bytes() const { return decoder_.bytes(); }
  /// Bytes of the cache of `emits` sequences in one step.
  size_t scratch_bytes(int emits) const;

  /// Call k = 1, 2, ... of a step, over x [E or 2E, H], which it overwrites: two rows of each
  /// sequence, side by side, in call 1, one in each later one. Gives the normed last row of each,
  /// [E, H], in the arena. `scratch`, of scratch_bytes(E), is kept between the calls of a step.
  View run(StepContext& ctx, int k, const View& x, const View& scratch) const;

 private:
  Decoder decoder_;
  KvSpec kv_;
  int64_t pages_each_;  // of the cache of a sequence
};

/// Puts two rows per sequence, from [E, W] each, side by side as the input [2E, W] of call 1. f32,
/// in the arena.
View side_by_side(StepContext& ctx, const View& first, const View& second);

}  // namespace syrinx
