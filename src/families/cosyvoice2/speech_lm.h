// The language model of CosyVoice2 as an AR stage: a Qwen2 decoder over rows of three tables, one
// speech token a step. Const after construction. H width.
#pragma once

#include "families/cosyvoice2/config.h"
#include "families/cosyvoice2/frontend.h"
#include "io/weights.h"
#include "model/stage.h"

namespace syrinx::cosyvoice2 {

class SpeechLm : public ArStage {
 public:
  /// `weights` is llm.pt; it must outlive this (tables are not copied).
  SpeechLm(const ModelConfig& config, const Weights& weights, WeightType type);

  const ArTraits& traits() const override { return traits_; }
  Device device() const override { return head_.device(); }
  void move_to(Device device);
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;

  /// The input rows of a batch, [N, H]; in the arena.
  View embed_rows(StepContext& ctx, const ArBatch& batch) const;
  size_t bytes() const { return decoder_.bytes() + head_.bytes(); }
  size_t table_bytes() const;

 private:
  ArTraits traits_;
  Decoder decoder_;
  MovedTables moved_;
  std::vector<View> tables_;  // by Table
  PackedLinear head_;
};

}  // namespace syrinx::cosyvoice2
