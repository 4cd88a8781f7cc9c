// Whisper's decoder as an AR stage. A sequence's cache begins with its memory: positions [0,
// DecoderText::memory_rows()) contain each layer's keys and values for cross-attention to the
// encoder's rows. The ids follow. They attend to earlier ids by self-attention and to the memory by
// cross-attention. Nothing else is computed for a row of the memory. It is cached, dropped and
// computed again like any row of a prompt. Source:
// transformers:src/transformers/models/whisper/modeling_whisper.py. Const after construction. E:
// sequences that yield a step. W: width. V: vocabulary. On a GPU, the host applies the rules: each
// step copies its logits to the host and back.
#pragma once

#include "families/whisper/config.h"
#include "model/stage.h"
#include "nn/layers.h"

namespace syrinx::whisper {

class WhisperDecoder : public ArStage {
 public:
  /// Loads the decoder. `weights`: the root scope. `heads`: the heads that alignments need.
  WhisperDecoder(const ModelConfig& config, std::span<const AlignmentHead> heads,
                 const Weights& weights, WeightType type);

  const ArTraits& traits() const override { return traits_; }
  void move_to(Device device);
  Device device() const override { return head_.device(); }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  /// Writes the logits to out [E, V], and applies each sequence's rules (DecoderText::shape).
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;
  size_t bytes() const;
  size_t head_bytes() const { return head_.bytes(); }

 private:
  struct Block {
    Block(const Weights& weights, const ModelConfig& config, WeightType type);
    LayerNorm before_self, before_cross, before_mlp;
    PackedLinear qkv, self_out, cross_q, cross_kv, cross_out, up, down;
  };
  struct Rows;
  void remember(StepContext& ctx, const ArBatch& batch, const Rows& rows) const;
  void note_queries(StepContext& ctx, int layer, const ArBatch& batch, const Rows& rows,
                    const View& q) const;
  void align(StepContext& ctx, const ArBatch& batch, const Rows& rows, const View& x) const;

  ModelConfig config_;
  ArTraits traits_;
  Embedding table_;
  Tensor positions_;  // [max_ids, W]
  std::vector<Block> blocks_;
  LayerNorm final_;
  PackedLinear head_;            // [V, W], the embedding table
  std::vector<bool> looked_at_;  // for each layer: whether alignments need it
};

}  // namespace syrinx::whisper
