// The language model of Pocket TTS as an AR stage whose steps yield latents. It reads a voice,
// ids of text and latents. A step yields a code, which may announce the end, and a latent that
// the head makes from noise. Const after construction. Network: pocket_tts/models/flow_lm.py. E:
// sequences that yield a step. N: rows in the batch. H: width.
#pragma once

#include "families/network_stage.h"
#include "families/pocket_tts/flow_head.h"

namespace syrinx::pocket_tts {

/// The rows of a voice at the beginning of a prompt. Each row is an input row of the model [H], or
/// the contents of the KV cache at its position [ModelConfig::cache_row()]: layer by layer, keys,
/// then values.
struct VoiceRows {
  std::vector<float> numbers;  ///< [size, width]
  int64_t width = 0;
  std::vector<uint64_t> keys;  ///< [size], Sequence::prefix_keys()

  int size() const { return static_cast<int>(keys.size()); }
  std::span<const float> row(int at) const {
    return std::span(numbers).subspan(static_cast<size_t>(at * width), static_cast<size_t>(width));
  }
  /// Computes `keys` from `numbers`.
  void make_keys();
};

class FlowLm : public NetworkStage {
 public:
  /// `weights`: scope "flow_lm."; must outlive this object, because the table of ids is not copied.
  FlowLm(const ModelConfig& config, const Weights& weights, WeightType type);

  /// Moves the weights.
  void move_to(Device device) {
    place_.move(device, table_, project_, in_, narrow_, end_, decoder_, norm_, head_);
  }
  /// Writes hidden [E, ModelConfig::condition], the input of the heads.
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  /// Writes the logits of a step's only code. Code 1 announces the end.
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;
  void values(StepContext& ctx, const ArBatch& batch, View hidden, View codes,
              View out) const override;

  /// Returns the learned latent that precedes the first latent.
  std::span<const float> first_latent() const { return {first_.f32(), size_t(config_.latent)}; }
  /// Returns the learned row [H] that precedes a voice. Empty if the model has no such row.
  std::span<const float> voice_begin() const {
    return {voice_begin_.empty() ? nullptr : voice_begin_.f32(),
            voice_begin_.empty() ? 0 : size_t(config_.lm.hidden)};
  }
  size_t bytes() const { return decoder_.bytes(); }
  size_t head_bytes() const { return weight_bytes(head_, narrow_, end_); }
  size_t table_bytes() const { return weight_bytes(table_, project_, in_); }

 private:
  struct Rows;
  Rows embed_rows(StepContext& ctx, const ArBatch& batch) const;

  ModelConfig config_;
  View table_;            // [vocab + 1, rank or H]; as stored
  PackedLinear project_;  // rank -> H
  PackedLinear in_;       // latent -> H
  Decoder decoder_;
  LayerNorm norm_;
  PackedLinear narrow_, end_;  // H -> condition -> 2
  FlowHead head_;
  Tensor first_, voice_begin_;  // in host memory
};

}  // namespace syrinx::pocket_tts
