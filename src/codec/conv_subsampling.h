// Subsampling of mel frames by strided 2-D convolutions over time and bands, the first layers of
// FastConformers. The first convolution has one input channel; the next ones are depthwise and
// pointwise. Each has three taps, stride 2 and a ReLU. A linear over channels and bands follows. A
// stream has the same bits for any division into calls. Source:
// transformers:src/transformers/models/{nemotron_asr_streaming,parakeet}/modeling_*.py. Const after
// construction, shared by threads. T mel frames, M bands, C channels, W width;
// activations f32.
#pragma once

#include <span>
#include <vector>

#include "nn/conv.h"
#include "nn/layers.h"

namespace syrinx {

struct ConvSubsamplingConfig {
  int64_t mels = 128, channels = 256, width = 1024;
  int layers = 3;      ///< number of layers; each one halves time and bands
  bool causal = true;  ///< if false, an output of a layer also depends on one later input
};

/// The subsampling convolutions, with their weights.
class ConvSubsampling {
 public:
  /// For each layer, the inputs of a stream that later outputs need.
  struct State {
    std::vector<ConvState> layers;  ///< rows of bands * channels
  };
  /// The next frames of a stream: x [T, M] on the context's device.
  struct Job {
    View x;
    State* state = nullptr;
    bool last = false;  ///< no frame follows: each layer's input is extended by a frame of zeros
  };

  ConvSubsampling() = default;
  /// Loads the tensors of the published layout, causal or not, from the scope "subsampling".
  ConvSubsampling(const ConvSubsamplingConfig& config, const Weights& weights, WeightType type);

  State open() const;
  /// Returns how many rows `frames` frames of a stream yield. `last`: the stream ends after them.
  int64_t rows(int64_t frames, bool last) const;
  /// Computes the rows of all streams, one stream after another, [N, W] in the context's arena.
  /// Writes the number of rows of job i to made[i].
  View run(StepContext& ctx, std::span<const Job> jobs, std::span<int64_t> made) const;
  /// Moves the weights to a GPU. Streams opened afterwards are on the GPU, too.
  void move_to(Device device);
  size_t bytes() const;

 private:
  struct Layer {
    Tensor taps, bias;       // [9, C], [C]
    PackedLinear pointwise;  // empty in the first layer
    int64_t bands_in = 0, bands_out = 0, channels_in = 1;
  };
  int64_t lead() const { return config_.causal ? 2 : 1; }  // zeros before frames and bands
  Layer load_layer(const Weights& depthwise, int64_t bands, int64_t channels_in) const;
  View convolve(StepContext& ctx, const Layer& layer, const View& x, ConvState& state,
                bool last) const;

  ConvSubsamplingConfig config_;
  std::vector<Layer> layers_;
  PackedLinear linear_;
};

}  // namespace syrinx
