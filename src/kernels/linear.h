// out = x W^T + b for weights in f32, bf16, 8 or 4 bits, packed once at load.
// A row's result is the same bits whatever other rows are in the call and however many threads
// work on it. PackedLinear is immutable after pack and may be shared by threads; the calls take
// scratch from the context's arena and allocate nothing once it is warm.
// N rows, I = in(), O = out(); x and outputs are f32.
//
// Relative RMS error of the outputs against f32 with I = 1024 (linear_test): kBF16 0.16 %, kBF16A16
// 0.23 %; for
// Gaussian weights and inputs kQ8 0.60 %, kQ8A8 0.85 %; for both heavy-tailed (Student t, 3 degrees
// of freedom) 1.1 % and 1.5 %. kQ4: 7.3 % and 9.4 %.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/packed_matrix.h"
#include "tensor/context.h"

namespace syrinx {

/// One torch-style linear: weight [O, I] f32 | bf16 | f16; bias [O] of those types, or empty.
/// gain [O] f32 or empty: weights and bias of each output are multiplied by it, rounded to f32.
struct LinearPart {
  View weight;
  View bias = {};
  View gain = {};
};

/// One or several linears of the same input, as the products read them.
class PackedLinear {
 public:
  PackedLinear() = default;
  static PackedLinear pack(const View& weight, WeightType type, const View& bias = {});
  /// Several linears of one input (q, k and v): one pass over x. O is the sum of their outputs.
  static PackedLinear pack(std::span<const LinearPart> parts, WeightType type);
  /// out = silu(gate(x)) * up(x), in one pass; O is the output size of either.
  static PackedLinear pack_gated(const LinearPart& gate, const LinearPart& up, WeightType type);

  /// A copy in the memory of a GPU, for operands there.
  PackedLinear on_device(Device device) const;

  int64_t in() const { return matrix_.k; }
  int64_t out() const { return out_; }
  WeightType type() const { return matrix_.type; }
  bool gated() const { return gated_; }
  bool empty() const { return out_ == 0; }
  Device device() const { return matrix_.data.device(); }
  /// Memory held, weights and biases.
  size_t bytes() const { return matrix_.data.bytes() + bias_.bytes(); }

  /// Output sizes of the parts, in order; each part begins a new panel of the matrix.
  std::span<const int64_t> part_sizes() const { return part_sizes_; }
  const PackedMatrix& matrix() const { return matrix_; }
  /// [16 * panels] f32, or null.
  const float* bias() const { return bias_.empty() ? nullptr : bias_.f32(); }

 private:
  PackedMatrix matrix_;
  Tensor bias_;
  std::vector<int64_t> part_sizes_;
  int64_t out_ = 0;
  bool gated_ = false;
};

/// out [N, O] = x [N, I] W^T + b; parts side by side, in order. out must not overlap x.
void linear(StepContext& ctx, const PackedLinear& w, const View& x, const View& out);

/// out [N, O] += x [N, I] W^T + b: the end of a residual branch.
void linear_add(StepContext& ctx, const PackedLinear& w, const View& x, const View& out);

/// As linear, each part into its own view: outs[i] [N, part_sizes()[i]].
void linear_parts(StepContext& ctx, const PackedLinear& w, const View& x,
                  std::span<const View> outs);

}  // namespace syrinx
