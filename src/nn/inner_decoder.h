// A small decoder inside a step of a large decoder: it makes the codes of a step one after another,
// either all codes or those after the first. In every step, each sequence has a small sequence in
// the inner decoder, with positions from 0. Const after construction. E: sequences that get codes
// in this step, H: width, W: width of the input.
#pragma once

#include <vector>

#include "nn/decoder.h"

namespace syrinx {

class InnerDecoder {
 public:
  /// `positions`: the limit of a sequence's positions in one step.
  InnerDecoder(const DecoderConfig& config, const Weights& weights, WeightType type,
               int64_t positions);
  /// A decoder whose calls have weights of their own: call k has set schedule[k]; set n is loaded
  /// from the scope "n" of `sets`. There is a position for each call.
  InnerDecoder(const DecoderConfig& config, const Weights& sets, WeightType type,
               std::vector<int> schedule);

  const DecoderConfig& config() const { return sets_[0].config(); }
  void move_to(Device device);
  size_t bytes() const;
  /// Returns the size in bytes of the cache of `emits` sequences in one step.
  size_t scratch_bytes(int emits) const;

  /// Runs call k = 0, 1, 2, ... of a step over x [E or 2E, H], which it overwrites. In call 1 each
  /// sequence has two consecutive rows, of positions 0 and 1; in other calls one row, of position
  /// k. Call 0 may be left out. With a schedule, each call has one row, and none may be left out.
  /// Writes the outputs of `head` to out [E, O]. The head reads the last row of each sequence,
  /// normed unless config().final_norm is false. `scratch`, of scratch_bytes(E), keeps the cache
  /// between the calls of a step.
  void run(StepContext& ctx, int k, const View& x, const View& scratch, const PackedLinear& head,
           const View& out) const;

 private:
  std::vector<Decoder> sets_;
  std::vector<int> schedule_;  // index in sets_ for each call; empty: there is one set
  KvSpec kv_;
  int64_t pages_each_;  // pages of a sequence's cache
};

/// Interleaves two rows per sequence, `first` and `second` [E, W], to the input [2E, W] of call 1.
/// f32, in the arena.
View side_by_side(StepContext& ctx, const View& first, const View& second);

}  // namespace syrinx
