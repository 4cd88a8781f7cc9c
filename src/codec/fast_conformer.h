// The blocks of a FastConformer over streams: a feed-forward network (weight 1/2), attention with
// relative positions in chunks, a gate and a depthwise convolution, a second feed-forward network,
// a norm. A stream keeps the keys, values and convolution inputs that later rows need. A stream's
// bits do not depend on its division into calls or on the other streams of a call. Source:
// transformers:src/transformers/models/{nemotron_asr_streaming,parakeet}/modeling_*.py. Const
// after construction, shared by threads. N rows of all streams, W width; activations f32.
#pragma once

#include <span>
#include <vector>

#include "nn/conv.h"
#include "nn/rel_attention.h"

namespace syrinx {

struct FastConformerConfig {
  int64_t width = 1024, heads = 8, ffn = 4096, taps = 9;
  int layers = 24;
  bool biased = true, conv_biased = true;  ///< whether linears and convolutions have biases
  /// True: the convolution depends on earlier rows only, and a layer norm follows. False: it
  /// depends on equally many rows on both sides, and a batch norm follows.
  bool causal = true;
  int64_t chunk = 14;  ///< most rows of a chunk
  int64_t left = 70;   ///< rows before its chunk to which a row attends; below 0: all
};

/// The blocks with their weights.
class FastConformer {
 public:
  struct State {
    std::vector<RelAttention::Cache> caches;
    std::vector<ConvState> convs;
    int64_t chunk = 0;
  };
  /// The next rows of a stream. They are whole chunks; only the stream's last chunk may be shorter.
  struct Job {
    int64_t rows = 0;
    State* state = nullptr;
    bool last = false;
  };

  FastConformer() = default;
  FastConformer(const FastConformerConfig& config, const Weights& weights, WeightType type);

  const FastConformerConfig& config() const { return config_; }
  /// Opens a stream in chunks of `chunk` rows, at most config().chunk if config().left >= 0. If
  /// `left` is negative, all rows of the stream must arrive in one call.
  State open(int64_t chunk) const;
  /// Runs the blocks in place over x [N, W]: the rows of the jobs, one job after another.
  void run(StepContext& ctx, const View& x, std::span<const Job> jobs) const;
  /// Moves the weights to a GPU. Streams opened afterwards are on the GPU, too; their states may be
  /// destroyed only after synchronize().
  void move_to(Device device);
  size_t bytes() const;

 private:
  struct Layer {
    LayerNorm before_first, before_attention, before_conv, before_second, norm, conv_norm;
    PackedLinear first_up, first_down, second_up, second_down;  // each is added with weight 1/2
    PackedLinear value, gate, conv_out;
    CausalConv1d conv;
    RelAttention attention;
  };
  Layer load_layer(const Weights& w, WeightType type) const;
  CausalConv1d load_conv(const Weights& w) const;
  void feed(StepContext& ctx, const LayerNorm& norm, const PackedLinear& up,
            const PackedLinear& down, const View& x) const;
  void convolve(StepContext& ctx, const Layer& layer, size_t index, const View& x,
                std::span<const Job> jobs) const;

  FastConformerConfig config_;
  std::vector<Layer> layers_;
};

}  // namespace syrinx
