// The flow of GLM-4-Voice: speech tokens (12.5 a second) to mel frames (22050 / 256 a second) by
// flow matching with attention over the whole sequence. An answer is therefore made block by block.
// Each call gets all tokens up to the end of the block, and as prompt the mel frames that were
// already sent. The initial noise is that of torch's CPU generator with seed 42, as the authors fix
// it. Source: GLM-4-Voice:cosyvoice/flow/{flow,flow_matching}.py (MaskedDiffWithXvec,
// ConditionalCFM). Const after construction, shared by threads. N tokens, T frames, M mel bands.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "codec/flow_time.h"
#include "codec/glm_flow_encoder.h"
#include "codec/glm_unet.h"

namespace syrinx {

class GlmFlow {
 public:
  /// `weights` is the root of flow.pt.
  GlmFlow(const GlmFlowConfig& config, const Weights& weights, WeightType type);

  const GlmFlowConfig& config() const { return config_; }
  /// Computes the mel of all tokens of an answer so far, without the frames of the prompt: tokens
  /// [N] in [0, vocab); prompt [.., M], fewer than T frames. Returns [T - prompt, M] in the arena.
  View run(StepContext& ctx, std::span<const int32_t> tokens, std::span<const float> prompt) const;
  size_t bytes() const { return encoder_->bytes() + unet_->bytes(); }

 private:
  GlmFlowConfig config_;
  FlowSchedule schedule_;
  Tensor voice_;  // [M]: the published voice, which is that of a zero speaker vector
  std::unique_ptr<GlmFlowEncoder> encoder_;
  std::unique_ptr<GlmUnet> unet_;
};

}  // namespace syrinx
