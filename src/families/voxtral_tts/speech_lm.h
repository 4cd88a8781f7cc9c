// Voxtral's language model as an AR stage. A step chooses the first code of a frame; its other
// codes, which the flow computes, are the only choices of their logits. CPU only. Const after
// construction, shared by threads.
#pragma once

#include "families/spoken/codec_lm.h"
#include "families/voxtral_tts/flow_head.h"

namespace syrinx::voxtral_tts {

class SpeechLm : public CodecLm {
 public:
  /// Loads the networks from the root of a checkpoint, which must outlive this object, because the
  /// tables are not copied.
  SpeechLm(const ModelConfig& config, const Weights& weights, WeightType type);

  size_t scratch_bytes(int emits) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;
  const FlowHead& flow() const { return flow_; }

 private:
  void run_flow(StepContext& ctx, const ArBatch& batch, const View& hidden, const View& codes,
                std::span<int32_t> made) const;

  const int64_t acoustic_;  // codes of a frame after the first
  FlowHead flow_;
};

}  // namespace syrinx::voxtral_tts
