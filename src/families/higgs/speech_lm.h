// The language model as an AR stage: a Qwen3 decoder over ids of text and steps of codes, whose
// step makes a code of every codebook by independent heads, tied with the codebooks' tables.
// Const after construction. N rows of the batch, H width, C codebooks, V codes of each.
// Source: sglang-omni:sglang_omni/models/higgs_tts/{model,modeling}.py.
#pragma once

#include <vector>

#include "families/higgs/config.h"
#include "io/weights.h"
#include "model/stage.h"
#include "nn/decoder.h"

namespace syrinx::higgs {

class SpeechLm : public ArStage {
 public:
  /// `weights` is the checkpoint's root and must outlive this: tables are not copied.
  SpeechLm(const ModelConfig& config, const Weights& weights, WeightType type);

  const ArTraits& traits() const override { return traits_; }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;

  /// The input rows of a batch, [N, H]; in the arena.
  View embed_rows(StepContext& ctx, const ArBatch& batch) const;
  size_t bytes() const;
  size_t table_bytes() const;

 private:
  ArTraits traits_;
  Decoder decoder_;
  std::vector<View> tables_;  // of the ids, then C of [V, H]; as stored
  std::vector<PackedLinear> heads_;
};

}  // namespace syrinx::higgs
