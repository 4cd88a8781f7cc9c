// The AR stage of finch: a llama-type decoder whose rows are the sum of the last codes and of the
// symbols under the pointer. Const after load.
#pragma once

#include <vector>

#include "families/finch/config.h"
#include "io/weights.h"
#include "kernels/linear.h"
#include "model/stage.h"
#include "nn/decoder.h"

namespace syrinx::finch {

class SpeechLm : public ArStage {
 public:
  /// Scope `weights`: code.K, phone.K, phrase, place, age, layers.N..., norm, head.
  SpeechLm(const FinchConfig& config, const Weights& weights, WeightType type);

  const ArTraits& traits() const override { return traits_; }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  /// Heads 0..2 are the codebooks; head 3 is the pointer's, decided here: its logits are 0 for the
  /// chosen move and -inf for the others.
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;
  /// Of each sequence FinchState::Move::survival.
  size_t scratch_bytes(int emits) const override { return emits * sizeof(float); }
  void values(StepContext& ctx, const ArBatch& batch, View hidden, View codes,
              View out) const override;
  size_t bytes() const;

 private:
  void choose_moves(StepContext& ctx, const ArBatch& batch, View hidden, View out) const;

  ArTraits traits_;
  std::vector<Tensor> tables_;  // one per input id, f32 [rows, H]
  std::vector<View> table_views_;
  Decoder decoder_;
  std::vector<PackedLinear> heads_;  // books, then moves
};

}  // namespace syrinx::finch
