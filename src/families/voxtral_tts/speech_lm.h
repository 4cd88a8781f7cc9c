// Voxtral's language model as an AR stage. A step chooses the first code of a frame; its other
// codes, which the flow computes, are the only choices of their logits. Const after construction,
// shared by threads. E: sequences that yield a step. A: codes of a frame after the first.
#pragma once

#include "families/spoken/codec_lm.h"
#include "families/voxtral_tts/flow_head.h"

namespace syrinx::voxtral_tts {

class SpeechLm : public CodecLm {
 public:
  /// Loads the networks from the root of a checkpoint, which must outlive this object, because the
  /// tables are not copied.
  SpeechLm(const ModelConfig& config, const Weights& weights, WeightType type);

  /// Moves the weights.
  void move_to(Device device);
  size_t scratch_bytes(int emits) const override;
  bool fill(StepContext& ctx, const ArBatch& batch, std::span<int32_t> out,
            std::vector<uint64_t>& key) const override;
  int64_t fill_size(int rows) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;
  const FlowHead& flow() const { return flow_; }

 private:
  /// Returns the numbers that a frame's flow needs: noise [E, A], then FlowHead::run()'s guidance.
  std::span<float> flow_numbers(StepContext& ctx, const ArBatch& batch) const;
  void run_flow(StepContext& ctx, const ArBatch& batch, const View& hidden, const View& x) const;

  const int64_t acoustic_;  // codes of a frame after the first
  FlowHead flow_;
};

}  // namespace syrinx::voxtral_tts
