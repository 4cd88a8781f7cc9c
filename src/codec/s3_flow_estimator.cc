#include "codec/s3_flow_estimator.h"

#include <cmath>

#include "codec/flow_time.h"
#include "codec/s3_flow_parts.h"
#include "kernels/activation.h"

namespace syrinx {
namespace {

constexpr int64_t kTaps = 3;

/// A convolution of one tap as a linear.
PackedLinear load_pointwise(const Weights& w, int64_t in, int64_t out, WeightType type) {
  return PackedLinear::pack(w.take("weight", {out, in, 1}).reshape({out, in}), type,
                            w.take("bias", {out}));
}

}  // namespace

S3FlowEstimator::S3FlowEstimator(const S3FlowConfig& config, const Weights& weights,
                                 std::span<const float> times, WeightType type, int64_t max_frames)
    : FlowEstimator(config) {
  SYRINX_CHECK(static_cast<int64_t>(times.size()) == config.steps, "[s3_flow] ", times.size(),
               " times for ", config.steps, " steps");
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  const View time = embed_times(weights, times, ctx);
  const auto section = [&](const std::string& name, int64_t in, bool conv) {
    sections_.push_back(load_section(weights.scope(name), in, conv, time, type));
  };
  section("down_blocks.0", in(), true);
  for (int64_t i = 0; i < config.middle; ++i) {
    section("mid_blocks." + std::to_string(i), config.channels, false);
  }
  section("up_blocks.0", 2 * config.channels, true);
  last_ = load_half(weights.scope("final_block.block"), config.channels, type);
  out_ = load_pointwise(weights.scope("final_proj"), config.channels, config.mel, type);
  const auto sections = std::ssize(sections_);
  hold({.heads = config.unet_heads,
        .dim = config.unet_head_dim,
        .layers = sections * config.blocks,
        .convs = 2 * sections + 3},
       type, max_frames);
}

/// mish(time_mlp(t)) of every step, [steps, 4 C].
View S3FlowEstimator::embed_times(const Weights& weights, std::span<const float> times,
                                  StepContext& ctx) const {
  const int64_t width = 4 * config_.channels, steps = config_.steps;
  const PackedLinear one =
      load_linear(weights, "time_mlp.linear_1", width, in(), true, WeightType::kF32);
  const PackedLinear two =
      load_linear(weights, "time_mlp.linear_2", width, width, true, WeightType::kF32);
  const View code = take_rows(ctx, steps, in()), inner = take_rows(ctx, steps, width);
  const View out = take_rows(ctx, steps, width);
  for (int64_t s = 0; s < steps; ++s) encode_flow_time(times[s], in(), code.f32() + s * in());
  linear(ctx, one, code, inner);
  activate(ctx, Activation::kSilu, inner, inner);
  linear(ctx, two, inner, out);
  activate(ctx, Activation::kMish, out, out);
  return out;
}

S3FlowEstimator::Half S3FlowEstimator::load_half(const Weights& w, int64_t in,
                                                 WeightType type) const {
  const int64_t out = config_.channels;
  return {CausalConv1d(w.take("0.weight", {out, in, kTaps}), w.take("0.bias", {out}),
                       {.type = for_convolution(type)}),
          LayerNorm(w.scope("2"), out, kFlowNormEps)};
}

S3FlowEstimator::Section S3FlowEstimator::load_section(const Weights& weights, int64_t in,
                                                       bool conv, const View& time,
                                                       WeightType type) const {
  const int64_t channels = config_.channels, inner = config_.unet_heads * config_.unet_head_dim;
  const Weights r = weights.scope("0");
  Section section;
  section.resnet.first = load_half(r.scope("block1.block"), in, type);
  section.resnet.second = load_half(r.scope("block2.block"), channels, type);
  section.resnet.residual = load_pointwise(r.scope("res_conv"), in, channels, type);
  const PackedLinear mlp = load_linear(r, "mlp.1", channels, 4 * channels, true, WeightType::kF32);
  section.resnet.time = Tensor({config_.steps, channels}, DType::kF32);
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  linear(ctx, mlp, time, section.resnet.time);
  for (int64_t i = 0; i < config_.blocks; ++i) {
    const Weights b = weights.scope("1", i), attention = b.scope("attn1");
    const LinearPart parts[] = {take_linear(attention, "to_q", inner, channels, false),
                                take_linear(attention, "to_k", inner, channels, false),
                                take_linear(attention, "to_v", inner, channels, false)};
    section.blocks.push_back({LayerNorm(b.scope("norm1"), channels, kFlowNormEps),
                              LayerNorm(b.scope("norm3"), channels, kFlowNormEps),
                              PackedLinear::pack(parts, type),
                              load_linear(attention, "to_out.0", channels, inner, true, type),
                              load_linear(b, "ff.net.0.proj", 4 * channels, channels, true, type),
                              load_linear(b, "ff.net.2", channels, 4 * channels, true, type)});
  }
  section.has_conv = conv;
  if (conv) {
    section.conv = {weights.take("2.weight", {channels, channels, kTaps}),
                    weights.take("2.bias", {channels}),
                    {.type = for_convolution(type)}};
  }
  return section;
}

S3FlowEstimator::State S3FlowEstimator::open(bool whole) const {
  State state;
  state.whole = whole;
  for (int64_t i = 0; i < config_.steps * kBranches; ++i) {
    for (const Section& section : sections_) {
      state.convs.push_back(section.resnet.first.conv.open());
      state.convs.push_back(section.resnet.second.conv.open());
      if (section.has_conv) state.convs.push_back(section.conv.open());
    }
    state.convs.push_back(last_.conv.open());
  }
  return state;
}

View S3FlowEstimator::run_half(StepContext& ctx, const Half& half, Call& call,
                               const View& x) const {
  const View out = take_rows(ctx, x.shape[0], config_.channels);
  convolve(ctx, half.conv, call, x, out);
  half.norm(ctx, out, out);
  activate(ctx, Activation::kMish, out, out);
  return out;
}

void S3FlowEstimator::transform(StepContext& ctx, const Transformer& block, Call& call,
                                const View& x) const {
  Arena::Mark mark(ctx.arena);
  const int heads = static_cast<int>(config_.unet_heads);
  const int dim = static_cast<int>(config_.unet_head_dim);
  const int64_t rows = x.shape[0], inner = int64_t{heads} * dim;
  const View normed = take_rows(ctx, rows, config_.channels);
  const View qkv = take_rows(ctx, rows, 3 * inner), mixed = take_rows(ctx, rows, inner);
  block.before_attention(ctx, x, normed);
  linear(ctx, block.qkv, normed, qkv);
  attend(ctx, call, {qkv, 0, heads, dim}, {qkv, inner, heads, dim}, {qkv, 2 * inner, heads, dim},
         mixed);
  linear_add(ctx, block.out, mixed, x);
  block.before_mlp(ctx, x, normed);
  const View wide = take_rows(ctx, rows, 4 * config_.channels);
  linear(ctx, block.up, normed, wide);
  activate(ctx, Activation::kGelu, wide, wide);
  linear_add(ctx, block.down, wide, x);
}

/// `skip`: receives what leaves the blocks, before the section's own convolution.
View S3FlowEstimator::run_section(StepContext& ctx, const Section& section, Call& call,
                                  const View& input, View* skip) const {
  const int64_t rows = input.shape[0], channels = config_.channels;
  const View x = take_rows(ctx, rows, channels);
  const View convolved = section.has_conv ? take_rows(ctx, rows, channels) : View{};
  {
    Arena::Mark mark(ctx.arena);
    const View h = run_half(ctx, section.resnet.first, call, input);
    add_bias_inplace(
        ctx, h, section.resnet.time.view().slice(call.step, call.step + 1).reshape({channels}));
    const View second = run_half(ctx, section.resnet.second, call, h);
    linear(ctx, section.resnet.residual, input, x);
    add_inplace(ctx, x, second);
  }
  for (const Transformer& block : section.blocks) transform(ctx, block, call, x);
  if (skip) *skip = x;
  if (!section.has_conv) return x;
  convolve(ctx, section.conv, call, x, convolved);
  return convolved;
}

void S3FlowEstimator::run(StepContext& ctx, int64_t step, const View& input, State& state,
                          const View& out) const {
  Arena::Mark mark(ctx.arena);
  const int64_t rows = input.shape[0], channels = config_.channels;
  expect_shape("s3_flow estimator", input, {rows, in()});
  Call call{state, step, rows / kBranches};
  View skip;
  View x = run_section(ctx, sections_.front(), call, input, &skip);
  for (size_t i = 1; i + 1 < sections_.size(); ++i) {
    x = run_section(ctx, sections_[i], call, x, nullptr);
  }
  const View both = take_rows(ctx, rows, 2 * channels);
  for (int64_t i = 0; i < rows; ++i) {
    std::copy_n(x.f32() + i * channels, channels, both.f32() + i * 2 * channels);
    std::copy_n(skip.f32() + i * channels, channels, both.f32() + (i * 2 + 1) * channels);
  }
  x = run_section(ctx, sections_.back(), call, both, nullptr);
  linear(ctx, out_, run_half(ctx, last_, call, x), out);
}

size_t S3FlowEstimator::bytes() const {
  size_t sum = last_.conv.bytes() + out_.bytes();
  for (const Section& s : sections_) {
    sum += s.resnet.first.conv.bytes() + s.resnet.second.conv.bytes() + s.resnet.residual.bytes();
    if (s.has_conv) sum += s.conv.bytes();
    for (const Transformer& t : s.blocks) {
      sum += t.qkv.bytes() + t.out.bytes() + t.up.bytes() + t.down.bytes();
    }
  }
  return sum;
}

}  // namespace syrinx
