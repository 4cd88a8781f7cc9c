// The codes of a frame after its first, made one after another by a small decoder, which starts
// again in every step: it reads the hidden row of the large decoder and code 0, then each sampled
// code. Const after construction. E: sequences that yield a step. H, D: widths of the large and the
// small decoder. C: codes per frame.
#pragma once

#include <vector>

#include "nn/inner_decoder.h"
#include "nn/layers.h"

namespace syrinx {

/// Parts of InnerCodes. Tables are views of stored weights, which must outlive the InnerCodes.
struct InnerCodesParts {
  InnerDecoder decoder;
  std::vector<View> tables;         ///< [V, H] for code 0, 1, ...; or a single table for all codes
  std::vector<PackedLinear> heads;  ///< for code 1, 2, ...; or a single head for all codes
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
  size_t bytes() const;
  /// Moves the weights; `moved` owns the tables on the device.
  void move_to(Device device, MovedTables& moved);

  /// Returns the logits [E, V] of code k >= 1. codes i32 [E, C]. `scratch` is kept between the
  /// calls of a step, k = 1, 2, ...
  void logits(StepContext& ctx, int k, const View& hidden, const View& codes, const View& scratch,
              const View& out) const;

 private:
  View inputs(StepContext& ctx, int k, const View& hidden, const View& codes) const;

  InnerCodesParts parts_;
};

}  // namespace syrinx
