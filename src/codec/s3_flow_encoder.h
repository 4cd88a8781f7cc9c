// The flow's encoder: speech tokens to the mean from which the estimator starts. It has a
// convolution with a lookahead of 3 tokens, conformer blocks at the rate of tokens, an upsampling,
// and conformer blocks at the mel's rate. Attention covers whole chunks, or a whole utterance that
// is encoded in one call. All other layers are causal. The plain form
// (S3FlowConfig::plain_channels) has only the convolution, and repeats its rows at the mel's rate.
// Source: CosyVoice:cosyvoice/transformer/upsample_encoder.py (UpsampleConformerEncoder,
// PreLookaheadLayer), cosyvoice/flow/flow.py (CausalMaskedDiffWithDiT). Const after construction,
// shared by threads; a state is used by one call at a time.
#pragma once

#include <optional>
#include <vector>

#include "codec/s3_flow_config.h"
#include "nn/rel_attention.h"
#include "nn/row_queue.h"

namespace syrinx {

class S3FlowEncoder {
 public:
  struct State {
    ConvState ahead, back, up;
    RowQueue skip, ready;
    std::vector<RelAttention::Cache> caches;
    State clone() const;
  };

  /// `weights` is the scope of the flow. It contains input_embedding, and encoder with encoder_proj
  /// or pre_lookahead_layer.
  S3FlowEncoder(const S3FlowConfig& config, const Weights& weights, WeightType type);

  /// Opens a stream. `most`: limit of tokens in one encode() call; 0 means the tokens of a chunk.
  State open(int64_t most = 0) const;
  /// Receives tokens. `last`: no tokens follow. Appends to state.ready the tokens whose lookahead
  /// has arrived.
  void push(StepContext& ctx, std::span<const int32_t> tokens, bool last, State& state) const;
  /// Drops the tokens that still wait for their lookahead. Waits for queued work that uses them.
  void drop_waiting(StepContext& ctx, State& state) const;
  /// Encodes the next `tokens` tokens of state.ready: a whole chunk, the end of a stream, or a
  /// whole utterance. Returns [tokens * ratio, mel] in the arena.
  View encode(StepContext& ctx, int64_t tokens, State& state) const;
  /// Moves the weights to a GPU; streams opened afterwards have their state there.
  void move_to(Device device);
  size_t bytes() const;

 private:
  struct Layer {
    LayerNorm before_attention, before_mlp;
    RelAttention attention;
    PackedLinear up, down;
    void move_to(Device device) {
      syrinx::move_to(device, before_attention, before_mlp, attention, up, down);
    }
  };
  /// Input layer: a linear, a norm and a scale.
  struct Embed {
    PackedLinear linear;
    LayerNorm norm;
    void move_to(Device device) { syrinx::move_to(device, linear, norm); }
  };
  /// The parts that the plain form of the encoder lacks.
  struct Conformer {
    Embed embed, up_embed;
    CausalConv1d up;
    std::vector<Layer> layers, up_layers;
    LayerNorm norm;
    PackedLinear out;
  };
  Conformer load_conformer(const Weights& weights, WeightType type) const;
  Layer load_layer(const Weights& weights, int64_t chunk, WeightType type) const;
  Embed load_embed(const Weights& weights, WeightType type) const;
  View embed(StepContext& ctx, const Embed& layer, const View& x) const;
  View repeated(StepContext& ctx, const View& x) const;
  void run(StepContext& ctx, const Layer& layer, const View& x, RelAttention::Cache& cache) const;

  S3FlowConfig config_;
  Embedding tokens_;
  CausalConv1d ahead_, back_;
  std::optional<Conformer> conformer_;
};

}  // namespace syrinx
