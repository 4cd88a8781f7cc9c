// Computes the S3 speech tokens (v2 and v3, 25 a second) of a recording. It has Whisper's log-mel,
// two convolutions, and blocks of attention with a memory of nearby values (FSMN). Eight numbers,
// rounded to -1, 0 or 1, are the digits of a token. Attention covers the whole recording, so the
// tokenizer cannot stream. Its work is divided into pieces of some tens of milliseconds instead.
// Source: s3tokenizer:s3tokenizer/model_{v2,v3}.py. Const after construction, shared by threads; a
// Work is used by one call at a time. T mel frames, N tokens, W width.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "audio/mel.h"
#include "kernels/attention.h"
#include "kernels/conv.h"
#include "kernels/rope.h"
#include "nn/layers.h"

namespace syrinx {

class S3Tokenizer {
 public:
  static constexpr int kSampleRate = 16000;  ///< Hz
  static constexpr int32_t kCodes = 6561;    ///< tokens are in [0, 3^8)
  static constexpr double kMaxSeconds = 30;  ///< the authors' limit for one pass

  /// The work on one recording, with its state between calls.
  class Work {
   public:
    bool done() const { return stage_ == kDone; }
    /// Returns the tokens. They are complete when the work is done.
    const std::vector<int32_t>& tokens() const { return tokens_; }

   private:
    friend class S3Tokenizer;
    enum Stage { kMel, kConv1, kConv2, kProject, kMix, kQuantise, kDone };
    Stage stage_ = kMel;
    int64_t layer_ = 0, row_ = 0;  // layer and row at which the next piece begins
    std::vector<float> samples_;
    // The mel [1 + T + 1, mels], the output of the first convolution [1 + T / 2 + 1, W], and the
    // rows [N, W]. The border rows of the first two are zeros.
    Tensor mel_, half_, x_;
    Tensor queries_, values_;  // [N, W], [N + taps - 1, W]
    KvPool kv_;
    std::vector<int32_t> pages_, tokens_;
  };

  /// Reads sizes from the shapes of the tensors encoder.{conv1,conv2,blocks.N.*} and
  /// quantizer._codebook.project_down in `weights`. Weights are f32, because small differences
  /// could select other tokens, and bf16 would save only a tenth of the time.
  explicit S3Tokenizer(const Weights& weights);

  /// Returns the number of tokens of a recording at 16 kHz.
  int64_t count(int64_t samples) const;
  /// Opens the work for `samples` at 16 kHz, at most kMaxSeconds.
  Work open(std::span<const float> samples) const;
  /// Runs the next piece of a work that is not done.
  void run(StepContext& ctx, Work& work) const;

  int64_t layers() const { return static_cast<int64_t>(blocks_.size()); }
  int64_t width() const { return width_; }
  size_t bytes() const;

 private:
  struct Block {
    Block(const Weights& weights, int64_t width);
    LayerNorm before_attention, before_mlp;
    PackedLinear qkv, out, up, down;
    PackedConv1d memory;  // depthwise convolution
  };

  void make_mel(Work& work) const;
  void convolve(StepContext& ctx, const PackedConv1d& conv, const View& from, const View& to,
                Work& work) const;
  void project(StepContext& ctx, Work& work) const;
  void mix(StepContext& ctx, Work& work) const;
  void quantise(StepContext& ctx, Work& work) const;

  int64_t width_ = 0;
  int heads_ = 0;
  MelSpectrogram mel_;
  PackedConv1d conv1_, conv2_;
  std::vector<Block> blocks_;
  RopeTable rope_;
  PackedLinear down_;  // maps a row to the digits
};

/// Opens the published tokenizer of CosyVoice2 or 3, speech_tokenizer_v2.onnx or
/// speech_tokenizer_v3.onnx, with the tensor names that S3Tokenizer reads.
std::unique_ptr<WeightSource> open_s3_tokenizer_onnx(const std::string& path);

}  // namespace syrinx
