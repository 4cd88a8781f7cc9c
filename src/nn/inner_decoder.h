// A small decoder inside a step of a large decoder: it makes the codes of a step one after another,
// either all codes or those after the first. In every step, each sequence has a small sequence in
// the inner decoder, with positions from 0. Const after construction. E: sequences that get codes
// in this step, H: width, W: width of the input.
#pragma once

#include "nn/decoder.h"

namespace syrinx {

class InnerDecoder {
 public:
  /// `positions`: the limit of a sequence's positions in one step.
  InnerDecoder(const DecoderConfig& config, const Weights& weights, WeightType type,
               int64_t positions);

  const DecoderConfig& config() const { return decoder_.config(); }
  void move_to(Device device) { decoder_.move_to(device); }
  size_t bytes() const { return decoder_.bytes(); }
  /// Returns the size in bytes of the cache of `emits` sequences in one step.
  size_t scratch_bytes(int emits) const;

  /// Runs call k = 0, 1, 2, ... of a step over x [E or 2E, H], which it overwrites. In call 1 each
  /// sequence has two consecutive rows, of positions 0 and 1; in other calls one row, of position
  /// k. Call 0 may be left out. Returns the normed last row of each sequence, [E, H] of `type`
  /// (kernels/product_rows.h), in the arena. `scratch`, of scratch_bytes(E), keeps the cache
  /// between the calls of a step.
  View run(StepContext& ctx, int k, const View& x, const View& scratch,
           DType type = DType::kF32) const;

 private:
  Decoder decoder_;
  KvSpec kv_;
  int64_t pages_each_;  // pages of a sequence's cache
};

/// Interleaves two rows per sequence, `first` and `second` [E, W], to the input [2E, W] of call 1.
/// f32, in the arena.
View side_by_side(StepContext& ctx, const View& first, const View& second);

}  // namespace syrinx
