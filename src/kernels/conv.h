// 1-D convolutions on channels-last data [time, channels], f32; weights are f32 or bf16, packed at
// load. Only whole windows are computed ("valid"), so the caller provides the left context
// (nn/conv.h). An output row depends only on its window, bit for bit, not on chunks, batches or
// threads. Packed weights are immutable and may be shared. Calls allocate no memory once the arena
// is large enough.
// C input channels, O output channels, K taps, d dilation, s stride.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/packed_matrix.h"
#include "tensor/context.h"

namespace syrinx {

/// One stretch of time in a batched call: the input x [T_in, C] and the output `out` [T_out, O].
struct ConvSegment {
  View x;
  View out;
};

/// A packed convolution with any number of groups. A depthwise convolution (groups == channels) has
/// its own kernel.
class PackedConv1d {
 public:
  PackedConv1d() = default;
  /// Packs weight [O, C / groups, K] f32 | bf16 | f16 (torch's layout) and bias [O]; may be empty.
  static PackedConv1d pack(const View& weight, const View& bias = {}, int64_t groups = 1,
                           WeightType type = WeightType::kF32);

  /// Returns a copy in the memory of a GPU, for inputs and outputs on the GPU.
  PackedConv1d on_device(Device device) const;

  int64_t in() const { return in_; }
  int64_t out() const { return out_; }
  int64_t taps() const { return taps_; }
  int64_t groups() const { return groups_; }
  bool depthwise() const { return groups_ > 1 && groups_ == in_ && groups_ == out_; }
  Device device() const { return depthwise_.empty() ? matrix_.data.device() : depthwise_.device(); }
  size_t bytes() const { return matrix_.data.bytes() + depthwise_.bytes() + bias_.bytes(); }

  /// Returns the matrix [O rounded up per group, K * C / groups]; its column for a tap and a
  /// channel is tap * C / groups + channel. Empty if the convolution is depthwise.
  const PackedMatrix& matrix() const { return matrix_; }
  /// Returns the weights [K, O] f32 of a depthwise convolution.
  const Tensor& depthwise_weight() const { return depthwise_; }
  /// Returns the bias [16 * panels] f32 ([C] if depthwise), or null without a bias.
  const float* bias() const { return bias_.empty() ? nullptr : bias_.f32(); }

 private:
  friend class PackedConvTranspose1d;
  PackedMatrix matrix_;
  Tensor depthwise_, bias_;
  int64_t in_ = 0, out_ = 0, taps_ = 0, groups_ = 1;
};

/// Returns the number of inputs in an output row's window: d * (K - 1) + 1.
inline int64_t conv_window(int64_t taps, int64_t dilation) { return dilation * (taps - 1) + 1; }
/// Returns the number of output rows for T_in inputs: (T_in - window) / s + 1, or 0.
inline int64_t conv_rows(int64_t t_in, int64_t taps, int64_t dilation, int64_t stride) {
  const int64_t window = conv_window(taps, dilation);
  return t_in < window ? 0 : (t_in - window) / stride + 1;
}

/// Computes out[t, o] = b[o] + sum over j, c of w[o, c, j] x[t * s + j * d, c]. T_out of each
/// segment must be conv_rows(T_in, ...). Segments may have different lengths.
void conv1d(StepContext& ctx, const PackedConv1d& w, std::span<const ConvSegment> segments,
            int64_t dilation = 1, int64_t stride = 1);
void conv1d(StepContext& ctx, const PackedConv1d& w, const View& x, const View& out,
            int64_t dilation = 1, int64_t stride = 1);

/// A transposed convolution with stride s, computed as s phases. Output row t is the samples [t *
/// s, t * s + s), which depend on the M = ceil(K / s) input rows t, t + 1, ..., t + M - 1.
class PackedConvTranspose1d {
 public:
  PackedConvTranspose1d() = default;
  /// Packs weight [C, O, K] f32 | bf16 | f16 (torch's layout); bias [O] or empty. groups is 1 or C;
  /// for C the weight is [C, 1, K] (depthwise, O = C).
  static PackedConvTranspose1d pack(const View& weight, int64_t stride, const View& bias = {},
                                    WeightType type = WeightType::kF32, int64_t groups = 1);

  /// Returns a copy in the memory of a GPU, for inputs and outputs on the GPU.
  PackedConvTranspose1d on_device(Device device) const;

  int64_t in() const { return phases_.in(); }
  int64_t out() const { return phases_.out() / stride_; }
  bool depthwise() const { return phases_.groups() > 1; }
  int64_t stride() const { return stride_; }
  int64_t taps() const { return taps_; }
  /// Returns M, the number of input rows on which an output row depends.
  int64_t window() const { return phases_.taps(); }
  size_t bytes() const { return phases_.bytes(); }
  Device device() const { return phases_.device(); }
  const PackedConv1d& phases() const { return phases_; }

 private:
  static PackedConvTranspose1d pack_depthwise(const View& weight, int64_t stride, int64_t window,
                                              const View& bias);
  PackedConv1d phases_;  // weights [s * O, C, M]; if depthwise, s outputs per channel
  int64_t stride_ = 1, taps_ = 0;
};

/// Computes x [T_in, C] -> out [(T_in - M + 1) * s, O] with the stride s. If the first M - 1 rows
/// of x are zeros, `out` is the causal part of torch's conv_transpose1d of the other T rows: its
/// first T * s samples.
void conv_transpose1d(StepContext& ctx, const PackedConvTranspose1d& w,
                      std::span<const ConvSegment> segments);
void conv_transpose1d(StepContext& ctx, const PackedConvTranspose1d& w, const View& x,
                      const View& out);

}  // namespace syrinx
