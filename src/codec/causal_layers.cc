#include "codec/causal_layers.h"

#include "kernels/activation.h"

namespace syrinx::causal {

Snake load_snake(const Weights& scope, int64_t channels) {
  const Tensor stored = scope.f32("alpha", {1, channels, 1});
  Snake snake{Tensor({channels}, DType::kF32), Tensor({channels}, DType::kF32)};
  for (int64_t c = 0; c < channels; ++c) {
    snake.alpha.f32()[c] = stored.f32()[c];
    snake.inv_alpha.f32()[c] = 1.f / (stored.f32()[c] + kSnakeEps);
  }
  return snake;
}

void Snake::move_to(Device device) { syrinx::move_to(device, alpha, inv_alpha); }

void snake(StepContext& ctx, const View& x, const Snake& act, const View& out) {
  syrinx::snake(ctx, x, act.alpha, act.inv_alpha, ChannelAxis::kLast, out);
}

CausalConv1d load_conv(const Weights& scope, int64_t in, int64_t out, int64_t taps,
                       const CausalConv1dOptions& options) {
  return {folded_weight(scope, {out, in / options.groups, taps}), scope.take("bias", {out}),
          options};
}

CausalConvTranspose1d load_up(const Weights& scope, int64_t in, int64_t out, int64_t stride,
                              WeightType type) {
  return {folded_weight(scope, {in, out, 2 * stride}), scope.take("bias", {out}), stride,
          for_convolution(type)};
}

PackedLinear load_pointwise(const Weights& scope, int64_t in, int64_t out, WeightType type) {
  const Tensor weight = folded_weight(scope, {out, in, 1});
  return PackedLinear::pack(weight.view().reshape({out, in}), type, scope.take("bias", {out}));
}

ResidualUnit load_unit(const Weights& scope, int64_t channels, const UnitOptions& options) {
  const Weights w = scope.scope("block");
  ResidualUnit unit;
  unit.act1 = load_snake(w.scope("0"), channels);
  unit.conv = load_conv(w.scope("1").scope(options.conv), channels, channels, kTaps,
                        {.dilation = options.dilation,
                         .groups = options.depthwise ? channels : 1,
                         .type = for_convolution(options.type)});
  unit.act2 = load_snake(w.scope("2"), channels);
  unit.mix = load_pointwise(w.scope("3").scope(options.conv), channels, channels,
                            for_many_rows(options.type));
  return unit;
}

View convolve(StepContext& ctx, const CausalConv1d& conv, ConvState& state, const View& x) {
  const View out = take_rows(ctx, conv.rows(state, x.shape[0]), conv.out());
  conv.run(ctx, x, state, out);
  return out;
}

Raise load_raise(const Weights& scope, int64_t channels, int64_t stride, UnitOptions options) {
  Raise raise{
      load_snake(scope.scope("0"), channels),
      load_up(scope.scope("1").scope(options.conv), channels, channels / 2, stride, options.type),
      {}};
  int64_t unit = 2;
  for (const int64_t dilation : kDilations) {
    options.dilation = dilation;
    raise.units.push_back(load_unit(scope.scope(std::to_string(unit++)), channels / 2, options));
  }
  return raise;
}

void Raise::open(std::vector<ConvState>& states) const {
  states.push_back(up.open());
  for (const ResidualUnit& unit : units) states.push_back(unit.conv.open());
}

View Raise::run(StepContext& ctx, StreamPass& pass, const View& x) const {
  snake(ctx, x, act, x);
  const View out = pass.run(ctx, up, x);
  for (const ResidualUnit& unit : units) {
    add_unit(ctx, unit, out,
             [&](const CausalConv1d& conv, const View& in) { return pass.run(ctx, conv, in); });
  }
  return out;
}

void Raise::move_to(Device device) {
  syrinx::move_to(device, act, up);
  for (ResidualUnit& unit : units)
    syrinx::move_to(device, unit.act1, unit.act2, unit.conv, unit.mix);
}

size_t Raise::bytes() const {
  size_t sum = up.bytes();
  for (const ResidualUnit& unit : units) sum += unit.conv.bytes() + unit.mix.bytes();
  return sum;
}

}  // namespace syrinx::causal
