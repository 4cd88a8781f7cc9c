#include "codec/glm_unet.h"

#include <cmath>
#include <numeric>

#include "codec/glm_flow_parts.h"
#include "kernels/activation.h"

namespace syrinx {
namespace {

constexpr int64_t kUnetGroups = 8;  // groups of the norms, as in Matcha-TTS
constexpr int64_t kUnetUpTaps = 4;

View columns_beside(StepContext& ctx, const View& a, const View& b) {
  const View out = ctx.arena.take({a.shape[0], a.shape[1] + b.shape[1]}, DType::kF32);
  copy_columns(ctx, a, 0, out);
  copy_columns(ctx, b, a.shape[1], out);
  return out;
}

}  // namespace

struct GlmUnet::Level {
  int64_t frames = 0;
  KvPool pool;
  Ragged ragged;
};

GlmUnet::GlmUnet(const GlmFlowConfig& config, const Weights& weights, const FlowSchedule& schedule,
                 WeightType type)
    : config_(config), kv_type_(type == WeightType::kF32 ? DType::kF32 : DType::kF16) {
  const int64_t c = config.unet.channels;
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  const View time = embed_matcha_times(ctx, weights, schedule, in(), c);
  const auto section = [&](const std::string& name, int64_t width) {
    return load_section(weights.scope(name), width, time, type);
  };
  down_ = section("down_blocks.0", in());
  halve_ = load_three_taps(weights.scope("down_blocks.0.2.conv"), c, c, type);
  inner_down_ = section("down_blocks.1", c);
  inner_conv_ = load_three_taps(weights.scope("down_blocks.1.2"), c, c, type);
  for (int64_t i = 0; i < config.unet.middle; ++i)
    middle_.push_back(section("mid_blocks." + std::to_string(i), c));
  inner_up_ = section("up_blocks.0", 2 * c);
  const Weights doubles = weights.scope("up_blocks.0.2.conv");
  double_ = PackedConvTranspose1d::pack(doubles.take("weight", {c, c, kUnetUpTaps}), 2,
                                        doubles.take("bias", {c}), for_convolution(type));
  up_ = section("up_blocks.1", 2 * c);
  last_conv_ = load_three_taps(weights.scope("up_blocks.1.2"), c, c, type);
  last_ = load_half(weights.scope("final_block.block"), c, type);
  out_ = load_one_tap(weights.scope("final_proj"), config.mel, c, type);
}

GlmUnet::Half GlmUnet::load_half(const Weights& w, int64_t in, WeightType type) const {
  return {load_three_taps(w.scope("0"), config_.unet.channels, in, type),
          GroupNorm(w.scope("1"), config_.unet.channels, kUnetGroups, kGlmFlowNormEps)};
}

GlmUnet::Section GlmUnet::load_section(const Weights& weights, int64_t in, const View& time,
                                       WeightType type) const {
  const int64_t channels = config_.unet.channels, inner = config_.unet.inner();
  const Weights r = weights.scope("0");
  Section section;
  section.first = load_half(r.scope("block1.block"), in, type);
  section.second = load_half(r.scope("block2.block"), channels, type);
  section.residual = load_one_tap(r.scope("res_conv"), channels, in, type);
  section.time = take_resnet_time(r, channels, time);
  for (int64_t i = 0; i < config_.unet.blocks; ++i)
    section.blocks.emplace_back(weights.scope("1", i), channels, inner, type);
  return section;
}

GlmUnet::Level GlmUnet::level(StepContext& ctx, int64_t frames) const {
  const KvSpec spec{1, static_cast<int>(config_.unet.heads),
                    static_cast<int>(config_.unet.head_dim), kv_type_};
  const int64_t pages = kBranches * KvPool::pages_for(frames);
  const View memory =
      ctx.arena.take({pages * static_cast<int64_t>(KvPool::page_bytes(spec))}, DType::kU8);
  const auto row_begin = take_array<int32_t>(ctx, kBranches + 1);
  const auto kv_len = take_array<int32_t>(ctx, kBranches), table = take_array<int32_t>(ctx, pages);
  std::iota(table.begin(), table.end(), 0);
  for (int64_t b = 0; b < kBranches; ++b) {
    row_begin[b + 1] = static_cast<int32_t>((b + 1) * frames);
    kv_len[b] = static_cast<int32_t>(frames);
  }
  row_begin[0] = 0;
  const Ragged ragged{row_begin, kv_len, table, static_cast<int>(pages / kBranches)};
  return {frames, KvPool(spec, pages, memory), resident(ctx, ragged)};
}

View GlmUnet::run_half(StepContext& ctx, const Half& half, const View& x) const {
  const int64_t rows = x.shape[0] / kBranches;
  const View out = ctx.arena.take({x.shape[0], config_.unet.channels}, DType::kF32);
  convolve_each(ctx, half.conv, x, kBranches, out);
  for (int64_t b = 0; b < kBranches; ++b) half.norm(ctx, out.slice(b * rows, (b + 1) * rows));
  activate(ctx, Activation::kMish, out, out);
  return out;
}

void GlmUnet::transform(StepContext& ctx, const MatchaBlock& block, const Level& level,
                        const View& x) const {
  const Arena::Mark mark(ctx.arena);
  const int heads = static_cast<int>(config_.unet.heads);
  const int dim = static_cast<int>(config_.unet.head_dim);
  const int64_t rows = x.shape[0], inner = int64_t{heads} * dim;
  const View normed = ctx.arena.take({rows, config_.unet.channels}, DType::kF32);
  const View qkv = ctx.arena.take({rows, 3 * inner}, DType::kF32);
  const View mixed = ctx.arena.take({rows, inner}, DType::kF32);
  block.before_attention(ctx, x, normed);
  linear(ctx, block.qkv, normed, qkv);
  write_and_attend(ctx, {qkv, 0, heads, dim}, {qkv, inner, heads, dim},
                   {qkv, 2 * inner, heads, dim}, level.pool, 0, level.ragged,
                   {1.f / std::sqrt(static_cast<float>(dim)), 0, false}, mixed);
  linear_add(ctx, block.out, mixed, x);
  block.run_mlp(ctx, x);
}

View GlmUnet::run_section(StepContext& ctx, const Section& section, int64_t step,
                          const Level& level, const View& input) const {
  const View x = ctx.arena.take({input.shape[0], config_.unet.channels}, DType::kF32);
  {
    const Arena::Mark mark(ctx.arena);
    const View h = run_half(ctx, section.first, input);
    add_bias_inplace(ctx, h,
                     section.time.view().slice(step, step + 1).reshape({config_.unet.channels}));
    const View second = run_half(ctx, section.second, h);
    linear(ctx, section.residual, input, x);
    add_inplace(ctx, x, second);
  }
  for (const MatchaBlock& block : section.blocks) transform(ctx, block, level, x);
  return x;
}

/// Doubles the rows of each branch by torch's transposed convolution of 4 taps, stride 2 and
/// padding 1. Drops rows beyond `frames`.
View GlmUnet::up(StepContext& ctx, const View& x, int64_t frames) const {
  const int64_t rows = x.shape[0] / kBranches, width = config_.unet.channels;
  const View out = ctx.arena.take({kBranches * frames, width}, DType::kF32);
  const Arena::Mark mark(ctx.arena);
  const View bordered = with_borders(ctx, x, kBranches);
  const View all = ctx.arena.take({2 * rows + 2, width}, DType::kF32);
  for (int64_t b = 0; b < kBranches; ++b) {
    conv_transpose1d(ctx, double_, bordered.slice(b * (rows + 2), (b + 1) * (rows + 2)), all);
    copy(ctx, all.slice(1, frames + 1), out.slice(b * frames, (b + 1) * frames));
  }
  return out;
}

void GlmUnet::run(StepContext& ctx, int64_t step, const View& input, const View& out) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t rows = input.shape[0], frames = rows / kBranches, half = (frames + 1) / 2;
  const int64_t channels = config_.unet.channels;
  expect_shape("glm_unet", input, {kBranches * frames, in()});
  const Level outer = level(ctx, frames), inner = level(ctx, half);
  const auto convolve = [&](const PackedConv1d& conv, const View& x, int64_t made, int64_t stride) {
    const View to = ctx.arena.take({kBranches * made, channels}, DType::kF32);
    convolve_each(ctx, conv, x, kBranches, to, stride);
    return to;
  };
  const View skip = run_section(ctx, down_, step, outer, input);
  View x = convolve(halve_, skip, half, 2);
  const View inner_skip = run_section(ctx, inner_down_, step, inner, x);
  x = convolve(inner_conv_, inner_skip, half, 1);
  for (const Section& section : middle_) x = run_section(ctx, section, step, inner, x);
  x = run_section(ctx, inner_up_, step, inner, columns_beside(ctx, x, inner_skip));
  x = up(ctx, x, frames);
  x = run_section(ctx, up_, step, outer, columns_beside(ctx, x, skip));
  x = convolve(last_conv_, x, frames, 1);
  linear(ctx, out_, run_half(ctx, last_, x), out);
}

void GlmUnet::Half::move_to(Device device) {
  conv = conv.on_device(device);
  norm.move_to(device);
}

void GlmUnet::Section::move_to(Device device) {
  syrinx::move_to(device, first, second, residual, time, blocks);
}

void GlmUnet::move_to(Device device) {
  syrinx::move_to(device, down_, inner_down_, inner_up_, up_, middle_, last_, out_);
  for (PackedConv1d* conv : {&halve_, &inner_conv_, &last_conv_}) *conv = conv->on_device(device);
  double_ = double_.on_device(device);
}

size_t GlmUnet::bytes() const {
  size_t sum = halve_.bytes() + inner_conv_.bytes() + last_conv_.bytes() + double_.bytes() +
               last_.conv.bytes() + out_.bytes();
  const auto add = [&](const Section& s) {
    sum += s.first.conv.bytes() + s.second.conv.bytes() + s.residual.bytes();
    for (const MatchaBlock& block : s.blocks) sum += block.bytes();
  };
  for (const Section* s : {&down_, &inner_down_, &inner_up_, &up_}) add(*s);
  for (const Section& s : middle_) add(s);
  return sum;
}

}  // namespace syrinx
