#include "codec/glm_flow.h"

#include <algorithm>

#include "kernels/copy.h"
#include "kernels/solver.h"
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
  const View mel = ctx.host.take({frames - known, m}, DType::kF32);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  StepContext cpu(ctx.pool, ctx.host);
  const View mean = encoder_->encode(cpu, tokens);
  // The columns are mean, speaker and prompt.
  const View given = ctx.host.take({frames, 3 * m}, DType::kF32);
  std::vector<float> noise(static_cast<size_t>(m * frames));  // [M, T]
  torch_randn(kGlmNoiseSeed, noise);
  const View start = ctx.host.take({frames, m}, DType::kF32);
  for (int64_t f = 0; f < frames; ++f) {
    float* to = std::copy_n(mean.f32() + f * m, m, given.f32() + f * 3 * m);
    to = std::copy_n(voice_.f32(), m, to);
    if (f < known) {
      std::copy_n(prompt.data() + f * m, m, to);
    } else {
      std::fill_n(to, m, 0.f);
    }
    for (int64_t c = 0; c < m; ++c) start.f32()[f * m + c] = noise[c * frames + f];
  }
  const View x = ctx.arena.take({2 * frames, width}, DType::kF32);
  const View slope = ctx.arena.take({2 * frames, m}, DType::kF32), first = slope.slice(0, frames);
  const View out = ctx.arena.take({frames, m}, DType::kF32);
  fill_zeros(ctx, x);  // without conditions, all columns but those of `out` are zero
  copy_columns(ctx, upload(ctx, given), m, x.slice(0, frames));
  store(ctx, {start.f32(), static_cast<size_t>(start.count())}, out);
  for (int64_t s = 0; s < config_.steps; ++s) {
    copy_columns(ctx, out, 0, x.slice(0, frames));
    copy_columns(ctx, out, 0, x.slice(frames, 2 * frames));
    unet_->run(ctx, s, x, slope);
    const float g = config_.guidance;
    weighted_sum(ctx, 1 + g, first, -g, slope.slice(frames, 2 * frames), first);
    weighted_sum(ctx, 1, out, schedule_.deltas[static_cast<size_t>(s)], first, out);
  }
  fetch(ctx, out.slice(known, frames), {mel.f32(), static_cast<size_t>(mel.count())});
  synchronize(ctx);
  return mel;
}

}  // namespace syrinx
