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

  /// x [N, H] = rows of ids; a negative id is row -1 - ids[i] of `heard` [M, H] instead, which are
  /// the audio tower's rows.
  void embed(StepContext& ctx, std::span<const int32_t> ids, const View& heard,
             const View& x) const;
  /// Runs the blocks over x, in place. `tap` [N, H], if not empty, gets the rows for the talker.
  void forward(StepContext& ctx, const View& x, const Ragged& ragged, const KvPool& pool,
               const View& tap = {}) const;
  /// hidden [E, H] of some rows of x after forward().
  void hidden(StepContext& ctx, const View& x, std::span<const int32_t> rows,
              const View& hidden) const {
    decoder_.norm_rows(ctx, x, rows, hidden);
  }
  /// Logits [E, V].
  void logits(StepContext& ctx, const View& hidden, const View& out) const {
    linear(ctx, head_, hidden, out);
  }

 private:
  int tap_block_ = 0;
  DType kv_type_ = DType::kF16;
  View table_;
  Decoder decoder_;
  PackedLinear head_;
};

}  // namespace syrinx::qwen3_omni
