// CAM++, the speaker encoder of CosyVoice and related models. It computes Kaldi's fbank of a
// recording, then runs a few 2-D convolutions (the front) and densely connected TDNN layers. Local
// and global averages gate the output of each TDNN layer. Mean and deviation over time then give
// one vector. The gates depend on the whole recording, so the encoder cannot stream. Its work is
// divided into pieces of some tens of milliseconds instead. Source: 3D-Speaker (arXiv
// 2303.00332): chatterbox:src/chatterbox/models/s3gen/xvector.py. Const after construction,
// shared by threads; a Work is used by one call at a time. T frames and F bands of the fbank, C
// channels.
#pragma once

#include <span>
#include <vector>

#include "audio/mel.h"
#include "kernels/conv.h"
#include "nn/layers.h"

namespace syrinx {

class CamPlus {
 public:
  static constexpr int kSampleRate = 16000;  ///< Hz

  /// The input of a 2-D convolution: [T + 2][F + 2][C], with a border of zeros.
  struct Plane {
    Tensor data;
    int64_t frames = 0, bands = 0, channels = 0;
  };

  /// The work on one recording, with its state between calls.
  class Work {
   public:
    bool done() const { return stage_ == kDone; }
    /// Returns the speaker's vector. It is complete when the work is done.
    const std::vector<float>& vector() const { return vector_; }

   private:
    friend class CamPlus;
    enum Stage { kFbank, kFront, kTdnn, kDense, kTransit, kPool, kDone };
    Stage stage_ = kFbank;
    size_t step_ = 0, block_ = 0, layer_ = 0;
    int64_t row_ = 0;  // index of the next piece's first row
    std::vector<float> samples_;
    Plane in_, between_, out_;
    Tensor features_;  // input and outputs of the dense layers: [T / 2, C]
    std::vector<float> vector_;
  };

  /// Reads sizes from the shapes of the tensors head.* and xvector.* of `weights`. A BatchNorm may
  /// be missing if the preceding convolution has a bias: exporters fold it into that convolution.
  explicit CamPlus(const Weights& weights);

  /// Returns the length of the speaker's vector.
  int64_t width() const { return dense_.out(); }
  /// Opens the work for `samples` at 16 kHz, at least a tenth of a second.
  Work open(std::span<const float> samples) const;
  /// Runs the next piece of a work that is not done.
  void run(StepContext& ctx, Work& work) const;
  size_t bytes() const;

 private:
  struct Conv2d {
    PackedLinear taps;  // [O, 9 C], or [O, C] for a 1 x 1 window
    int64_t stride = 1, window = 3;
  };
  /// One of the convolutions of the front. A residual block has two.
  struct Front {
    Conv2d conv, shortcut;
    enum { kAlone, kFirst, kSecond } part = kAlone;
  };
  struct Scale {  // a BatchNorm as x * gain + shift
    std::vector<float> gain, shift;
  };
  struct Layer {
    Scale before;
    PackedLinear narrow, gate1, gate2;
    PackedConv1d local;
    int64_t dilation = 1;
  };
  struct Block {
    std::vector<Layer> layers;
    Scale before_transit;
    PackedLinear transit;
    int64_t in = 0, growth = 0;
  };

  void load_front(const Weights& head);
  void load_block(const Weights& xvector, int64_t index, int64_t in);
  static void convolve(StepContext& ctx, const Conv2d& conv, const Plane& in, int64_t begin,
                       int64_t end, const View& out);
  void make_fbank(Work& work) const;
  void run_front(StepContext& ctx, Work& work) const;
  void run_tdnn(StepContext& ctx, Work& work) const;
  void run_dense(StepContext& ctx, Work& work) const;
  void run_transit(StepContext& ctx, Work& work) const;
  void pool(StepContext& ctx, Work& work) const;

  MelSpectrogram fbank_;
  std::vector<Front> front_;
  PackedConv1d tdnn_;
  std::vector<Block> blocks_;
  PackedLinear dense_;
};

}  // namespace syrinx
