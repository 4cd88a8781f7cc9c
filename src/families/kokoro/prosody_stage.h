// The AR node of Kokoro, which has no loop: one step reads an utterance. The rows are phonemes, so
// the engine can count the cost of a step. The network runs at the last row of an utterance, for
// the utterances of all requests of a batch. The node has no cache. Const after construction.
#pragma once

#include "families/kokoro/prosody.h"
#include "families/network_stage.h"

namespace syrinx::kokoro {

class ProsodyStage : public NetworkStage {
 public:
  ProsodyStage(const KokoroConfig& config, const Prosody& prosody);

  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;
  void values(StepContext& ctx, const ArBatch& batch, View hidden, View codes,
              View out) const override;

 private:
  const Prosody& prosody_;
  size_t style_ = 0;
};

}  // namespace syrinx::kokoro
