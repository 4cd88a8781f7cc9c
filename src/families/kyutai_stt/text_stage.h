// The language model of a Kyutai recogniser as an AR stage: a step reads the row of a frame and the
// last id of the text, and yields the next id. The sequence has the keys and values of the last
// `context` steps, so no engine cache exists and a recording may be of any length. Source:
// moshi:moshi/models/lm.py. Const after construction. CPU only. E: sequences that yield a step. H:
// width.
#pragma once

#include "families/kyutai_stt/config.h"
#include "model/stage.h"
#include "nn/stream_decoder.h"

namespace syrinx::kyutai_stt {

class TextStage : public ArStage {
 public:
  /// `weights`: the root scope of the language model's file. It must outlive this object.
  TextStage(const ModelConfig& config, const Weights& weights, WeightType type);

  /// Opens the keys and values of a recording.
  StreamKv open() const { return decoder_.open(); }
  const ArTraits& traits() const override { return traits_; }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;
  size_t bytes() const { return decoder_.bytes() + table_.bytes() + head_.bytes(); }
  size_t state_bytes() const { return decoder_.state_bytes(); }

 private:
  ArTraits traits_;
  StreamDecoder decoder_;
  View table_;  // [text_in + 1, H]
  PackedLinear head_;
};

}  // namespace syrinx::kyutai_stt
