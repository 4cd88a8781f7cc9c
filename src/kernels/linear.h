// out = x W^T + b for weights in f32, bf16, 8 or 4 bits, packed once at load.
// A row's result has the same bits for any other rows in the call and any number of threads.
// PackedLinear is immutable after packing, and threads may share it. Calls use scratch memory of
// the context's arena, and allocate nothing once the arena is large enough.
// N rows, I = in(), O = out(); x and outputs are f32, on a GPU also bf16 (product_rows.h).
//
// Relative RMS error of the outputs against f32 with I = 1024 (linear_test): kBF16 0.16 %, kBF16A16
// 0.23 %. For Gaussian weights and inputs: kQ8 0.60 %, kQ8A8 0.85 %, kQ4 7.3 %. For heavy-tailed
// ones (Student t, 3 degrees of freedom): kQ8 1.1 %, kQ8A8 1.5 %, kQ4 9.4 %.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/packed_matrix.h"
#include "tensor/context.h"

namespace syrinx {

/// One linear as in torch: weight [O, I] f32 | bf16 | f16; bias [O] or empty. Unless gain [O] f32
/// is empty, each output's weights and bias are multiplied by its gain and rounded to f32.
struct LinearPart {
  View weight;
  View bias = {};
  View gain = {};
};

/// One or several packed linears with the same input.
class PackedLinear {
 public:
  PackedLinear() = default;
  static PackedLinear pack(const View& weight, WeightType type, const View& bias = {});
  /// Packs several linears with one input (q, k and v), so that one pass reads x. O is the sum of
  /// their output sizes.
  static PackedLinear pack(std::span<const LinearPart> parts, WeightType type);
  /// Packs the two linears of a gate: out = silu(gate(x)) * up(x), in one pass. O is the output
  /// size of `gate`, which equals that of `up`.
  static PackedLinear pack_gated(const LinearPart& gate, const LinearPart& up, WeightType type);

  /// Returns a copy in the memory of a GPU, for inputs and outputs on the GPU.
  PackedLinear on_device(Device device) const;

  int64_t in() const { return matrix_.k; }
  int64_t out() const { return out_; }
  WeightType type() const { return matrix_.type; }
  bool gated() const { return gated_; }
  bool empty() const { return out_ == 0; }
  Device device() const { return matrix_.data.device(); }
  /// Returns the bytes of weights and biases.
  size_t bytes() const { return matrix_.data.bytes() + bias_.bytes(); }

  /// Returns the output sizes of the parts, in order; each part begins a new panel of the matrix.
  std::span<const int64_t> part_sizes() const { return part_sizes_; }
  const PackedMatrix& matrix() const { return matrix_; }
  /// Returns the bias [16 * panels] f32, or null without a bias.
  const float* bias() const { return bias_.empty() ? nullptr : bias_.f32(); }

 private:
  PackedMatrix matrix_;
  Tensor bias_;
  std::vector<int64_t> part_sizes_;
  int64_t out_ = 0;
  bool gated_ = false;
};

/// Computes out [N, O] = x [N, I] W^T + b. The outputs of the parts follow each other in order. out
/// must not overlap x.
void linear(StepContext& ctx, const PackedLinear& w, const View& x, const View& out);

/// Computes out [N, O] += x [N, I] W^T + b, as at the end of a residual branch.
void linear_add(StepContext& ctx, const PackedLinear& w, const View& x, const View& out);

/// Computes out [N, O] = rms_norm(x) W^T + b (kernels/norm.h). weight [I] f32. On a GPU, up to 64
/// rows need one launch, with the same bits.
void linear_normed(StepContext& ctx, const PackedLinear& w, const View& x, const View& weight,
                   float eps, const View& out);

/// Computes a linear and writes part i's output to its own view outs[i] [N, part_sizes()[i]].
void linear_parts(StepContext& ctx, const PackedLinear& w, const View& x,
                  std::span<const View> outs);

}  // namespace syrinx
