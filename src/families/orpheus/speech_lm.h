// The language model as an AR stage: a Llama whose head makes only the ids that can be spoken.
// Const after construction. E sequences that yield a step, H width, A ids that can be spoken.
#pragma once

#include "families/orpheus/config.h"
#include "io/weights.h"
#include "model/stage.h"
#include "nn/decoder.h"

namespace syrinx::orpheus {

class SpeechLm : public ArStage {
 public:
  /// `weights` is the root scope and must outlive this (the table is not copied).
  SpeechLm(const ModelConfig& config, const Weights& weights, WeightType type);

  const ArTraits& traits() const override { return traits_; }
  Device device() const override { return head_.device(); }
  void move_to(Device device);
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;

  size_t bytes() const { return decoder_.bytes() + head_.bytes(); }
  size_t table_bytes() const { return table_.bytes(); }

 private:
  ArTraits traits_;
  Decoder decoder_;
  View table_;         // [vocab, H], in the stored type
  MovedTables moved_;  // where it lies on a GPU
  PackedLinear head_;  // [A, H]
};

}  // namespace syrinx::orpheus
