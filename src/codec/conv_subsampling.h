// Subsampling of mel frames by strided 2-D convolutions over time and bands, the first layers of
// FastConformers. First a convolution of one channel, then depthwise and pointwise ones, each of
// three taps and stride 2 and followed by a ReLU; then a linear over channels and bands. A stream
// cut into calls anywhere has the bits of one whole call. Source:
// transformers:src/transformers/models/{nemotron_asr_streaming,parakeet}/modeling_*.py. Const after
// construction, shared by threads. CPU only.
// T mel frames, M bands, C channels, W width; activations f32.
#pragma once

#include <span>
#include <vector>

#include "nn/layers.h"

namespace syrinx {

struct ConvSubsamplingConfig {
  int64_t mels = 128, channels = 256, width = 1024;
  int layers = 3;      ///< number of layers, each of which halves time and bands
  bool causal = true;  ///< an output sees no later frame; else one on either side
};

/// Convolutions that halve frames and bands three times, with their weights.
class ConvSubsampling {
 public:
  /// A stream's inputs of each layer that later outputs still need.
  struct State {
    struct Layer {
      std::vector<float> past;  ///< [rows, bands * channels]
    };
    std::vector<Layer> layers;
  };
  /// The next frames of a stream: x [T, M].
  struct Job {
    View x;
    State* state = nullptr;
    bool last = false;  ///< no frame follows: a frame of zeros is added to each layer's last input
  };

  ConvSubsampling() = default;
  /// Takes the tensors of the published layout, causal or not, under "subsampling".
  ConvSubsampling(const ConvSubsamplingConfig& config, const Weights& weights, WeightType type);

  State open() const;
  /// Returns the rows that `frames` frames of a whole stream yield; `last`: the stream ends there.
  int64_t rows(int64_t frames, bool last) const;
  /// Computes the rows of all streams, one after another, [N, W], in the context's arena; made[i]
  /// gets the number of rows of job i.
  View run(StepContext& ctx, std::span<const Job> jobs, std::span<int64_t> made) const;
  size_t bytes() const;

 private:
  struct Layer {
    Tensor taps, bias;       // [9, C], [C]
    PackedLinear pointwise;  // empty: the first layer
    int64_t bands_in = 0, bands_out = 0, channels_in = 1;
  };
  int64_t lead() const { return config_.causal ? 2 : 1; }  // zeros before the first frame and band
  Layer load_layer(const Weights& depthwise, int64_t bands, int64_t channels_in) const;
  View convolve(StepContext& ctx, const Layer& layer, const View& x, State::Layer& state,
                bool last) const;

  ConvSubsamplingConfig config_;
  std::vector<Layer> layers_;
  PackedLinear linear_;
};

}  // namespace syrinx
