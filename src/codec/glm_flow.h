// The flow of GLM-4-Voice: speech tokens (12.5 a second) to mel frames (22050 / 256 a second) by
// flow matching in which everything sees everything. An answer is therefore made block by block,
// each block together with all tokens before it and with the mel that was sent of those as a
// prompt. The noise that a call starts from is that of torch's CPU generator with seed 42, as the
// authors fix it. Source: GLM-4-Voice:cosyvoice/flow/{flow,flow_matching}.py (MaskedDiffWithXvec,
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
  /// The mel of all tokens of an answer so far, without the frames of the prompt: tokens [N] in
  /// [0, vocab); prompt [.., M], fewer than T frames. Returns [T - prompt, M] in the arena.
  View run(StepContext& ctx, std::span<const int32_t> tokens, std::span<const float> prompt) const;
  size_t bytes() const { return encoder_->bytes() + unet_->bytes(); }

 private:
  GlmFlowConfig config_;
  FlowSchedule schedule_;
  Tensor voice_;  // [M]: the published voice, that of a speaker vector of zeros
  std::unique_ptr<GlmFlowEncoder> encoder_;
  std::unique_ptr<GlmUnet> unet_;
};

}  // namespace syrinx
