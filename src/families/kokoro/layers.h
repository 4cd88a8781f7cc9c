// The layers of Kokoro's networks, which process whole utterances. Convolutions read zeros beyond
// both ends, LSTMs run both ways, and AdaIN normalises each channel over the whole time. Const
// after construction, shared by threads. Every function computes one utterance, so its bits do not
// depend on other requests. Layers that have move_to() run on the device of their weights; a style
// is always in host memory. T is the number of rows, C the number of channels; activations are f32
// [T, C]. Source: kokoro 0.9.4, kokoro/modules.py and kokoro/istftnet.py.
#pragma once

#include <vector>

#include "io/weights.h"
#include "kernels/conv.h"
#include "kernels/linear.h"
#include "nn/lstm.h"

namespace syrinx::kokoro {

inline constexpr float kNormEps = 1e-5f;

/// Takes an f32 array [rows, columns] from the arena.
View take_rows(StepContext& ctx, int64_t rows, int64_t columns);

/// A convolution that is padded with zeros on both sides.
class PaddedConv {
 public:
  struct Options {
    int64_t taps = 3, dilation = 1, stride = 1;
    int64_t pad = -1;  ///< zeros on each side; -1: the output has as many rows as the input
    bool bias = true;
    bool normed = true;  ///< the file stores the weight in two parts (weight normalisation)
    WeightType type = WeightType::kF32;
  };
  PaddedConv() = default;
  /// Loads weight [out, in, taps] and bias [out].
  PaddedConv(const Weights& weights, int64_t in, int64_t out, const Options& options);

  int64_t in() const { return conv_.in(); }
  /// Allocates an array (a "room") for T rows with zeros around them. The caller writes the rows
  /// through inner().
  View room(StepContext& ctx, int64_t rows) const;
  View inner(const View& room) const { return room.slice(pad_, room.shape[0] - pad_); }
  /// Returns a room of this convolution as a part of `wider`, which was made for a convolution with
  /// at least as many zeros.
  View room_in(const View& wider, int64_t rows) const;
  /// Convolves a room from room() whose rows the caller has filled.
  View run_room(StepContext& ctx, const View& room) const;
  /// Convolves a room and adds the result to `out`. The stride must be 1.
  void add_room(StepContext& ctx, const View& room, const View& out) const;
  View run(StepContext& ctx, const View& x) const;
  /// Moves the weights to a GPU.
  void move_to(Device device) { conv_ = conv_.on_device(device); }
  Device device() const { return conv_.device(); }
  size_t bytes() const { return conv_.bytes(); }

 private:
  PackedConv1d conv_;
  int64_t pad_ = 0, dilation_ = 1, stride_ = 1;
};

/// torch's ConvTranspose1d with `stride` output rows for each input row: removes `crop` rows in
/// front, and all further surplus rows at the end.
class CroppedConvTranspose {
 public:
  CroppedConvTranspose() = default;
  /// Loads the normalised weight [in, out / groups, taps] and bias [out].
  CroppedConvTranspose(const Weights& weights, int64_t in, int64_t out, int64_t taps,
                       int64_t stride, int64_t crop, int64_t groups, WeightType type);
  /// Runs the convolution. `before`: number of uninitialised rows to allocate before the output.
  View run(StepContext& ctx, const View& x, int64_t before = 0) const;
  /// Moves the weights to a GPU.
  void move_to(Device device) { conv_ = conv_.on_device(device); }
  size_t bytes() const { return conv_.bytes(); }

 private:
  PackedConvTranspose1d conv_;
  int64_t crop_ = 0;
};

/// A bidirectional LSTM.
class BiLstm {
 public:
  BiLstm() = default;
  /// `hidden`: width of each direction's state.
  BiLstm(const Weights& weights, int64_t in, int64_t hidden)
      : ahead_(weights, "_l0", in, hidden), back_(weights, "_l0_reverse", in, hidden) {}
  /// Computes x [T, I] -> out [T, 2 hidden]: states of the forward, then of the backward pass.
  void run(StepContext& ctx, const View& x, const View& out) const;
  size_t bytes() const { return ahead_.bytes() + back_.bytes(); }

 private:
  Lstm ahead_, back_;
};

/// The factors and summands [C] of each channel.
struct Affine {
  View factor, summand;
};
/// Computes (1 + gamma, beta), where (gamma, beta) = fc(style); `fc` has 2 C outputs. All on the
/// CPU.
Affine style_affine(StepContext& ctx, const PackedLinear& fc, const View& style);

/// Normalises each channel over all rows, then scales it by the style. Runs on the device of the
/// rows; its small linear runs on the CPU.
class AdaIn {
 public:
  AdaIn() = default;
  /// Loads fc and, if the file has them, norm.weight and norm.bias [C].
  AdaIn(const Weights& weights, int64_t style, int64_t channels);
  /// Computes AdaIN of x [T, C] into out [T, C]; out may be x.
  void operator()(StepContext& ctx, const View& x, const View& style, const View& out) const;
  /// Computes the AdaIN, then Snake with alpha [C].
  void snaked(StepContext& ctx, const View& x, const View& style, const View& alpha,
              const View& inv_alpha, const View& out) const;
  size_t bytes() const { return fc_.bytes(); }

 private:
  Affine affine(StepContext& ctx, const View& x, const View& style) const;

  PackedLinear fc_;
  Tensor weight_, bias_;
};

/// AdainResBlk1d: two convolutions of 3 taps, and a shortcut around them. May double the rows.
class StyledBlock {
 public:
  StyledBlock() = default;
  StyledBlock(const Weights& weights, int64_t in, int64_t out, int64_t style, bool doubles,
              WeightType type);
  /// Computes x [T, in] -> [T or 2 T, out].
  View run(StepContext& ctx, const View& x, const View& style) const;
  /// Moves the convolutions to a GPU.
  void move_to(Device device);
  size_t bytes() const;

 private:
  View around(StepContext& ctx, const View& x, int64_t rows) const;

  AdaIn norm1_, norm2_;
  PaddedConv conv1_, conv2_, around_;
  CroppedConvTranspose pool_;
  bool doubles_ = false, projects_ = false;
  int64_t out_ = 0;
};

/// AdaINResBlock1: three pairs of convolutions, each of which follows AdaIN and Snake.
class SnakeBlock {
 public:
  SnakeBlock() = default;
  SnakeBlock(const Weights& weights, int64_t channels, int64_t taps,
             std::span<const int64_t> dilations, int64_t style, WeightType type);
  /// Changes x [T, C] in place.
  void run(StepContext& ctx, const View& x, const View& style) const;
  /// Moves convolutions and snakes to a GPU.
  void move_to(Device device);
  size_t bytes() const;

 private:
  struct Part {
    AdaIn norm;
    Tensor alpha, inv_alpha;
    PaddedConv conv;
  };
  void fill(StepContext& ctx, const Part& part, const View& x, const View& style,
            const View& room) const;
  std::vector<Part> parts_;  // dilated and plain convolutions in turn
};

/// Writes each row x[t] counts[t] times. x [T, C], out [sum of counts, C].
void repeat_rows(const View& x, std::span<const int32_t> counts, const View& out);

}  // namespace syrinx::kokoro
