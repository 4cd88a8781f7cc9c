#include "codec/dit_estimator.h"

#include "codec/flow_time.h"
#include "codec/s3_flow_parts.h"
#include "kernels/activation.h"
#include "kernels/norm.h"

namespace syrinx {
namespace {

constexpr float kModulatedEps = 1e-6f;
constexpr int64_t kTimeCode = 256;  // length of an encoded time; constant in the authors' code
constexpr int64_t kDitTaps = 3;
constexpr int64_t kNearTaps = 31, kNearGroups = 16;
constexpr int64_t kCachedPositions = 3000;  // positions of one minute
// Parts of a block's modulation, in the authors' order. Attention, MLP and convolutions each have
// three parts.
enum Part { kShift, kScale, kGate, kParts };
constexpr int64_t kAttention = 0, kMlp = kParts, kConv = 2 * kParts;

/// Names of parts in the scope of the estimator or of a block, for both forms.
struct DitNames {
  const char *time[2], *blocks, *modulation, *attended, *up, *down, *last, *out;
  int64_t last_scale;  ///< index of the scale among the last modulation's two parts
};
constexpr DitNames kDitNames[] = {{{"t_embedder.mlp.0", "t_embedder.mlp.2"},
                                   "blocks",
                                   "adaLN_modulation.1",
                                   "attn.proj",
                                   "mlp.fc1",
                                   "mlp.fc2",
                                   "final_layer.adaLN_modulation.1",
                                   "final_layer.linear",
                                   1},
                                  {{"time_embed.time_mlp.0", "time_embed.time_mlp.2"},
                                   "transformer_blocks",
                                   "attn_norm.linear",
                                   "attn.to_out.0",
                                   "ff.ff.0.0",
                                   "ff.ff.2",
                                   "norm_out.linear",
                                   "proj_out",
                                   0}};
const DitNames& names_of(const DitConfig& dit) { return kDitNames[static_cast<size_t>(dit.form)]; }

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
  SYRINX_CHECK(std::ssize(times) == config.steps, "[dit] got ", times.size(), " times for ",
               config.steps, " steps");
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  const View time = embed_times(weights, times, ctx);
  const DitNames& names = names_of(dit_);
  in_ = load_input(weights, type);
  if (rotary()) {
    for (int64_t i = 0; i < 2; ++i) {
      const Weights conv = weights.scope(concat("input_embed.conv_pos_embed.conv", i + 1, ".0"));
      near_[i] = {conv.take("weight", {dit_.width, dit_.width / kNearGroups, kNearTaps}),
                  conv.take("bias", {dit_.width}),
                  {.groups = kNearGroups, .type = for_convolution(type)}};
    }
    weights.ignore("rotary_embed.inv_freq");  // the size of a head determines it
    rope_ = RopeTable({.dim = static_cast<int>(dit_.head_dim), .layout = RopeLayout::kInterleaved},
                      kCachedPositions);
  }
  for (int64_t i = 0; i < dit_.depth; ++i)
    blocks_.push_back(load_block(weights.scope(names.blocks, i), time, type));
  last_ = load_modulation(weights.scope(names.last), 2, names.last_scale, time);
  out_ = load_linear(weights, names.out, config.mel, dit_.width, true, type);
  hold({.heads = dit_.heads, .dim = dit_.head_dim, .layers = dit_.depth}, type, max_frames);
}

/// Loads the first layer. The rotary form's columns have the order x, prompt, mean, speaker.
PackedLinear DitEstimator::load_input(const Weights& weights, WeightType type) const {
  if (!rotary()) return load_linear(weights, "in_proj", dit_.width, in(), true, type);
  const Weights w = weights.scope("input_embed.proj");
  const Tensor stored = w.f32("weight", {dit_.width, in()});
  Tensor ordered(stored.shape(), DType::kF32);
  const int64_t mel = config_.mel;
  constexpr int64_t kStored[] = {0, 2, 3, 1};  // indices of x, mean, speaker, prompt
  for (int64_t row = 0; row < dit_.width; ++row) {
    for (int64_t part = 0; part < 4; ++part) {
      std::copy_n(stored.f32() + row * in() + kStored[part] * mel, mel,
                  ordered.f32() + row * in() + part * mel);
    }
  }
  const LinearPart whole{ordered, w.take("bias", {dit_.width})};
  return PackedLinear::pack({&whole, 1}, type);
}

/// Computes silu(t_embedder(t)) of every step, [steps, W].
View DitEstimator::embed_times(const Weights& weights, std::span<const float> times,
                               StepContext& ctx) const {
  const int64_t steps = config_.steps, width = dit_.width;
  const PackedLinear one =
      load_linear(weights, names_of(dit_).time[0], width, kTimeCode, true, WeightType::kF32);
  const PackedLinear two =
      load_linear(weights, names_of(dit_).time[1], width, width, true, WeightType::kF32);
  const View code = take_rows(ctx, steps, kTimeCode), inner = take_rows(ctx, steps, width);
  const View out = take_rows(ctx, steps, width);
  const auto encode = rotary() ? encode_flow_time : encode_dit_time;
  for (int64_t s = 0; s < steps; ++s)
    encode(times[static_cast<size_t>(s)], kTimeCode, code.f32() + s * kTimeCode);
  linear(ctx, one, code, inner);
  activate(ctx, Activation::kSilu, inner, inner);
  linear(ctx, two, inner, out);
  activate(ctx, Activation::kSilu, out, out);
  return out;
}

/// Computes the modulation of all steps. Adds 1 to the parts whose index modulo kParts is `scale`.
DitEstimator::Modulation DitEstimator::load_modulation(const Weights& weights, int64_t parts,
                                                       int64_t scale, const View& time) const {
  const int64_t width = dit_.width, steps = config_.steps;
  const LinearPart part{weights.take("weight", {parts * width, width}),
                        weights.take("bias", {parts * width})};
  const PackedLinear all = PackedLinear::pack({&part, 1}, WeightType::kF32);
  Modulation made{Tensor({steps, parts, width}, DType::kF32)};
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  linear(ctx, all, time, made.values.view().reshape({steps, parts * width}));
  for (int64_t i = 0; i < steps * parts; ++i) {
    if (i % parts % kParts != scale) continue;
    float* values = made.values.f32() + i * width;
    for (int64_t c = 0; c < width; ++c) values[c] += 1;
  }
  return made;
}

DitEstimator::Block DitEstimator::load_block(const Weights& w, const View& time,
                                             WeightType type) const {
  const int64_t width = dit_.width, inner = dit_.heads * dit_.head_dim;
  const DitNames& names = names_of(dit_);
  const Weights attention = w.scope("attn");
  const LinearPart parts[] = {take_linear(attention, "to_q", inner, width, true),
                              take_linear(attention, "to_k", inner, width, true),
                              take_linear(attention, "to_v", inner, width, true)};
  Block block{
      .time = load_modulation(w.scope(names.modulation), (rotary() ? 2 : 3) * kParts, kScale, time),
      .qkv = PackedLinear::pack(parts, type),
      .out = load_linear(w, names.attended, width, inner, true, type),
      .up = load_linear(w, names.up, dit_.ffn, width, true, type),
      .down = load_linear(w, names.down, width, dit_.ffn, true, type)};
  if (!rotary()) load_convolutions(w, type, block);
  return block;
}

/// Loads the parts that only blocks of the convolutional form have.
void DitEstimator::load_convolutions(const Weights& w, WeightType type, Block& block) const {
  const int64_t width = dit_.width;
  const Weights conv = w.scope("conv.block");
  const auto taps = [&](const char* name) {
    return CausalConv1d(conv.scope(name).take("weight", {width, width, kDitTaps}),
                        conv.scope(name).take("bias", {width}), {.type = for_convolution(type)});
  };
  block.q_norm = LayerNorm(w.scope("attn.q_norm"), dit_.head_dim, kFlowNormEps);
  block.k_norm = LayerNorm(w.scope("attn.k_norm"), dit_.head_dim, kFlowNormEps);
  block.first = taps("1");
  block.second = taps("6");
  block.between = LayerNorm(conv.scope("3"), width, kFlowNormEps);
}

std::vector<const CausalConv1d*> DitEstimator::convolutions() const {
  if (rotary()) return {&near_[0], &near_[1]};
  std::vector<const CausalConv1d*> all;
  for (const Block& block : blocks_) {
    all.push_back(&block.first);
    all.push_back(&block.second);
  }
  return all;
}

void DitEstimator::move_weights(Device device) {
  syrinx::move_to(device, in_, out_, last_.values);
  if (rotary()) {
    syrinx::move_to(device, near_[0], near_[1]);
    rope_ = rope_.on_device(device);
  }
  for (Block& b : blocks_) {
    syrinx::move_to(device, b.time.values, b.qkv, b.out, b.up, b.down);
    if (!rotary()) syrinx::move_to(device, b.q_norm, b.k_norm, b.between, b.first, b.second);
  }
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
  if (rotary()) {
    rotate(ctx, call, q);
    rotate(ctx, call, k);
  } else {
    const Shape by_head{rows * heads, dim};
    block.q_norm(ctx, q.reshape(by_head), q.reshape(by_head));
    block.k_norm(ctx, k.reshape(by_head), k.reshape(by_head));
  }
  attend(ctx, call, {q, 0, heads, dim}, {k, 0, heads, dim}, {v, 0, heads, dim}, mixed);
  linear(ctx, block.out, mixed, branch);
  add(kAttention);

  if (!rotary()) {
    norm(kConv);
    convolve(ctx, block.first, call, normed, branch);
    block.between(ctx, branch, branch);
    activate(ctx, Activation::kMish, branch, normed);
    convolve(ctx, block.second, call, normed, branch);
    add(kConv);
  }

  norm(kMlp);
  const View wide = take_rows(ctx, rows, dit_.ffn);
  linear(ctx, block.up, normed, wide);
  activate(ctx, Activation::kGeluTanh, wide, wide);
  linear(ctx, block.down, wide, branch);
  add(kMlp);
}

/// Adds the output of the convolutions before the blocks to x.
void DitEstimator::add_positions(StepContext& ctx, Call& call, const View& x) const {
  const Arena::Mark mark(ctx.arena);
  View from = x;
  for (const CausalConv1d& conv : near_) {
    const View to = take_rows(ctx, x.shape[0], dit_.width);
    convolve(ctx, conv, call, from, to);
    activate(ctx, Activation::kMish, to, to);
    from = to;
  }
  add_inplace(ctx, x, from);
}

/// Rotates the first head of the rows of all branches.
void DitEstimator::rotate(StepContext& ctx, const Call& call, const View& x) const {
  const Arena::Mark mark(ctx.host);
  const std::span<int32_t> at = take_array<int32_t>(ctx, x.shape[0]);
  positions(call, at);
  rope(ctx, {x, 0, 1, static_cast<int>(dit_.head_dim)}, at, rope_);
}

void DitEstimator::run(StepContext& ctx, const Chunks& chunks, int64_t step, const View& input,
                       const View& out) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t rows = input.shape[0];
  expect_shape("dit estimator", input, {rows, in()});
  Call call{chunks, step};
  const View x = take_rows(ctx, rows, dit_.width);
  linear(ctx, in_, input, x);
  if (rotary()) add_positions(ctx, call, x);
  for (const Block& block : blocks_) run(ctx, block, call, x);
  const int64_t scale = names_of(dit_).last_scale;
  layer_norm(ctx, x, last_.part(step, scale), last_.part(step, 1 - scale), kModulatedEps, x);
  linear(ctx, out_, x, out);
}

size_t DitEstimator::bytes() const {
  size_t sum = in_.bytes() + out_.bytes() + near_[0].bytes() + near_[1].bytes();
  for (const Block& b : blocks_)
    sum += b.qkv.bytes() + b.out.bytes() + b.first.bytes() + b.second.bytes() + b.up.bytes() +
           b.down.bytes();
  return sum;
}

}  // namespace syrinx
