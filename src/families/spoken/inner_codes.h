// Makes the codes of a frame, or those after code 0, one after another with a small decoder. In
// every step it begins anew: it reads the hidden row of the large decoder, then each sampled code.
// Const after construction. E: sequences that yield a step. H: width of the large decoder. D: width
// of the small one. C: codes per frame.
#pragma once

#include <vector>

#include "nn/inner_decoder.h"
#include "nn/layers.h"

namespace syrinx {

/// Parts of InnerCodes. Tables are views of stored weights, which must outlive the InnerCodes.
struct InnerCodesParts {
  InnerDecoder decoder;
  std::vector<View> tables;         ///< [V, H] for code 0, 1, ...; or a single table for all codes
  std::vector<PackedLinear> heads;  ///< one per code made, the last code's last; or one for all
  PackedLinear projection = {};     ///< H -> D, applied to each input row; empty if H equals D
  Tensor own_table = {};            ///< owner of a table that is not a view of stored weights
};

/// The inner decoder with its weights.
class InnerCodes {
 public:
  explicit InnerCodes(InnerCodesParts parts) : parts_(std::move(parts)) {}

  const std::vector<View>& tables() const { return parts_.tables; }
  /// Returns the size of each head.
  std::vector<int> vocab() const;
  size_t scratch_bytes(int emits) const { return parts_.decoder.scratch_bytes(emits); }
  /// Returns the bytes of the weights, without the tables.
  size_t bytes() const {
    return weight_bytes(parts_.decoder, parts_.projection, parts_.own_table, parts_.heads);
  }
  /// Moves the weights to a device. `place` then owns the copies of the tables.
  void move_to(Device device, WeightPlace& place);

  /// Writes the logits of code k to out [E, V]. codes i32 [E, C]: those before k are sampled. All
  /// calls of a step, with k ascending by 1, need the same `scratch`.
  void logits(StepContext& ctx, int k, const View& hidden, const View& codes, const View& scratch,
              const View& out) const;

 private:
  View inputs(StepContext& ctx, int k, const View& hidden, const View& codes) const;

  InnerCodesParts parts_;
};

}  // namespace syrinx
