// The flow of GLM-4-Voice: speech tokens (12.5 a second) to mel frames (22050 / 256 a second) by
// flow matching with attention over the whole sequence. An answer is computed block by block. Each
// block runs the sequence again: all tokens up to the block's end, with the mel frames already sent
// as the prompt. The initial noise is that of torch's CPU generator with the authors' seed 42.
// Source: GLM-4-Voice:cosyvoice/flow/{flow,flow_matching}.py (MaskedDiffWithXvec, ConditionalCFM).
// Const after construction, shared by threads. N tokens, T frames, M mel bands.
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
  /// Computes the mel of all tokens of an answer so far, without the frames of the prompt. tokens
  /// [N] in [0, vocab), which yield T frames; prompt [P, M], P < T. Returns [T - P, M] in ctx.host.
  View run(StepContext& ctx, std::span<const int32_t> tokens, std::span<const float> prompt) const;
  /// Moves the estimator, which is most of the work, to a GPU. The context of run() must then be of
  /// the GPU.
  void move_to(Device device) { unet_->move_to(device); }
  Device device() const { return unet_->device(); }
  size_t bytes() const { return encoder_->bytes() + unet_->bytes(); }

 private:
  GlmFlowConfig config_;
  FlowSchedule schedule_;
  Tensor voice_;  // [M]: the published voice, computed from a zero speaker vector
  std::unique_ptr<GlmFlowEncoder> encoder_;
  std::unique_ptr<GlmUnet> unet_;
};

}  // namespace syrinx
