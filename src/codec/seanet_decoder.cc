#include "codec/seanet_decoder.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/activation.h"
#include "nn/layers.h"
#include "nn/weight_norm.h"

namespace syrinx {
namespace {

constexpr int64_t kMostRatios = 8, kMostUnits = 8, kMostLstm = 4;

/// Of a convolution: "conv.conv." in the scope, of a transposed one "convtr.convtr.".
Weights seanet_conv(const Weights& scope) { return scope.scope("conv").scope("conv"); }

/// Half of what a transposed convolution is cut by; the first half is the larger one.
int64_t seanet_crop(int64_t ratio) { return (ratio + 1) / 2; }

void apply_snake(StepContext& ctx, const View& x, const View& alpha, const View& inverse,
                 const View& out) {
  if (x.shape[0] > 0) snake(ctx, x, alpha, inverse, ChannelAxis::kLast, out);
}

}  // namespace

MirroredConv1d::MirroredConv1d(const View& weight, const View& bias, int64_t dilation,
                               WeightType type)
    : conv_(weight, bias, {.dilation = dilation, .type = type}),
      ahead_((weight.shape[2] - 1) / 2 * dilation) {
  SYRINX_CHECK(weight.shape[2] % 2 == 1, "mirrored conv: ", weight.shape[2], " taps");
}

MirroredConv1d::State MirroredConv1d::open() const {
  State state;
  state.conv = ConvState(2 * ahead_, conv_.in(), 0);
  return state;
}

/// What the convolution is fed without padding of its own.
View MirroredConv1d::padded(StepContext& ctx, const View& x, bool last, State& state) const {
  const int64_t width = conv_.in(), p = ahead_, t = x.shape[0];
  const auto row = [&](const View& of, int64_t i) { return of.f32() + i * width; };
  if (state.begun) {
    if (!last || p == 0) return x;
    const View all = ctx.arena.take({t + p, width}, DType::kF32);
    std::copy_n(x.f32(), t * width, all.f32());
    const View past = state.conv.past;
    for (int64_t i = 0; i < p; ++i) {
      const int64_t from = t - 2 - i;  // below 0: of what came before
      std::copy_n(from >= 0 ? row(x, from) : row(past, state.conv.held + from), width,
                  row(all, t + i));
    }
    return all;
  }
  state.early.insert(state.early.end(), x.f32(), x.f32() + t * width);
  const int64_t n = std::ssize(state.early) / width;
  if (n == 0 || (n <= p && !last)) return ctx.arena.take({0, width}, DType::kF32);
  state.begun = true;
  if (n <= p) state.early.resize(static_cast<size_t>((p + 1) * width), 0.f);
  const int64_t known = std::max(n, p + 1), rows = p + n + (last ? p : 0);
  const View all = ctx.arena.take({rows, width}, DType::kF32);
  for (int64_t i = 0; i < rows; ++i) {
    int64_t from = std::abs(i - p);
    if (from >= known) from = 2 * (known - 1) - from;
    std::copy_n(state.early.data() + from * width, width, row(all, i));
  }
  state.early = {};
  return all;
}

View MirroredConv1d::run(StepContext& ctx, const View& x, bool last, State& state) const {
  const View all = padded(ctx, x, last, state);
  const View out =
      ctx.arena.take({conv_.rows(state.conv, all.shape[0], last), conv_.out()}, DType::kF32);
  const ConvJob job{all, &state.conv, out, last};
  conv_.run(ctx, std::span(&job, 1));
  return out;
}

SeanetConfig SeanetConfig::of(const Weights& weights) {
  SeanetConfig c;
  // Weight norm keeps the sizes in its second tensor.
  const auto sizes = [](const Weights& scope) {
    for (const char* name : {"weight", "weight_v", "parametrizations.weight.original1"}) {
      if (const auto shape = scope.shape(name); shape && shape->dims() == 3) return shape;
    }
    return std::optional<Shape>();
  };
  const auto conv = [&](int64_t layer) {
    return sizes(seanet_conv(weights.scope("model", layer)));
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
  while (c.lstm < kMostLstm && lstm.has("weight_ih_l" + std::to_string(c.lstm))) ++c.lstm;
  c.ratios.clear();
  int64_t at = c.lstm > 0 ? 2 : 1, next = 0;
  for (; std::ssize(c.ratios) < kMostRatios; at = next) {
    const auto shape = up(at + 1);
    if (!shape) break;
    c.ratios.push_back(std::clamp<int64_t>((*shape)[2] / 2, 1, 64));
    next = at + 2;
    while (next < layers && next < at + 2 + kMostUnits &&
           sizes(seanet_conv(weights.scope("model", next).scope("block", 1)))) {
      ++next;
    }
    if (c.ratios.size() > 1) continue;
    c.units = next - at - 2;
    const auto unit = sizes(seanet_conv(weights.scope("model", at + 2).scope("block", 1)));
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
    rows = rows * ratio + seanet_crop(ratio) + half * ((int64_t{1} << units) - 1);
  }
  return rows + half;
}

SeanetDecoder::Snake SeanetDecoder::load_snake(const Weights& scope, int64_t channels) {
  const float alpha = scope.f32("alpha", {1, 1, 1}).f32()[0];
  Snake snake{Tensor({channels}, DType::kF32), Tensor({channels}, DType::kF32)};
  std::fill_n(snake.alpha.f32(), channels, alpha);
  std::fill_n(snake.inverse.f32(), channels, 1.f / (alpha + kSnakeEps));
  return snake;
}

MirroredConv1d SeanetDecoder::load_conv(const Weights& scope, int64_t in, int64_t out,
                                        int64_t dilation) const {
  const Weights w = seanet_conv(scope);
  return {folded_weight(w, {out, in, config_.taps}), w.take("bias", {out}), dilation,
          for_convolution(type_)};
}

PackedLinear SeanetDecoder::load_pointwise(const Weights& scope, int64_t in, int64_t out) const {
  const Weights w = seanet_conv(scope);
  const Tensor weight = folded_weight(w, {out, in, 1});
  return PackedLinear::pack(weight.view().reshape({out, in}), for_many_rows(type_),
                            w.take("bias", {out}));
}

SeanetDecoder::SeanetDecoder(const SeanetConfig& config, const Weights& weights, WeightType type)
    : config_(config), type_(type) {
  int64_t layer = 0, width = config.width;
  const auto next = [&] { return weights.scope("model", layer++); };
  head_ = load_conv(next(), config.latent, width, 1);
  if (config.lstm > 0) {
    const Weights lstm = next().scope("lstm");
    for (int64_t i = 0; i < config.lstm; ++i) {
      lstm_.emplace_back(lstm, "_l" + std::to_string(i), width, width);
    }
  }
  for (const int64_t ratio : config.ratios) {
    const int64_t out = width / 2, inside = std::max<int64_t>(1, out / config.inner);
    Block block;
    block.act = load_snake(next(), width);
    const Weights up = next().scope("convtr").scope("convtr");
    block.up = {folded_weight(up, {width, out, 2 * ratio}), up.take("bias", {out}), ratio,
                for_convolution(type), seanet_crop(ratio)};
    for (int64_t u = 0; u < config.units; ++u) {
      const Weights unit = next();
      block.units.push_back({load_snake(unit.scope("block", 0), out),
                             load_snake(unit.scope("block", 2), inside),
                             load_conv(unit.scope("block", 1), out, inside, int64_t{1} << u),
                             load_pointwise(unit.scope("block", 3), inside, out),
                             load_pointwise(unit.scope("shortcut"), out, out)});
    }
    blocks_.push_back(std::move(block));
    width = out;
  }
  tail_act_ = load_snake(next(), width);
  tail_ = load_conv(next(), width, 1, 1);
}

SeanetDecoder::Stream SeanetDecoder::open() const {
  Stream stream;
  stream.convs.push_back(head_.open());
  for (const Lstm& lstm : lstm_) stream.lstm.push_back(lstm.open());
  for (const Block& block : blocks_) {
    stream.ups.push_back(block.up.open());
    for (const Unit& unit : block.units) {
      stream.convs.push_back(unit.conv.open());
      stream.beside.emplace_back(block.up.out());
    }
  }
  stream.convs.push_back(tail_.open());
  return stream;
}

View SeanetDecoder::run(StepContext& ctx, const View& latent, bool last, Stream& stream) const {
  size_t conv = 0, unit_at = 0;
  View x = head_.run(ctx, latent, last, stream.convs[conv++]);
  if (!lstm_.empty() && x.shape[0] > 0) {
    View y = x;
    for (size_t i = 0; i < lstm_.size(); ++i) {
      const View out = ctx.arena.take(x.shape, DType::kF32);
      lstm_[i].run(ctx, y, stream.lstm[i], out);
      y = out;
    }
    add_inplace(ctx, x, y);
  }
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    apply_snake(ctx, x, block.act.alpha, block.act.inverse, x);
    x = convolve_rows(ctx, block.up, x, last, stream.ups[b]);
    for (const Unit& unit : block.units) {
      RowQueue& beside = stream.beside[unit_at++];
      beside.push(x);
      apply_snake(ctx, x, unit.before.alpha, unit.before.inverse, x);
      const View inner = unit.conv.run(ctx, x, last, stream.convs[conv++]);
      apply_snake(ctx, inner, unit.inside.alpha, unit.inside.inverse, inner);
      const View skipped = beside.pop(ctx, inner.shape[0]);
      x = ctx.arena.take(skipped.shape, DType::kF32);
      if (x.shape[0] == 0) continue;
      linear(ctx, unit.beside, skipped, x);
      linear_add(ctx, unit.mix, inner, x);
    }
  }
  apply_snake(ctx, x, tail_act_.alpha, tail_act_.inverse, x);
  const View out = tail_.run(ctx, x, last, stream.convs[conv]);
  return out.reshape({out.shape[0]});
}

size_t SeanetDecoder::bytes() const {
  size_t sum = head_.bytes() + tail_.bytes();
  for (const Lstm& lstm : lstm_) sum += lstm.bytes();
  for (const Block& block : blocks_) {
    sum += block.up.bytes();
    for (const Unit& unit : block.units)
      sum += unit.conv.bytes() + unit.mix.bytes() + unit.beside.bytes();
  }
  return sum;
}

}  // namespace syrinx
