// The encoder of GLM-4-Voice's flow: speech tokens to the mean from which the estimator starts. It
// has conformer blocks, a nearest-neighbour interpolation to the mel's rate, and convolutions. In
// the conformer blocks, a token attends to its own block of 10 tokens and all earlier blocks. The
// norms of the convolutions run over the whole sequence, so no result can be reused for a longer
// sequence. Source: GLM-4-Voice:cosyvoice/{transformer/encoder,flow/length_regulator}.py
// (BlockConformerEncoder, InterpolateRegulator). Const after construction, shared by threads.
#pragma once

#include <span>
#include <vector>

#include "codec/glm_flow_config.h"
#include "kernels/conv.h"
#include "nn/group_norm.h"
#include "nn/rel_attention.h"

namespace syrinx {

class GlmFlowEncoder {
 public:
  /// `weights` is the scope of the flow: input_embedding, encoder, encoder_proj, length_regulator.
  GlmFlowEncoder(const GlmFlowConfig& config, const Weights& weights, WeightType type);

  /// Encodes at least one token, each in [0, vocab), to [config.frames(tokens), mel] in the arena.
  View encode(StepContext& ctx, std::span<const int32_t> tokens) const;
  size_t bytes() const;

 private:
  struct Layer {
    LayerNorm before_attention, before_mlp;
    RelAttention attention;
    PackedLinear up, down;
  };
  struct Regulator {
    PackedConv1d conv;
    GroupNorm norm;
  };
  void run(StepContext& ctx, const Layer& layer, const View& x, RelAttention::Cache& cache) const;
  View regulate(StepContext& ctx, const View& x, int64_t frames) const;

  GlmFlowConfig config_;
  Embedding tokens_;
  PackedLinear embed_;
  LayerNorm embed_norm_;
  std::vector<Layer> layers_;
  LayerNorm norm_;
  PackedLinear project_;
  std::vector<Regulator> regulators_;
  PackedLinear out_;
};

}  // namespace syrinx
