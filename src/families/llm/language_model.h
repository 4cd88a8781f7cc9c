// The network as an AR stage: a stack of llama-type blocks between a table and a head over the
// whole vocabulary. Const after construction. E sequences that yield a step, H width, V vocabulary.
#pragma once

#include "families/llm/config.h"
#include "io/weights.h"
#include "model/stage.h"
#include "nn/decoder.h"

namespace syrinx::llm {

class LanguageModel : public ArStage {
 public:
  /// `weights` is the root scope and must outlive this (the table is not copied).
  LanguageModel(const ModelConfig& config, const Weights& weights, WeightType type);

  const ArTraits& traits() const override { return traits_; }
  Device device() const override { return head_.device(); }
  void move_to(Device device);
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;

  size_t bytes() const { return decoder_.bytes(); }
  size_t head_bytes() const { return head_.bytes(); }
  size_t table_bytes() const { return table_.bytes(); }

 private:
  ArTraits traits_;
  float table_scale_, logit_cap_;  // as in ModelConfig
  Decoder decoder_;
  View table_;         // [V, H], in the stored type
  MovedTables moved_;  // where it lies on a GPU
  PackedLinear head_;  // [V, H]
};

}  // namespace syrinx::llm
