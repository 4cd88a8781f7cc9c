#include "families/kokoro/layers.h"

#include <algorithm>
#include <cmath>

#include "kernels/activation.h"
#include "kernels/channels.h"
#include "kernels/conv_add.h"
#include "kernels/copy.h"
#include "kernels/embedding.h"
#include "nn/layers.h"
#include "nn/weight_norm.h"

namespace syrinx::kokoro {
namespace {

constexpr float kLeak = 0.2f;         // slope of the leaky ReLU of StyledBlock
const float kHalf = std::sqrt(0.5f);  // keeps the variance when two branches are added

/// Allocates T rows with `pad` rows of zeros before and after them.
View take_padded(StepContext& ctx, int64_t rows, int64_t columns, int64_t pad) {
  const View all = take_rows(ctx, rows + 2 * pad, columns);
  const int64_t zeros = pad * columns;
  const CopySpan ends[] = {{nullptr, all.f32(), zeros},
                           {nullptr, all.f32() + (rows + pad) * columns, zeros}};
  copy_spans(ctx, ends);
  return all;
}

}  // namespace

View take_rows(StepContext& ctx, int64_t rows, int64_t columns) {
  return ctx.arena.take({rows, columns}, DType::kF32);
}

PaddedConv::PaddedConv(const Weights& weights, int64_t in, int64_t out, const Options& options)
    : pad_(options.pad >= 0 ? options.pad : options.dilation * (options.taps - 1) / 2),
      dilation_(options.dilation),
      stride_(options.stride) {
  const Shape shape{out, in, options.taps};
  const Tensor weight =
      options.normed ? folded_weight(weights, shape) : weights.f32("weight", shape);
  const Tensor bias = options.bias ? weights.f32("bias", {out}) : Tensor();
  conv_ = PackedConv1d::pack(weight, bias, 1, options.type);
}

View PaddedConv::room(StepContext& ctx, int64_t rows) const {
  return take_padded(ctx, rows, conv_.in(), pad_);
}

View PaddedConv::run_room(StepContext& ctx, const View& room) const {
  const View out =
      take_rows(ctx, conv_rows(room.shape[0], conv_.taps(), dilation_, stride_), conv_.out());
  conv1d(ctx, conv_, room, out, dilation_, stride_);
  return out;
}

View PaddedConv::room_in(const View& wider, int64_t rows) const {
  const int64_t extra = (wider.shape[0] - rows) / 2 - pad_;
  return wider.slice(extra, wider.shape[0] - extra);
}

void PaddedConv::add_room(StepContext& ctx, const View& room, const View& out) const {
  conv1d_add(ctx, conv_, room, out, dilation_);
}

View PaddedConv::run(StepContext& ctx, const View& x) const {
  if (pad_ == 0) return run_room(ctx, x);
  const View all = room(ctx, x.shape[0]);
  copy(ctx, x, inner(all));
  return run_room(ctx, all);
}

CroppedConvTranspose::CroppedConvTranspose(const Weights& weights, int64_t in, int64_t out,
                                           int64_t taps, int64_t stride, int64_t crop,
                                           int64_t groups, WeightType type)
    : crop_(crop) {
  const Tensor weight = folded_weight(weights, {in, out / groups, taps});
  conv_ = PackedConvTranspose1d::pack(weight, stride, weights.f32("bias", {out}), type, groups);
}

View CroppedConvTranspose::run(StepContext& ctx, const View& x, int64_t before) const {
  const int64_t rows = x.shape[0], pad = conv_.window() - 1;
  const View all = take_padded(ctx, rows, conv_.in(), pad);
  copy(ctx, x, all.slice(pad, pad + rows));
  const int64_t made = (rows + pad) * conv_.stride();
  const View out = take_rows(ctx, before + made, conv_.out());
  conv_transpose1d(ctx, conv_, all, out.slice(before, before + made));
  return out.slice(crop_, crop_ + before + rows * conv_.stride());
}

void BiLstm::run(StepContext& ctx, const View& x, const View& out) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t rows = x.shape[0], in = x.shape[1], h = ahead_.hidden();
  const View turned = take_rows(ctx, rows, in), y = take_rows(ctx, rows, h);
  const auto run_one = [&](const Lstm& lstm, const View& input) {
    lstm.run(ctx, input.reshape({rows, 1, in}), y.reshape({rows, 1, h}));
  };
  run_one(ahead_, x);
  for (int64_t t = 0; t < rows; ++t) std::copy_n(y.f32() + t * h, h, out.f32() + t * 2 * h);
  for (int64_t t = 0; t < rows; ++t) {
    std::copy_n(x.f32() + t * in, in, turned.f32() + (rows - 1 - t) * in);
  }
  run_one(back_, turned);
  for (int64_t t = 0; t < rows; ++t) {
    std::copy_n(y.f32() + (rows - 1 - t) * h, h, out.f32() + t * 2 * h + h);
  }
}

Affine style_affine(StepContext& ctx, const PackedLinear& fc, const View& style) {
  const int64_t channels = fc.out() / 2;
  const View both = take_rows(ctx, 1, 2 * channels);
  linear(ctx, fc, style.reshape({1, style.count()}), both);
  for (int64_t c = 0; c < channels; ++c) both.f32()[c] += 1.f;
  const View halves = both.reshape({2, channels});
  return {halves.slice(0, 1).reshape({channels}), halves.slice(1, 2).reshape({channels})};
}

AdaIn::AdaIn(const Weights& weights, int64_t style, int64_t channels)
    : fc_(load_linear(weights, "fc", 2 * channels, style, true, WeightType::kF32)) {
  if (weights.has("norm.weight")) weight_ = weights.f32("norm.weight", {channels});
  if (weights.has("norm.bias")) bias_ = weights.f32("norm.bias", {channels});
}

/// Computes factors and summands of all rows from the style and the statistics of x.
Affine AdaIn::affine(StepContext& ctx, const View& x, const View& style) const {
  const int64_t channels = x.shape[1];
  const Affine out{ctx.arena.take({channels}, DType::kF32),
                   ctx.arena.take({channels}, DType::kF32)};
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  StepContext cpu(ctx.pool, ctx.host);
  const Affine wanted = style_affine(cpu, fc_, style);
  float *gain = wanted.factor.f32(), *shift = wanted.summand.f32();
  for (int64_t c = 0; c < channels; ++c) {
    if (!bias_.empty()) shift[c] += gain[c] * bias_.f32()[c];
    if (!weight_.empty()) gain[c] *= weight_.f32()[c];
  }
  normalising_scale(ctx, x, upload(ctx, wanted.factor), upload(ctx, wanted.summand), kNormEps,
                    out.factor, out.summand);
  return out;
}

void AdaIn::operator()(StepContext& ctx, const View& x, const View& style, const View& out) const {
  const Arena::Mark mark(ctx.arena);
  const auto [factor, summand] = affine(ctx, x, style);
  scale_channels(ctx, x, factor, summand, out);
}

void AdaIn::snaked(StepContext& ctx, const View& x, const View& style, const View& alpha,
                   const View& inv_alpha, const View& out) const {
  const Arena::Mark mark(ctx.arena);
  const auto [factor, summand] = affine(ctx, x, style);
  scale_channels_snake(ctx, x, factor, summand, alpha, inv_alpha, out);
}

StyledBlock::StyledBlock(const Weights& weights, int64_t in, int64_t out, int64_t style,
                         bool doubles, WeightType type)
    : norm1_(weights.scope("norm1"), style, in),
      norm2_(weights.scope("norm2"), style, out),
      conv1_(weights.scope("conv1"), in, out, {.type = type}),
      conv2_(weights.scope("conv2"), out, out, {.type = type}),
      doubles_(doubles),
      projects_(in != out),
      out_(out) {
  if (projects_) {
    around_ =
        PaddedConv(weights.scope("conv1x1"), in, out, {.taps = 1, .bias = false, .type = type});
  }
  if (doubles_) {
    pool_ = CroppedConvTranspose(weights.scope("pool"), in, in, 3, 2, 1, in, WeightType::kF32);
  }
}

/// Computes the block's shortcut times 1 / sqrt(2). Repeats rows if the block doubles them.
View StyledBlock::around(StepContext& ctx, const View& x, int64_t rows) const {
  const View out = take_rows(ctx, rows, out_);
  const Arena::Mark mark(ctx.arena);
  const View y = projects_ ? around_.run(ctx, x) : x;
  const auto times = static_cast<int32_t>(rows / x.shape[0]);
  const Arena::Mark host_mark(ctx.host);
  const std::span<int32_t> from = take_array<int32_t>(ctx, rows);
  for (size_t t = 0; t < from.size(); ++t) from[t] = static_cast<int32_t>(t) / times;
  gather_rows(ctx, y, from, out);
  scale_inplace(ctx, out, kHalf);
  return out;
}

View StyledBlock::run(StepContext& ctx, const View& x, const View& style) const {
  const int64_t rows = x.shape[0] * (doubles_ ? 2 : 1);
  const View out = around(ctx, x, rows);
  const Arena::Mark mark(ctx.arena);
  View room = conv1_.room(ctx, rows);
  if (doubles_) {
    const View y = take_rows(ctx, x.shape[0], x.shape[1]);
    norm1_(ctx, x, style, y);
    leaky_relu(ctx, y, kLeak, y);
    const View pooled = pool_.run(ctx, y);
    copy(ctx, pooled, conv1_.inner(room));
  } else {
    const View y = conv1_.inner(room);
    norm1_(ctx, x, style, y);
    leaky_relu(ctx, y, kLeak, y);
  }
  const View y = conv1_.run_room(ctx, room);
  room = conv2_.room(ctx, rows);
  const View z = conv2_.inner(room);
  norm2_(ctx, y, style, z);
  leaky_relu(ctx, z, kLeak, z);
  const View residual = conv2_.run_room(ctx, room);
  scale_inplace(ctx, residual, kHalf);
  add_inplace(ctx, out, residual);
  return out;
}

void StyledBlock::move_to(Device device) {
  conv1_.move_to(device);
  conv2_.move_to(device);
  if (projects_) around_.move_to(device);
  if (doubles_) pool_.move_to(device);
}

size_t StyledBlock::bytes() const {
  return norm1_.bytes() + norm2_.bytes() + conv1_.bytes() + conv2_.bytes() + around_.bytes() +
         pool_.bytes();
}

SnakeBlock::SnakeBlock(const Weights& weights, int64_t channels, int64_t taps,
                       std::span<const int64_t> dilations, int64_t style, WeightType type) {
  for (size_t i = 0; i < dilations.size(); ++i) {
    for (const int half : {1, 2}) {
      const auto named = [&](const std::string& name) {
        return name + std::to_string(half) + "." + std::to_string(i);
      };
      Part part;
      part.norm = AdaIn(weights.scope(named("adain")), style, channels);
      part.alpha = weights.f32(named("alpha"), {1, channels, 1});
      part.inv_alpha = Tensor({channels}, DType::kF32);
      for (int64_t c = 0; c < channels; ++c) {
        part.inv_alpha.f32()[c] = 1.f / part.alpha.f32()[c];
      }
      part.conv =
          PaddedConv(weights.scope(named("convs")), channels, channels,
                     {.taps = taps, .dilation = half == 1 ? dilations[i] : 1, .type = type});
      parts_.push_back(std::move(part));
    }
  }
}

/// Writes AdaIN and Snake of x into the room of the part's convolution.
void SnakeBlock::fill(StepContext& ctx, const Part& part, const View& x, const View& style,
                      const View& room) const {
  part.norm.snaked(ctx, x, style, part.alpha.view().reshape({x.shape[1]}), part.inv_alpha,
                   part.conv.inner(room));
}

void SnakeBlock::run(StepContext& ctx, const View& x, const View& style) const {
  for (size_t i = 0; i + 1 < parts_.size(); i += 2) {
    const Arena::Mark mark(ctx.arena);
    const Part &wide = parts_[i], &plain = parts_[i + 1];
    const View room = wide.conv.room(ctx, x.shape[0]);
    fill(ctx, wide, x, style, room);
    const View y = wide.conv.run_room(ctx, room);
    const View inside = plain.conv.room_in(room, x.shape[0]);
    fill(ctx, plain, y, style, inside);
    plain.conv.add_room(ctx, inside, x);
  }
}

void SnakeBlock::move_to(Device device) {
  for (Part& part : parts_) {
    syrinx::move_to(device, part.alpha);
    syrinx::move_to(device, part.inv_alpha);
    part.conv.move_to(device);
  }
}

size_t SnakeBlock::bytes() const {
  size_t sum = 0;
  for (const Part& part : parts_) sum += part.norm.bytes() + part.conv.bytes();
  return sum;
}

void repeat_rows(const View& x, std::span<const int32_t> counts, const View& out) {
  const int64_t width = x.shape[1];
  float* to = out.f32();
  for (size_t i = 0; i < counts.size(); ++i) {
    for (int32_t n = 0; n < counts[i]; ++n) {
      to = std::copy_n(x.f32() + static_cast<int64_t>(i) * width, width, to);
    }
  }
}

}  // namespace syrinx::kokoro
