#include "codec/glm_flow.h"

#include <algorithm>

#include "kernels/torch_random.h"

namespace syrinx {
namespace {

constexpr uint32_t kGlmNoiseSeed = 42;
constexpr int64_t kGlmNoisePiece = 16;  // how many numbers torch draws at a time

}  // namespace

GlmFlow::GlmFlow(const GlmFlowConfig& config, const Weights& weights, WeightType type)
    : config_(config),
      schedule_(cosine_schedule(config.steps)),
      voice_(weights.f32("spk_embed_affine_layer.bias", {config.mel})) {
  SYRINX_CHECK(config.mel % kGlmNoisePiece == 0, "[glm_flow] mel bands must be a multiple of ",
               kGlmNoisePiece, ", got ", config.mel);
  // The projection of a zero vector is the bias. Only other voices would need the weight.
  weights.take("spk_embed_affine_layer.weight", {config.mel, config.speaker});
  encoder_ = std::make_unique<GlmFlowEncoder>(config, weights, for_many_rows(type));
  unet_ = std::make_unique<GlmUnet>(config, weights.scope("decoder.estimator"), schedule_,
                                    for_many_rows(type));
}

View GlmFlow::run(StepContext& ctx, std::span<const int32_t> tokens,
                  std::span<const float> prompt) const {
  const int64_t m = config_.mel, frames = config_.frames(std::ssize(tokens));
  const int64_t known = std::ssize(prompt) / m, width = unet_->in();
  SYRINX_CHECK(known < frames, "[glm_flow] the prompt has ", known,
               " frames, but the tokens yield only ", frames);
  const View out = ctx.arena.take({frames, m}, DType::kF32);
  const Arena::Mark mark(ctx.arena);
  const View mean = encoder_->encode(ctx, tokens);
  const View x = ctx.arena.take({2 * frames, width}, DType::kF32);
  const View slope = ctx.arena.take({2 * frames, m}, DType::kF32);
  std::vector<float> noise(static_cast<size_t>(m * frames));  // [M, T]
  torch_randn(kGlmNoiseSeed, noise);
  // The columns are x, mean, speaker and prompt. Without conditions, all but x are zero.
  std::fill_n(x.f32(), x.count(), 0.f);
  for (int64_t f = 0; f < frames; ++f) {
    float* row = x.f32() + f * width;
    std::copy_n(mean.f32() + f * m, m, row + m);
    std::copy_n(voice_.f32(), m, row + 2 * m);
    if (f < known) std::copy_n(prompt.data() + f * m, m, row + 3 * m);
    for (int64_t c = 0; c < m; ++c) out.f32()[f * m + c] = noise[c * frames + f];
  }
  for (int64_t s = 0; s < config_.steps; ++s) {
    for (int64_t f = 0; f < frames; ++f) {
      std::copy_n(out.f32() + f * m, m, x.f32() + f * width);
      std::copy_n(out.f32() + f * m, m, x.f32() + (frames + f) * width);
    }
    unet_->run(ctx, s, x, slope);
    const float g = config_.guidance;
    for (int64_t i = 0; i < frames * m; ++i) {
      const float direction = (1 + g) * slope.f32()[i] - g * slope.f32()[frames * m + i];
      out.f32()[i] += schedule_.deltas[s] * direction;
    }
  }
  return out.slice(known, frames);
}

}  // namespace syrinx
