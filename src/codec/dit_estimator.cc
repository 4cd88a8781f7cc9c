#include "codec/dit_estimator.h"

#include "codec/flow_time.h"
#include "codec/s3_flow_parts.h"
#include "kernels/activation.h"
#include "kernels/norm.h"

namespace syrinx {
namespace {

constexpr float kModulatedEps = 1e-6f;
constexpr int64_t kTimeCode = 256;  // numbers that encode a time; fixed in the authors' code
constexpr int64_t kDitTaps = 3;
// Parts of a block's modulation, in the authors' order; attention, MLP and convolutions have three
// each.
enum Part { kShift, kScale, kGate, kParts };
constexpr int64_t kAttention = 0, kMlp = kParts, kConv = 2 * kParts;

}  // namespace

View DitEstimator::Modulation::part(int64_t step, int64_t number) const {
  const int64_t width = values.shape()[2];
  return values.view()
      .slice(step, step + 1)
      .reshape({values.shape()[1], width})
      .slice(number, number + 1)
      .reshape({width});
}

DitEstimator::DitEstimator(const S3FlowConfig& config, const Weights& weights,
                           std::span<const float> times, WeightType type, int64_t max_frames)
    : FlowEstimator(config), dit_(*config.dit) {
  SYRINX_CHECK(std::ssize(times) == config.steps, "[dit] ", times.size(), " times for ",
               config.steps, " steps");
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  const View time = embed_times(weights, times, ctx);
  in_ = load_linear(weights, "in_proj", dit_.width, in(), true, type);
  for (int64_t i = 0; i < dit_.depth; ++i)
    blocks_.push_back(load_block(weights.scope("blocks", i), time, type));
  last_ = load_modulation(weights.scope("final_layer"), 2, time);
  out_ = load_linear(weights, "final_layer.linear", config.mel, dit_.width, true, type);
  hold({.heads = dit_.heads, .dim = dit_.head_dim, .layers = dit_.depth, .convs = 2 * dit_.depth},
       type, max_frames);
}

/// Computes silu(t_embedder(t)) of every step, [steps, W].
View DitEstimator::embed_times(const Weights& weights, std::span<const float> times,
                               StepContext& ctx) const {
  const int64_t steps = config_.steps, width = dit_.width;
  const PackedLinear one =
      load_linear(weights, "t_embedder.mlp.0", width, kTimeCode, true, WeightType::kF32);
  const PackedLinear two =
      load_linear(weights, "t_embedder.mlp.2", width, width, true, WeightType::kF32);
  const View code = take_rows(ctx, steps, kTimeCode), inner = take_rows(ctx, steps, width);
  const View out = take_rows(ctx, steps, width);
  for (int64_t s = 0; s < steps; ++s)
    encode_dit_time(times[static_cast<size_t>(s)], kTimeCode, code.f32() + s * kTimeCode);
  linear(ctx, one, code, inner);
  activate(ctx, Activation::kSilu, inner, inner);
  linear(ctx, two, inner, out);
  activate(ctx, Activation::kSilu, out, out);
  return out;
}

DitEstimator::Modulation DitEstimator::load_modulation(const Weights& weights, int64_t parts,
                                                       const View& time) const {
  const int64_t width = dit_.width, steps = config_.steps;
  const PackedLinear all =
      load_linear(weights, "adaLN_modulation.1", parts * width, width, true, WeightType::kF32);
  Modulation made{Tensor({steps, parts, width}, DType::kF32)};
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  linear(ctx, all, time, made.values.view().reshape({steps, parts * width}));
  for (int64_t i = 0; i < steps * parts; ++i) {
    if (i % parts % kParts != kScale) continue;
    float* scale = made.values.f32() + i * width;
    for (int64_t c = 0; c < width; ++c) scale[c] += 1;
  }
  return made;
}

DitEstimator::Block DitEstimator::load_block(const Weights& w, const View& time,
                                             WeightType type) const {
  const int64_t width = dit_.width, inner = dit_.heads * dit_.head_dim;
  const Weights attention = w.scope("attn"), conv = w.scope("conv.block");
  const auto taps = [&](const char* name) {
    return CausalConv1d(conv.scope(name).take("weight", {width, width, kDitTaps}),
                        conv.scope(name).take("bias", {width}), {.type = for_convolution(type)});
  };
  const LinearPart parts[] = {take_linear(attention, "to_q", inner, width, true),
                              take_linear(attention, "to_k", inner, width, true),
                              take_linear(attention, "to_v", inner, width, true)};
  return {load_modulation(w, 3 * kParts, time),
          PackedLinear::pack(parts, type),
          load_linear(attention, "proj", width, inner, true, type),
          LayerNorm(attention.scope("q_norm"), dit_.head_dim, kFlowNormEps),
          LayerNorm(attention.scope("k_norm"), dit_.head_dim, kFlowNormEps),
          taps("1"),
          taps("6"),
          LayerNorm(conv.scope("3"), width, kFlowNormEps),
          load_linear(w, "mlp.fc1", dit_.ffn, width, true, type),
          load_linear(w, "mlp.fc2", width, dit_.ffn, true, type)};
}

FlowEstimator::State DitEstimator::open(bool whole) const {
  State state;
  state.whole = whole;
  for (int64_t i = 0; i < config_.steps * config_.branches(); ++i) {
    for (const Block& block : blocks_) {
      state.convs.push_back(block.first.open());
      state.convs.push_back(block.second.open());
    }
  }
  return state;
}

void DitEstimator::run(StepContext& ctx, const Block& block, Call& call, const View& x) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t rows = x.shape[0], width = dit_.width;
  const int heads = static_cast<int>(dit_.heads), dim = static_cast<int>(dit_.head_dim);
  const int64_t inner = int64_t{heads} * dim;
  const View normed = take_rows(ctx, rows, width), branch = take_rows(ctx, rows, width);
  const auto norm = [&](int64_t part) {
    layer_norm(ctx, x, block.time.part(call.step, part + kScale),
               block.time.part(call.step, part + kShift), kModulatedEps, normed);
  };
  const auto add = [&](int64_t part) {
    add_scaled_inplace(ctx, x, branch, block.time.part(call.step, part + kGate));
  };
  norm(kAttention);
  const View q = take_rows(ctx, rows, inner), k = take_rows(ctx, rows, inner);
  const View v = take_rows(ctx, rows, inner), mixed = take_rows(ctx, rows, inner);
  const View each[] = {q, k, v};
  linear_parts(ctx, block.qkv, normed, each);
  const Shape by_head{rows * heads, dim};
  block.q_norm(ctx, q.reshape(by_head), q.reshape(by_head));
  block.k_norm(ctx, k.reshape(by_head), k.reshape(by_head));
  attend(ctx, call, {q, 0, heads, dim}, {k, 0, heads, dim}, {v, 0, heads, dim}, mixed);
  linear(ctx, block.out, mixed, branch);
  add(kAttention);

  norm(kConv);
  convolve(ctx, block.first, call, normed, branch);
  block.between(ctx, branch, branch);
  activate(ctx, Activation::kMish, branch, normed);
  convolve(ctx, block.second, call, normed, branch);
  add(kConv);

  norm(kMlp);
  const View wide = take_rows(ctx, rows, dit_.ffn);
  linear(ctx, block.up, normed, wide);
  activate(ctx, Activation::kGeluTanh, wide, wide);
  linear(ctx, block.down, wide, branch);
  add(kMlp);
}

void DitEstimator::run(StepContext& ctx, int64_t step, const View& input, State& state,
                       const View& out) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t rows = input.shape[0];
  expect_shape("dit estimator", input, {rows, in()});
  Call call{state, step, rows / config_.branches()};
  const View x = take_rows(ctx, rows, dit_.width);
  linear(ctx, in_, input, x);
  for (const Block& block : blocks_) run(ctx, block, call, x);
  layer_norm(ctx, x, last_.part(step, kScale), last_.part(step, kShift), kModulatedEps, x);
  linear(ctx, out_, x, out);
}

size_t DitEstimator::bytes() const {
  size_t sum = in_.bytes() + out_.bytes();
  for (const Block& b : blocks_)
    sum += b.qkv.bytes() + b.out.bytes() + b.first.bytes() + b.second.bytes() + b.up.bytes() +
           b.down.bytes();
  return sum;
}

}  // namespace syrinx
