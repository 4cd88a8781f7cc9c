// The network that turns a recording into a speaker vector: a ResNet that reads the mel frames as
// an image (basic blocks with SimAM attention), attentive statistics, and a linear discriminant
// projection. Published separately from the model, in two PyTorch files, whose tensors have the
// sizes of the layers. Const after construction, shared by threads. Source:
// Zonos:zonos/speaker_cloning.py (ResNet293_based, SpeakerEmbeddingLDA). T: time steps. F: mel
// bands. C: channels. Activations are [T, F, C].
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "audio/mel.h"
#include "base/pieces.h"
#include "io/weights.h"
#include "kernels/linear.h"

namespace syrinx::zonos {

class SpeakerEncoder {
 public:
  static constexpr const char* kRepository = "Zyphra/Zonos-v0.1-speaker-embedding";
  static constexpr const char* kNetwork = "ResNet293_SimAM_ASP_base.pt";
  static constexpr const char* kProjection = "ResNet293_SimAM_ASP_base_LDA-128.pt";

  /// `network` and `projection`: the roots of the two files. `width`: the width of the vector the
  /// model reads. Weights stay f32. The caller must call finish() of both roots to report faults.
  SpeakerEncoder(const Weights& network, const Weights& projection, int64_t width);

  /// Returns random weights with the published sizes for either file, for measurements.
  static std::unique_ptr<WeightSource> dummy();

  int sample_rate() const { return mel_.options().sample_rate; }
  /// Encodes mono samples at sample_rate(), at least one window, into a vector [width], in pieces
  /// that use the context in `ctx` while they run. Encoder, samples, vector and `ctx` itself must
  /// outlive the pieces.
  Pieces run(StepContext* const& ctx, std::span<const float> samples,
             std::vector<float>& vector) const;

  size_t bytes() const;

 private:
  /// A convolution of 3 x 3 or 1 x 1, with its batch norm folded in. Zeros are added at the
  /// borders, so that stride 1 keeps the size.
  struct Conv {
    PackedLinear linear;  // order of columns: time tap, mel tap, channel
    int64_t taps = 3, stride = 1;
  };
  struct Block {
    Conv first, second, shortcut;  // an empty shortcut adds the input unchanged
  };
  /// Activations [T, F, C].
  struct Image;

  Conv load(const Weights& weights, const std::string& conv, const std::string& norm, int64_t in,
            int64_t out, int64_t taps, int64_t stride) const;
  void load_blocks(const Weights& front, int64_t planes);
  void load_pooling(const Weights& network);
  Pieces convolve(StepContext* const& ctx, const Conv& conv, const Image& x, bool relu,
                  Image& out) const;
  Pieces block(StepContext* const& ctx, const Block& block, Image& x) const;
  /// Computes attentive statistics: x [T, channels] -> [2 channels].
  Pieces pool(StepContext* const& ctx, const Image& x, Tensor& stats) const;

  MelSpectrogram mel_;
  Conv head_;
  std::vector<Block> blocks_;
  int64_t pooled_ = 0;  // channels of the pooling: remaining bands times channels
  PackedLinear attend_in_, attend_out_, bottleneck_, project_;
};

}  // namespace syrinx::zonos
