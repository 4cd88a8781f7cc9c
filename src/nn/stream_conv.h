// Convolutions with zeros on both sides ("same" padding), fed in pieces: what a layer could not
// finish yet waits in its state, so its output comes late by its right context, and a stream cut
// into pieces anywhere gives the bits of one whole call. Nothing is computed twice.
// Layers are const after construction and shared; one state per layer and stream, used by one call
// at a time. One stream a call: T rows in, T' rows out. All f32, channels last; C in, O out.
#pragma once

#include <vector>

#include "kernels/conv.h"
#include "nn/conv.h"

namespace syrinx {

struct StreamConv1dOptions {
  int64_t dilation = 1, stride = 1;
  int64_t left = 0, right = 0;  ///< zeros before the first and after the last row
  WeightType type = WeightType::kF32;
};

class StreamConv1d {
 public:
  StreamConv1d() = default;
  /// weight [O, C, K], bias [O] or empty.
  StreamConv1d(const View& weight, const View& bias, const StreamConv1dOptions& options);

  ConvState open() const;
  /// Takes x [T, C]; `last`: nothing follows. Returns the rows [T', O] that became certain, in the
  /// arena; T' may be 0.
  View run(StepContext& ctx, const View& x, bool last, ConvState& state) const;
  /// Rows that are certain once `rows` have come in and more may follow.
  int64_t certain(int64_t rows) const;

  int64_t out() const { return packed_.out(); }
  size_t bytes() const { return packed_.bytes(); }

 private:
  PackedConv1d packed_;
  StreamConv1dOptions options_;
  int64_t window_ = 1;
};

/// torch's conv_transpose1d with taps K = stride + 2 pad: T rows give T * stride.
class StreamConvTranspose1d {
 public:
  struct State {
    ConvState conv;
    int64_t skip = 0;  ///< output rows that the padding cuts off at the front
  };

  StreamConvTranspose1d() = default;
  /// weight [C, O, K], bias [O] or empty.
  StreamConvTranspose1d(const View& weight, const View& bias, int64_t stride,
                        WeightType type = WeightType::kF32);

  State open() const;
  View run(StepContext& ctx, const View& x, bool last, State& state) const;
  int64_t certain(int64_t rows) const;

  size_t bytes() const { return packed_.bytes(); }

 private:
  PackedConvTranspose1d packed_;
  int64_t pad_ = 0;
};

/// Rows that wait until their partners of a slower branch have come. Grows as needed.
class RowQueue {
 public:
  explicit RowQueue(int64_t width = 0) : width_(width) {}
  int64_t rows() const { return static_cast<int64_t>(values_.size()) / (width_ ? width_ : 1); }
  int64_t width() const { return width_; }
  void push(const View& x);
  /// The oldest `count` rows, moved into the arena.
  View pop(StepContext& ctx, int64_t count);
  /// x += the oldest rows of the queue, which leave it. x [T, width], T <= rows().
  void pop_into_sum(const View& x);

 private:
  void drop(int64_t count);
  int64_t width_;
  std::vector<float> values_;
};

}  // namespace syrinx
