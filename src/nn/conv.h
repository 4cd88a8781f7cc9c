// Streaming convolutions: each stream keeps the inputs that later outputs need. Thus a stream has
// the same bits for any division into chunks. By default they are causal. With `ahead`, an output
// is computed once the inputs after it have arrived; the job marked as the last one returns the
// remaining outputs. Layers are const after construction and shared. Each layer and stream has one
// ConvState, used by one call at a time. A call processes many streams (jobs) at once, and
// allocates nothing once the arena is large enough. T input rows of a job, C input channels, O
// output channels; all f32, channels last.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/conv.h"

namespace syrinx {

/// The state of one stream in one layer: its past inputs.
class ConvState {
 public:
  ConvState() = default;
  /// Makes space for `rows` past rows of `channels`. At the beginning, `padding` of them are in
  /// use, as zeros.
  ConvState(int64_t rows, int64_t channels, int64_t padding, Device device = Device::kCpu)
      : past(Shape{rows, channels}, DType::kF32, device), held(padding) {}
  ConvState clone() const;

  Tensor past;        ///< [rows, C], oldest first
  int64_t held = 0;   ///< number of rows in use
  bool fresh = true;  ///< no input has been read yet
};

/// One stream's part of a batched call: x [T, C] -> out [rows(state, T, last), O].
struct ConvJob {
  View x;
  ConvState* state = nullptr;
  View out;
  bool last = false;  ///< whether no input follows: zeros then replace later inputs
};

/// The values in place of inputs before the first one: zeros, copies of the first input, or the
/// inputs after the first one, mirrored. For kReflect, the first call needs more inputs than that.
enum class ConvPad : uint8_t { kZero, kReplicate, kReflect };

/// The settings of a convolution, without its weights.
struct CausalConv1dOptions {
  int64_t dilation = 1, stride = 1, groups = 1;
  /// number of later inputs on which an output depends: the right padding
  int64_t ahead = 0;
  ConvPad pad = ConvPad::kZero;
  WeightType type = WeightType::kF32;
};

/// Conv1d padded on the left by window - stride - ahead and on the right by `ahead`. T inputs yield
/// T / stride rows. Without `ahead` it is causal. If `ahead` is half of window - 1, it is a "same"
/// convolution whose outputs lag by that many inputs.
class CausalConv1d {
 public:
  CausalConv1d() = default;
  /// weight [O, C / groups, K]; bias [O] or empty; the window must be at least stride + ahead.
  CausalConv1d(const View& weight, const View& bias, const CausalConv1dOptions& options = {});

  ConvState open() const;
  /// Opens a stream whose past is in `memory` [past_rows(), in()], which holds zeros.
  ConvState open(Tensor memory) const;
  /// Returns how many output rows the next T inputs yield. With stride > 1, inputs that do not fill
  /// a stride wait for the next call.
  int64_t rows(const ConvState& state, int64_t t, bool last = false) const;
  /// Runs the jobs, with each stream at most once. `slope`: slope of a leaky ReLU of the inputs,
  /// always the same for a stream; 1: no ReLU.
  void run(StepContext& ctx, std::span<const ConvJob> jobs, float slope = 1) const;
  void run(StepContext& ctx, const View& x, ConvState& state, const View& out) const;

  /// Returns the number of past rows that a state has space for.
  int64_t past_rows() const { return window_ - 1; }
  int64_t in() const { return packed_.in(); }
  int64_t out() const { return packed_.out(); }
  int64_t ahead() const { return options_.ahead; }
  size_t bytes() const { return packed_.bytes(); }
  /// Moves the weights to a GPU. States opened afterwards are on the GPU, too.
  void move_to(Device device) { packed_ = packed_.on_device(device); }
  Device device() const { return packed_.device(); }

 private:
  void pad_front(StepContext& ctx, const ConvJob& job) const;

  PackedConv1d packed_;
  CausalConv1dOptions options_;
  int64_t window_ = 1;
};

/// The states of one stream in many layers, whose pasts share one allocation: a GPU allocates and
/// copies it as fast as that of one layer.
class ConvStates {
 public:
  ConvStates() = default;
  /// Opens a state for each of the layers, all on one device.
  explicit ConvStates(std::span<const CausalConv1d* const> layers);
  ConvStates clone() const;
  std::span<ConvState> all() { return states_; }
  /// Returns the memory of all pasts, in the order of the layers.
  View memory() const { return memory_ ? memory_->view() : View(); }
  /// Returns states like these whose pasts are in `memory`, which has the shape of memory().
  std::vector<ConvState> in(const View& memory) const;

 private:
  std::shared_ptr<Tensor> memory_;
  std::vector<ConvState> states_;
};

/// ConvTranspose1d shortened to T * stride rows. Without `crop`, the last K - stride rows are
/// removed, as in causal codecs. With `crop` (torch's padding), `crop` rows are removed at the
/// front: the first call returns `crop` rows less, and the last call `crop` rows more.
class CausalConvTranspose1d {
 public:
  CausalConvTranspose1d() = default;
  /// weight [C, O / groups, K]; bias [O] or empty; crop in [0, stride]; groups is 1 or C
  /// (depthwise).
  CausalConvTranspose1d(const View& weight, const View& bias, int64_t stride,
                        WeightType type = WeightType::kF32, int64_t crop = 0, int64_t groups = 1);

  ConvState open() const;
  int64_t rows(const ConvState& state, int64_t t, bool last = false) const;
  void run(StepContext& ctx, std::span<const ConvJob> jobs) const;
  void run(StepContext& ctx, const View& x, ConvState& state, const View& out) const;

  int64_t in() const { return packed_.in(); }
  int64_t out() const { return packed_.out(); }
  int64_t stride() const { return packed_.stride(); }
  int64_t crop() const { return crop_; }
  size_t bytes() const { return packed_.bytes(); }
  void move_to(Device device) { packed_ = packed_.on_device(device); }
  Device device() const { return packed_.device(); }

 private:
  PackedConvTranspose1d packed_;
  int64_t crop_ = 0;
};

}  // namespace syrinx
