#include "codec/matcha_parts.h"

#include <algorithm>

#include "kernels/activation.h"

namespace syrinx {
namespace {

PackedLinear load_qkv(const Weights& attention, int64_t channels, int64_t inner, WeightType type) {
  const LinearPart parts[] = {take_linear(attention, "to_q", inner, channels, false),
                              take_linear(attention, "to_k", inner, channels, false),
                              take_linear(attention, "to_v", inner, channels, false)};
  return PackedLinear::pack(parts, type);
}

}  // namespace

MatchaBlock::MatchaBlock(const Weights& weights, int64_t channels, int64_t inner, WeightType type)
    : before_attention(weights.scope("norm1"), channels, kMatchaNormEps),
      before_mlp(weights.scope("norm3"), channels, kMatchaNormEps),
      qkv(load_qkv(weights.scope("attn1"), channels, inner, type)),
      out(load_linear(weights, "attn1.to_out.0", channels, inner, true, type)),
      up(load_linear(weights, "ff.net.0.proj", 4 * channels, channels, true, type)),
      down(load_linear(weights, "ff.net.2", channels, 4 * channels, true, type)) {}

void MatchaBlock::run_mlp(StepContext& ctx, const View& x) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t rows = x.shape[0], channels = x.shape[1];
  const View normed = ctx.arena.take({rows, channels}, DType::kF32);
  const View wide = ctx.arena.take({rows, 4 * channels}, DType::kF32);
  before_mlp(ctx, x, normed);
  linear(ctx, up, normed, wide);
  activate(ctx, Activation::kGelu, wide, wide);
  linear_add(ctx, down, wide, x);
}

View embed_matcha_times(StepContext& ctx, const Weights& weights, const FlowSchedule& schedule,
                        int64_t in, int64_t channels) {
  const int64_t width = 4 * channels, steps = std::ssize(schedule.times);
  const PackedLinear one =
      load_linear(weights, "time_mlp.linear_1", width, in, true, WeightType::kF32);
  const PackedLinear two =
      load_linear(weights, "time_mlp.linear_2", width, width, true, WeightType::kF32);
  const auto embed = [&](std::span<const float> times) {
    const View code = ctx.arena.take({steps, in}, DType::kF32);
    const View inner = ctx.arena.take({steps, width}, DType::kF32);
    const View out = ctx.arena.take({steps, width}, DType::kF32);
    for (int64_t s = 0; s < steps; ++s) {
      encode_flow_time(times[static_cast<size_t>(s)], in, code.f32() + s * in);
    }
    linear(ctx, one, code, inner);
    activate(ctx, Activation::kSilu, inner, inner);
    linear(ctx, two, inner, out);
    return out;
  };
  View out = embed(schedule.times);
  if (!schedule.ends.empty()) {
    const PackedLinear mixer =
        load_linear(weights, "time_embed_mixer", width, 2 * width, false, WeightType::kF32);
    const View ends = embed(schedule.ends);
    const View both = ctx.arena.take({steps, 2 * width}, DType::kF32);
    for (int64_t s = 0; s < steps; ++s) {
      std::copy_n(out.f32() + s * width, width, both.f32() + s * 2 * width);
      std::copy_n(ends.f32() + s * width, width, both.f32() + (s * 2 + 1) * width);
    }
    out = ctx.arena.take({steps, width}, DType::kF32);
    linear(ctx, mixer, both, out);
  }
  activate(ctx, Activation::kMish, out, out);
  return out;
}

Tensor take_resnet_time(const Weights& weights, int64_t channels, const View& time) {
  const PackedLinear mlp =
      load_linear(weights, "mlp.1", channels, 4 * channels, true, WeightType::kF32);
  Tensor out({time.shape[0], channels}, DType::kF32);
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  linear(ctx, mlp, time, out);
  return out;
}

PackedLinear load_one_tap(const Weights& weights, int64_t out, int64_t in, WeightType type) {
  return PackedLinear::pack(weights.take("weight", {out, in, 1}).reshape({out, in}), type,
                            weights.take("bias", {out}));
}

}  // namespace syrinx
