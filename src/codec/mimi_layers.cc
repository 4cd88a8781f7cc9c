#include "codec/mimi_layers.h"

#include <algorithm>

#include "kernels/activation.h"

namespace syrinx::mimi {
namespace {

constexpr float kUsageFloor = 1e-5f;  // centroid = embed_sum / max(cluster_usage, floor)

}  // namespace

CausalConv1d load_conv(const Weights& scope, int64_t in, int64_t out, int64_t taps,
                       const CausalConv1dOptions& options) {
  const Weights w = scope.scope("conv");
  return {w.take("weight", {out, in / options.groups, taps}), w.take("bias", {out}), options};
}

MimiResidualUnit load_unit(const MimiConfig& config, const Weights& scope, int64_t channels,
                           int64_t index, WeightType type) {
  CausalConv1dOptions options;
  options.type = for_convolution(type);
  for (int64_t i = 0; i < index; ++i) options.dilation *= config.dilation_growth;
  const int64_t inner = channels / config.compress;
  MimiResidualUnit unit;
  unit.conv = load_conv(scope.scope("block.1"), channels, inner, config.residual_taps, options);
  const Weights mix = scope.scope("block.3.conv");
  unit.mix = PackedLinear::pack(mix.take("weight", {channels, inner, 1}).reshape({channels, inner}),
                                for_convolution(type), mix.take("bias", {channels}));
  return unit;
}

void run_unit(StepContext& ctx, StreamPass& pass, const MimiResidualUnit& unit, const View& x) {
  const Arena::Mark mark(ctx.arena);
  const View first = take_rows(ctx, x.shape[0], x.shape[1]);
  activate(ctx, Activation::kElu, x, first);
  const View inner = pass.run(ctx, unit.conv, first);
  activate(ctx, Activation::kElu, inner, inner);
  linear_add(ctx, unit.mix, inner, x);
}

Tensor load_codebook(const MimiConfig& config, const Weights& quantizer, int64_t q) {
  const bool semantic = q < config.semantic;
  const Weights w = quantizer.scope(semantic ? kSemantic : kAcoustic)
                        .scope("layers", semantic ? q : q - config.semantic)
                        .scope("codebook");
  const int64_t size = config.codebook_size, dim = config.codebook_dim;
  Tensor table = w.f32("embed_sum", {size, dim});
  const Tensor usage = w.f32("cluster_usage", {size});
  for (int64_t v = 0; v < size; ++v) {
    const float count = std::max(usage.f32()[v], kUsageFloor);
    for (int64_t i = 0; i < dim; ++i) table.f32()[v * dim + i] /= count;
  }
  w.ignore("initialized");
  return table;
}

PackedLinear load_projection(const Weights& scope, const std::string& name, int64_t in, int64_t out,
                             WeightType type) {
  return PackedLinear::pack(scope.scope(name).take("weight", {out, in, 1}).reshape({out, in}),
                            type);
}

}  // namespace syrinx::mimi
