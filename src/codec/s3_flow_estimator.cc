#include "codec/s3_flow_estimator.h"

#include <cmath>

#include "codec/s3_flow_parts.h"
#include "kernels/activation.h"
#include "kernels/copy.h"

namespace syrinx {
namespace {

constexpr int64_t kTaps = 3;

}  // namespace

S3FlowEstimator::S3FlowEstimator(const S3FlowConfig& config, const Weights& weights,
                                 const FlowSchedule& schedule, WeightType type, int64_t max_frames)
    : FlowEstimator(config) {
  SYRINX_CHECK(std::ssize(schedule.times) == config.steps, "[s3_flow] ", schedule.times.size(),
               " times, but ", config.steps, " steps");
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  const View time = embed_matcha_times(ctx, weights, schedule, in(), config.unet.channels);
  const auto section = [&](const std::string& name, int64_t in, bool conv) {
    sections_.push_back(load_section(weights.scope(name), in, conv, time, type));
  };
  section("down_blocks.0", in(), true);
  for (int64_t i = 0; i < config.unet.middle; ++i) {
    section("mid_blocks." + std::to_string(i), config.unet.channels, false);
  }
  section("up_blocks.0", 2 * config.unet.channels, true);
  last_ = load_half(weights.scope("final_block.block"), config.unet.channels, type);
  out_ = load_one_tap(weights.scope("final_proj"), config.mel, config.unet.channels, type);
  hold({.heads = config.unet.heads,
        .dim = config.unet.head_dim,
        .layers = std::ssize(sections_) * config.unet.blocks},
       type, max_frames);
}

S3FlowEstimator::Half S3FlowEstimator::load_half(const Weights& w, int64_t in,
                                                 WeightType type) const {
  const int64_t out = config_.unet.channels;
  return {CausalConv1d(w.take("0.weight", {out, in, kTaps}), w.take("0.bias", {out}),
                       {.type = for_convolution(type)}),
          LayerNorm(w.scope("2"), out, kFlowNormEps)};
}

S3FlowEstimator::Section S3FlowEstimator::load_section(const Weights& weights, int64_t in,
                                                       bool conv, const View& time,
                                                       WeightType type) const {
  const int64_t channels = config_.unet.channels, inner = config_.unet.inner();
  const Weights r = weights.scope("0");
  Section section;
  section.resnet.first = load_half(r.scope("block1.block"), in, type);
  section.resnet.second = load_half(r.scope("block2.block"), channels, type);
  section.resnet.residual = load_one_tap(r.scope("res_conv"), channels, in, type);
  section.resnet.time = take_resnet_time(r, channels, time);
  for (int64_t i = 0; i < config_.unet.blocks; ++i)
    section.blocks.emplace_back(weights.scope("1", i), channels, inner, type);
  section.has_conv = conv;
  if (conv) {
    section.conv = {weights.take("2.weight", {channels, channels, kTaps}),
                    weights.take("2.bias", {channels}),
                    {.type = for_convolution(type)}};
  }
  return section;
}

std::vector<const CausalConv1d*> S3FlowEstimator::convolutions() const {
  std::vector<const CausalConv1d*> all;
  for (const Section& section : sections_) {
    all.push_back(&section.resnet.first.conv);
    all.push_back(&section.resnet.second.conv);
    if (section.has_conv) all.push_back(&section.conv);
  }
  all.push_back(&last_.conv);
  return all;
}

void S3FlowEstimator::move_weights(Device device) {
  const auto move = [&](Half& half) { syrinx::move_to(device, half.conv, half.norm); };
  for (Section& s : sections_) {
    move(s.resnet.first);
    move(s.resnet.second);
    syrinx::move_to(device, s.resnet.residual, s.resnet.time, s.blocks);
    if (s.has_conv) s.conv.move_to(device);
  }
  move(last_);
  syrinx::move_to(device, out_);
}

View S3FlowEstimator::run_half(StepContext& ctx, const Half& half, Call& call,
                               const View& x) const {
  const View out = take_rows(ctx, x.shape[0], config_.unet.channels);
  convolve(ctx, half.conv, call, x, out);
  half.norm(ctx, out, out);
  activate(ctx, Activation::kMish, out, out);
  return out;
}

void S3FlowEstimator::transform(StepContext& ctx, const MatchaBlock& block, Call& call,
                                const View& x) const {
  Arena::Mark mark(ctx.arena);
  const int heads = static_cast<int>(config_.unet.heads);
  const int dim = static_cast<int>(config_.unet.head_dim);
  const int64_t rows = x.shape[0], inner = int64_t{heads} * dim;
  const View normed = take_rows(ctx, rows, config_.unet.channels);
  const View qkv = take_rows(ctx, rows, 3 * inner), mixed = take_rows(ctx, rows, inner);
  block.before_attention(ctx, x, normed);
  linear(ctx, block.qkv, normed, qkv);
  attend(ctx, call, {qkv, 0, heads, dim}, {qkv, inner, heads, dim}, {qkv, 2 * inner, heads, dim},
         mixed);
  linear_add(ctx, block.out, mixed, x);
  block.run_mlp(ctx, x);
}

/// Runs a section. `skip` gets the output of its blocks, before the section's own convolution.
View S3FlowEstimator::run_section(StepContext& ctx, const Section& section, Call& call,
                                  const View& input, View* skip) const {
  const int64_t rows = input.shape[0], channels = config_.unet.channels;
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
  for (const MatchaBlock& block : section.blocks) transform(ctx, block, call, x);
  if (skip) *skip = x;
  if (!section.has_conv) return x;
  convolve(ctx, section.conv, call, x, convolved);
  return convolved;
}

void S3FlowEstimator::run(StepContext& ctx, const Chunks& chunks, int64_t step, const View& input,
                          const View& out) const {
  Arena::Mark mark(ctx.arena);
  const int64_t rows = input.shape[0], channels = config_.unet.channels;
  expect_shape("s3_flow estimator", input, {rows, in()});
  Call call{chunks, step};
  View skip;
  View x = run_section(ctx, sections_.front(), call, input, &skip);
  for (size_t i = 1; i + 1 < sections_.size(); ++i) {
    x = run_section(ctx, sections_[i], call, x, nullptr);
  }
  const View both = take_rows(ctx, rows, 2 * channels);
  copy_columns(ctx, x, 0, both);
  copy_columns(ctx, skip, channels, both);
  x = run_section(ctx, sections_.back(), call, both, nullptr);
  linear(ctx, out_, run_half(ctx, last_, call, x), out);
}

size_t S3FlowEstimator::bytes() const {
  size_t sum = last_.conv.bytes() + out_.bytes();
  for (const Section& s : sections_) {
    sum += s.resnet.first.conv.bytes() + s.resnet.second.conv.bytes() + s.resnet.residual.bytes();
    if (s.has_conv) sum += s.conv.bytes();
    for (const MatchaBlock& block : s.blocks) sum += block.bytes();
  }
  return sum;
}

}  // namespace syrinx
