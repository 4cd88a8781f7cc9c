// The predictor and the joint network of a transducer as an AR stage. The predictor, an LSTM over
// the ids of text so far, runs for sequences with a new id. The joint network adds the predictor's
// output to a row of the encoder. The sequence has the predictor's state, so a step does not depend
// on its position, and no cache exists. Source:
// transformers:src/transformers/models/{nemotron_asr_streaming,parakeet}/modeling_*.py. Const after
// construction. CPU only. E: sequences that yield a step. H: hidden width.
#pragma once

#include <vector>

#include "families/network_stage.h"
#include "families/transducer/config.h"
#include "nn/lstm.h"

namespace syrinx::transducer {

class Transcription;

class JointStage : public NetworkStage {
 public:
  /// Loads both networks. `weights`: the root scope.
  JointStage(const ModelConfig& config, const Weights& weights, WeightType type);

  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  /// Writes the logits of code 0, an id, or of code 1, the index of a duration (TDT).
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;
  size_t bytes() const { return weight_bytes(table_, project_, head_, durations_, lstm_); }

 private:
  void predict(StepContext& ctx, std::span<Transcription* const> behind) const;

  ModelConfig config_;
  Embedding table_;
  std::vector<Lstm> lstm_;
  PackedLinear project_, head_, durations_;
};

}  // namespace syrinx::transducer
