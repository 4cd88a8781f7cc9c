#include "codec/seanet_layers.h"

#include <algorithm>

#include "kernels/activation.h"
#include "nn/layers.h"
#include "nn/weight_norm.h"

namespace syrinx {
namespace {

constexpr int64_t kMostRatios = 8, kMostUnits = 8, kMostLstm = 4;

}  // namespace

SeanetConfig SeanetConfig::of(const Weights& weights) {
  SeanetConfig c;
  // Weight norm stores a kernel as magnitude and direction; the direction has the kernel's shape.
  const auto sizes = [](const Weights& scope) {
    for (const char* name : {"weight", "weight_v", "parametrizations.weight.original1"}) {
      if (const auto shape = scope.shape(name); shape && shape->dims() == 3) return shape;
    }
    return std::optional<Shape>();
  };
  const auto conv = [&](int64_t layer) {
    return sizes(seanet::conv_scope(weights.scope("model", layer)));
  };
  const auto up = [&](int64_t layer) {
    return sizes(weights.scope("model", layer).scope("convtr").scope("convtr"));
  };
  if (const auto first = conv(0)) {
    c.width = (*first)[0], c.latent = (*first)[1], c.taps = (*first)[2];
  }
  const int64_t layers = weights.count("model");
  if (layers == 0) return c;
  const Weights lstm = weights.scope("model", 1).scope("lstm");
  c.lstm = 0;
  const auto there = [&](int64_t layer) {
    for (const char* name : {"weight_ih_l", "weight_hh_l", "bias_ih_l", "bias_hh_l"})
      if (lstm.has(name + std::to_string(layer))) return true;
    return false;
  };
  while (c.lstm < kMostLstm && there(c.lstm)) ++c.lstm;
  c.ratios.clear();
  int64_t at = c.lstm > 0 ? 2 : 1, next = 0;
  for (; std::ssize(c.ratios) < kMostRatios; at = next) {
    const auto shape = up(at + 1);
    if (!shape) break;
    c.ratios.push_back(std::clamp<int64_t>((*shape)[2] / 2, 1, 64));
    next = at + 2;
    while (next < layers && next < at + 2 + kMostUnits &&
           sizes(seanet::conv_scope(weights.scope("model", next).scope("block", 1)))) {
      ++next;
    }
    if (c.ratios.size() > 1) continue;
    c.units = next - at - 2;
    const auto unit = sizes(seanet::conv_scope(weights.scope("model", at + 2).scope("block", 1)));
    if (unit && (*unit)[0] > 0) c.inner = std::clamp<int64_t>((*unit)[1] / (*unit)[0], 1, 64);
  }
  return c;
}

int64_t SeanetConfig::hop() const {
  int64_t samples = 1;
  for (const int64_t ratio : ratios) samples *= ratio;
  return samples;
}

int64_t SeanetConfig::delay() const {
  const int64_t half = (taps - 1) / 2;
  int64_t rows = half;
  for (const int64_t ratio : ratios) {
    rows = rows * ratio + (ratio + 1) / 2 + half * ((int64_t{1} << units) - 1);
  }
  return rows + half;
}

namespace seanet {

Snake load_snake(const Weights& layer, int64_t channels) {
  const float alpha = layer.f32("alpha", {1, 1, 1}).f32()[0];
  Snake snake{Tensor({channels}, DType::kF32), Tensor({channels}, DType::kF32)};
  std::fill_n(snake.alpha.f32(), channels, alpha);
  std::fill_n(snake.inverse.f32(), channels, 1.f / (alpha + kSnakeEps));
  return snake;
}

MirroredConv1d load_conv(const Weights& layer, int64_t in, int64_t out, int64_t taps,
                         const MirroredOptions& options) {
  const Weights w = conv_scope(layer);
  return {folded_weight(w, {out, in, taps}), w.take("bias", {out}), options};
}

namespace {

void bend(StepContext& ctx, const Snake& snake, const View& x, const View& out) {
  if (x.shape[0] > 0) syrinx::snake(ctx, x, snake.alpha, snake.inverse, ChannelAxis::kLast, out);
}

PackedLinear load_pointwise(const Weights& layer, int64_t in, int64_t out, WeightType type) {
  const Weights w = conv_scope(layer);
  const Tensor weight = folded_weight(w, {out, in, 1});
  return PackedLinear::pack(weight.view().reshape({out, in}), for_many_rows(type),
                            w.take("bias", {out}));
}

}  // namespace

Unit load_unit(const Weights& layer, const SeanetConfig& config, int64_t channels, int64_t number,
               WeightType type) {
  const int64_t inside = std::max<int64_t>(1, channels / config.inner);
  const MirroredOptions options{.dilation = int64_t{1} << number, .type = for_convolution(type)};
  return {load_snake(layer.scope("block", 0), channels),
          load_snake(layer.scope("block", 2), inside),
          load_conv(layer.scope("block", 1), channels, inside, config.taps, options),
          load_pointwise(layer.scope("block", 3), inside, channels, type),
          load_pointwise(layer.scope("shortcut"), channels, channels, type)};
}

size_t bytes(const Unit& unit) {
  return unit.conv.bytes() + unit.mix.bytes() + unit.beside.bytes();
}

void move_to(Device device, Snake& snake) { syrinx::move_to(device, snake.alpha, snake.inverse); }

void move_to(Device device, Unit& unit) {
  move_to(device, unit.before);
  move_to(device, unit.inside);
  syrinx::move_to(device, unit.conv, unit.mix, unit.beside);
}

void Stream::add(const Unit& unit, int64_t channels) {
  convs.push_back(unit.conv.open());
  beside.emplace_back(channels, unit.conv.device());
}

void Pass::run(const Snake& snake, const RowStack& x) const { bend(ctx_, snake, x.x, x.x); }

RowStack Pass::run(const MirroredConv1d& conv, const RowStack& x) {
  const std::span<MirroredConv1d::Job> jobs =
      take_array<MirroredConv1d::Job>(ctx_, std::ssize(parts_));
  const std::span<View> rows = views_of(ctx_, x);
  for (size_t i = 0; i < jobs.size(); ++i)
    jobs[i] = {rows[i], &parts_[i].stream->convs[conv_], parts_[i].last};
  ++conv_;
  return conv.run(ctx_, jobs);
}

RowStack Pass::run(const CausalConvTranspose1d& up, const RowStack& x) {
  const std::span<ConvJob> jobs = take_array<ConvJob>(ctx_, std::ssize(parts_));
  const std::span<View> rows = views_of(ctx_, x);
  for (size_t i = 0; i < jobs.size(); ++i)
    jobs[i] = {rows[i], &parts_[i].stream->ups[up_], {}, parts_[i].last};
  ++up_;
  return convolve_stack(ctx_, up, jobs);
}

RowStack Pass::run(const Unit& unit, const RowStack& x) {
  const RowStack bent{ctx_.arena.take(x.x.shape, DType::kF32), x.rows};
  bend(ctx_, unit.before, x.x, bent.x);
  const RowStack inner = run(unit.conv, bent);
  run(unit.inside, inner);
  const Shape made{inner.x.shape[0], x.x.shape[1]};
  const RowStack skipped{ctx_.arena.take(made, DType::kF32), inner.rows};
  const std::span<QueueSum> moves = take_array<QueueSum>(ctx_, std::ssize(parts_));
  const std::span<View> fresh = views_of(ctx_, x), delayed = views_of(ctx_, skipped);
  for (size_t i = 0; i < moves.size(); ++i)
    moves[i] = {&parts_[i].stream->beside[unit_], fresh[i], delayed[i]};
  ++unit_;
  copy_oldest(ctx_, moves);
  const RowStack out{ctx_.arena.take(made, DType::kF32), inner.rows};
  if (made[0] == 0) return out;
  linear(ctx_, unit.beside, skipped.x, out.x);
  linear_add(ctx_, unit.mix, inner.x, out.x);
  return out;
}

void Pass::add_lstm(const std::vector<Lstm>& layers, const RowStack& x) const {
  if (layers.empty() || x.x.shape[0] == 0) return;
  View y = x.x;
  const std::span<LstmJob> jobs = take_array<LstmJob>(ctx_, std::ssize(parts_));
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    for (size_t i = 0; i < jobs.size(); ++i) jobs[i] = {&parts_[i].stream->lstm[layer], x.rows[i]};
    const View out = ctx_.arena.take(x.x.shape, DType::kF32);
    layers[layer].run(ctx_, y, jobs, out);
    y = out;
  }
  add_inplace(ctx_, x.x, y);
}

}  // namespace seanet
}  // namespace syrinx
