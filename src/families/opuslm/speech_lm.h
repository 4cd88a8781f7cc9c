// The language model as an AR stage: an OLMo-2 or Llama decoder whose input row is the sum of the
// embeddings of S ids, and whose step makes a choice of every stream with the one head,
// logits_s = W (h + e_s), of which only the rows are computed that stream s may choose.
// Const after construction. N rows of the batch, H width, S streams.
// Source: espnet:espnet2/speechlm/core_lm/{ar_parallel,ar_delay}.py.
#pragma once

#include <vector>

#include "families/opuslm/config.h"
#include "io/weights.h"
#include "model/stage.h"
#include "nn/decoder.h"

namespace syrinx::opuslm {

class SpeechLm : public ArStage {
 public:
  /// `weights` is the checkpoint's root, with ESPnet's names or those of its converter, and must
  /// outlive this: the table is not copied.
  SpeechLm(const ModelConfig& config, const Weights& weights, WeightType type);

  const ArTraits& traits() const override { return traits_; }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;

  /// The input rows of a batch, [N, H]; in the arena.
  View embed_rows(StepContext& ctx, const ArBatch& batch) const;
  const DecoderConfig& decoder() const { return decoder_.config(); }
  size_t bytes() const;
  size_t table_bytes() const { return tables_.front().bytes(); }

 private:
  ArTraits traits_;
  Decoder decoder_;
  std::vector<View> tables_;  // S times the same, as stored
  std::vector<PackedLinear> heads_;
};

}  // namespace syrinx::opuslm
