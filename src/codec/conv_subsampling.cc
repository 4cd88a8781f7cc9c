#include "codec/conv_subsampling.h"

#include <algorithm>

#include "kernels/activation.h"
#include "kernels/copy.h"
#include "kernels/patches.h"

namespace syrinx {
namespace {

constexpr int64_t kTaps = 3, kStride = 2;

}  // namespace

ConvSubsampling::ConvSubsampling(const ConvSubsamplingConfig& config, const Weights& root,
                                 WeightType type)
    : config_(config) {
  const Weights weights = root.scope("subsampling");
  const int64_t c = config.channels;
  int64_t bands = config.mels;
  for (int i = 0; i < config.layers; ++i) {
    // Finds the parts of a layer by name, or by their index in a list that counts the ReLUs.
    const auto at = [&](int64_t place) { return weights.scope("layers", place); };
    const bool first = i == 0;
    const Weights depthwise =
        config.causal ? (first ? weights.scope("conv_in") : at(i - 1).scope("depthwise_conv"))
                      : at(first ? 0 : 3 * i - 1);
    layers_.push_back(load_layer(depthwise, bands, first ? 1 : c));
    if (!first) {
      const Weights pointwise = config.causal ? at(i - 1).scope("pointwise_conv") : at(3 * i);
      layers_.back().pointwise =
          PackedLinear::pack(pointwise.take("weight", {c, c, 1, 1}).reshape({c, c}), type,
                             pointwise.take("bias", {c}));
    }
    bands = layers_.back().bands_out;
  }
  linear_ = load_linear(weights, "linear", config.width, c * bands, true, type);
}

ConvSubsampling::Layer ConvSubsampling::load_layer(const Weights& w, int64_t bands,
                                                   int64_t channels_in) const {
  const int64_t c = config_.channels;
  Layer layer;
  const Tensor stored = w.f32("weight", {c, 1, kTaps, kTaps});
  layer.taps = Tensor({kTaps * kTaps, c}, DType::kF32);
  for (int64_t i = 0; i < c; ++i) {
    for (int64_t t = 0; t < kTaps * kTaps; ++t) {
      layer.taps.f32()[t * c + i] = stored.f32()[i * kTaps * kTaps + t];
    }
  }
  layer.bias = w.f32("bias", {c});
  layer.channels_in = channels_in;
  layer.bands_in = bands;
  layer.bands_out = (bands + lead() + 1 - kTaps) / kStride + 1;
  return layer;
}

ConvSubsampling::State ConvSubsampling::open() const {
  State state;
  for (const Layer& layer : layers_) {
    state.layers.emplace_back(kTaps - 1, layer.bands_in * layer.channels_in, lead(),
                              linear_.device());
  }
  return state;
}

int64_t ConvSubsampling::rows(int64_t frames, bool last) const {
  for (int i = 0; i < config_.layers; ++i) {
    const int64_t all = frames + lead() + (last ? 1 : 0);
    frames = all < kTaps ? 0 : (all - kTaps) / kStride + 1;
  }
  return frames;
}

/// Runs a layer's convolution: x [T, bands * channels] -> [rows, bands * channels]. Applies the
/// ReLU unless a pointwise convolution follows.
View ConvSubsampling::convolve(StepContext& ctx, const Layer& layer, const View& x,
                               ConvState& state, bool last) const {
  const int64_t width = layer.bands_in * layer.channels_in, c = config_.channels;
  const int64_t past = state.held, fresh = x.shape[0];
  const int64_t all = past + fresh + (last ? 1 : 0);
  const int64_t rows = all < kTaps ? 0 : (all - kTaps) / kStride + 1;
  const View out = ctx.arena.take({rows, layer.bands_out * c}, DType::kF32);
  const Arena::Mark mark(ctx.arena);
  const View in = ctx.arena.take({all, width}, DType::kF32);
  const CopySpan joined[] = {
      {state.past.f32(), in.f32(), past * width},
      {x.f32(), in.f32() + past * width, fresh * width},
      {nullptr, in.f32() + (past + fresh) * width, (all - past - fresh) * width}};
  copy_spans(ctx, joined);
  if (rows > 0) {
    depthwise_patches(ctx, in.reshape({all, layer.bands_in, layer.channels_in}), layer.taps,
                      layer.bias, lead(), out.reshape({rows, layer.bands_out, c}));
  }
  const int64_t used = std::min(rows * kStride, past + fresh);
  state.held = past + fresh - used;
  const CopySpan kept[] = {{in.f32() + used * width, state.past.f32(), state.held * width}};
  copy_spans(ctx, kept);
  return out;
}

View ConvSubsampling::run(StepContext& ctx, std::span<const Job> jobs,
                          std::span<int64_t> made) const {
  const int64_t c = config_.channels, bands = layers_.back().bands_out;
  // Computes an upper bound, because past frames may complete a row of every layer.
  int64_t most = 0;
  for (const Job& job : jobs) most += job.x.shape[0] / (int64_t{1} << config_.layers) + 2;
  const View out = ctx.arena.take({most, config_.width}, DType::kF32);
  const Arena::Mark mark(ctx.arena);
  const View flat = ctx.arena.take({most, c * bands}, DType::kF32);
  int64_t n = 0;
  for (size_t j = 0; j < jobs.size(); ++j) {
    const Job& job = jobs[j];
    const Arena::Mark inner(ctx.arena);
    View x = job.x;
    for (size_t i = 0; i < layers_.size(); ++i) {
      const Layer& layer = layers_[i];
      x = convolve(ctx, layer, x, job.state->layers[i], job.last);
      if (!layer.pointwise.empty()) {
        const View rows = x.reshape({x.count() / c, c});
        const View mixed = ctx.arena.take(rows.shape, DType::kF32);
        linear(ctx, layer.pointwise, rows, mixed);
        x = mixed.reshape(x.shape);
      }
      activate(ctx, Activation::kRelu, x, x);
    }
    made[j] = x.shape[0];
    SYRINX_CHECK(n + made[j] <= most, "[conv_subsampling] too many rows: ", made[j], " from ",
                 job.x.shape[0], " frames");
    // The linear's input has channels first.
    if (made[j] > 0)
      channels_first(ctx, x.reshape({made[j], bands, c}), flat.slice(n, n + made[j]));
    n += made[j];
  }
  const View rows = out.slice(0, n);
  if (n > 0) linear(ctx, linear_, flat.slice(0, n), rows);
  return rows;
}

void ConvSubsampling::move_to(Device device) {
  for (Layer& layer : layers_) syrinx::move_to(device, layer.taps, layer.bias, layer.pointwise);
  syrinx::move_to(device, linear_);
}

size_t ConvSubsampling::bytes() const {
  size_t sum = linear_.bytes();
  for (const Layer& layer : layers_) {
    sum += layer.taps.bytes() + layer.bias.bytes() + layer.pointwise.bytes();
  }
  return sum;
}

}  // namespace syrinx
