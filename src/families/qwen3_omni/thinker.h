// The thinker of Qwen3-Omni: the language model that reads text and recordings and writes text. Its
// rows before one of its blocks are what the talker hears of recordings.
// Const after construction, shared by threads; CPU only, as its experts are. N rows, H width, V
// ids.
#pragma once

#include "families/qwen3_omni/config.h"
#include "io/weights.h"

namespace syrinx::qwen3_omni {

class Thinker {
 public:
  /// `weights` is the scope "thinker" and must outlive this (the text table is not copied).
  Thinker(const ModelConfig& config, const Weights& weights, WeightType type);

  const Decoder& decoder() const { return decoder_; }
  KvSpec kv_spec() const;
  /// [V, H] as stored; the talker reads it too.
  const View& table() const { return table_; }
  size_t bytes() const { return decoder_.bytes() + head_.bytes(); }

  /// x [N, H] = rows of ids. Where ids[i] is the audio id, row i is the next one of `heard`
  /// instead, the audio tower's rows of these recordings; all of them must be used.
  void embed(StepContext& ctx, std::span<const int32_t> ids, const View& heard,
             const View& x) const;
  /// Runs the blocks over x, in place. `tap` [N, H], if not empty, gets the rows for the talker.
  void forward(StepContext& ctx, const View& x, const Ragged& ragged, const KvPool& pool,
               const View& tap = {}) const;
  /// Logits [B, V] of some rows of x after forward().
  void logits(StepContext& ctx, const View& x, std::span<const int32_t> rows,
              const View& out) const;

 private:
  int32_t audio_id_ = 0;
  int tap_block_ = 0;
  DType kv_type_ = DType::kF16;
  View table_;
  Decoder decoder_;
  PackedLinear head_;
};

}  // namespace syrinx::qwen3_omni
