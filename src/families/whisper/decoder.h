// Whisper's decoder as an AR stage. A sequence's cache begins with its memory: positions [0,
// DecoderText::memory_rows()) contain each layer's keys and values for cross-attention to the
// encoder's rows. The ids follow. They attend to earlier ids by self-attention and to the memory by
// cross-attention. Nothing else is computed for a row of the memory. It is cached, dropped and
// computed again like any row of a prompt. Source:
// transformers:src/transformers/models/whisper/modeling_whisper.py. Const after construction. E:
// sequences that yield a step. W: width. V: vocabulary. On a GPU, alignments copy queries and
// logits to the host.
#pragma once

#include "families/network_stage.h"
#include "families/whisper/config.h"
#include "families/whisper/decoder_text.h"

namespace syrinx::whisper {

class WhisperDecoder : public NetworkStage {
 public:
  /// Loads the decoder. `weights`: the root scope. `heads`: the heads that alignments need.
  WhisperDecoder(const ModelConfig& config, std::span<const AlignmentHead> heads,
                 const Weights& weights, WeightType type);

  void move_to(Device device) {
    place_.move(device, table_, positions_, blocks_, final_, head_);
    // A GPU's attention does not support bounds of positions with 8-bit caches.
    if (device == Device::kCuda && traits_.kv[0].dtype == DType::kI8)
      traits_.kv[0].dtype = DType::kF16;
  }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  /// Writes the logits to out [E, V], and applies each sequence's rules (DecoderText::limits).
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;
  size_t bytes() const { return weight_bytes(table_, positions_, blocks_); }
  size_t head_bytes() const { return head_.bytes(); }

 private:
  struct Block {
    Block(const Weights& weights, const ModelConfig& config, WeightType type);
    void move_to(Device device) {
      syrinx::move_to(device, before_self, before_cross, before_mlp, qkv, self_out, cross_q,
                      cross_kv, cross_out, up, down);
    }
    size_t bytes() const {
      return weight_bytes(qkv, self_out, cross_q, cross_kv, cross_out, up, down);
    }
    LayerNorm before_self, before_cross, before_mlp;
    PackedLinear qkv, self_out, cross_q, cross_kv, cross_out, up, down;
  };
  struct Rows;
  void remember(StepContext& ctx, const ArBatch& batch, const Rows& rows) const;
  void note_queries(StepContext& ctx, int layer, const ArBatch& batch, const Rows& rows,
                    const View& q) const;
  void align(StepContext& ctx, const ArBatch& batch, const Rows& rows, const View& x) const;
  void note(StepContext& ctx, std::span<DecoderText* const> texts, const View& logits) const;

  ModelConfig config_;
  Embedding table_;
  Tensor positions_;  // [max_ids, W]
  std::vector<Block> blocks_;
  LayerNorm final_;
  PackedLinear head_;            // [V, W], the embedding table
  std::vector<bool> looked_at_;  // for each layer: whether alignments need it
};

}  // namespace syrinx::whisper
