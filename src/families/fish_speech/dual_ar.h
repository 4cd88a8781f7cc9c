// The two networks of Fish Speech as one AR stage: the slow one, over text and frames, gives the
// first code of a step or the end, the fast one, a small transformer that starts anew in every
// step, the other codes one after another. Const after construction.
// Networks: fish-speech:fish_speech/models/text2semantic/llama.py.
// E sequences that yield a step, H width, C codes a frame, V codes of a table, N rows in the batch.
#pragma once

#include <vector>

#include "families/fish_speech/config.h"
#include "io/weights.h"
#include "model/stage.h"
#include "nn/inner_decoder.h"

namespace syrinx::fish_speech {

/// Codes 1 .. C-1 of a step from the slow network's hidden row and the codes before.
class FastAr {
 public:
  /// `weights` is the scope "audio_decoder".
  FastAr(const ModelConfig& config, const Weights& weights, WeightType type);

  size_t scratch_bytes(int emits) const { return decoder_.scratch_bytes(emits); }
  size_t bytes() const { return decoder_.bytes() + head_.bytes() + table_.bytes(); }

  /// Logits [E, V] of code k >= 1. `scratch` is kept between the calls of a step, k = 1, 2, ...
  void logits(StepContext& ctx, int k, const View& hidden, const View& codes, const View& scratch,
              const View& out) const;

 private:
  View inputs(StepContext& ctx, int k, const View& hidden, const View& codes) const;

  InnerDecoder decoder_;
  Tensor table_;  // [V + 1, H]: the end is fed as code 0, as the authors clamp it
  PackedLinear head_;
};

class DualAr : public ArStage {
 public:
  /// `weights` is the checkpoint's root and must outlive this: tables are not copied.
  DualAr(const ModelConfig& config, const Weights& weights, WeightType type);

  const ArTraits& traits() const override { return traits_; }
  size_t scratch_bytes(int emits) const override { return fast_.scratch_bytes(emits); }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;

  size_t bytes() const { return decoder_.bytes() + head_.bytes(); }
  size_t table_bytes() const;
  const FastAr& fast() const { return fast_; }

  /// The input rows of a batch, [N, H]; in the arena.
  View embed_rows(StepContext& ctx, const ArBatch& batch) const;

 private:
  ModelConfig config_;
  ArTraits traits_;
  std::vector<View> tables_;  // of the ids, then C of [V, H]; as stored
  Decoder decoder_;
  PackedLinear head_;  // of the codes and the end alone: nothing else may be chosen
  FastAr fast_;
};

}  // namespace syrinx::fish_speech
