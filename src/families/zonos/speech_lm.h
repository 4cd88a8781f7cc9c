// The language model as an AR stage: one step makes a code of every codebook, by independent heads.
// Const after construction. E sequences that yield a step, H width.
#pragma once

#include <vector>

#include "families/zonos/conditioner.h"
#include "families/zonos/config.h"
#include "io/weights.h"
#include "model/stage.h"
#include "nn/decoder.h"

namespace syrinx::zonos {

class SpeechLm : public ArStage {
 public:
  /// `weights` is the root scope and must outlive this (tables are not copied).
  SpeechLm(const ModelConfig& config, const PrefixConditioner& conditioner, const Weights& weights,
           WeightType type);

  const ArTraits& traits() const override { return traits_; }
  Device device() const override { return heads_[0].device(); }
  /// The conditioner moves on its own.
  void move_to(Device device);
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;

  /// The input rows of a batch, [N, H]; in the arena.
  View embed_rows(StepContext& ctx, const ArBatch& batch) const;
  size_t bytes() const;
  size_t table_bytes() const;

 private:
  const PrefixConditioner& conditioner_;
  int64_t codebooks_;
  ArTraits traits_;
  Decoder decoder_;
  std::vector<View> tables_;  // of [mask + 1, H], in the stored type
  MovedTables moved_;
  std::vector<PackedLinear> heads_;
};

}  // namespace syrinx::zonos
