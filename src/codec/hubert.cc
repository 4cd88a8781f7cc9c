#include "codec/hubert.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/activation.h"
#include "nn/row_queue.h"

namespace syrinx {
namespace {

constexpr WeightType kHubertType = WeightType::kF32;
constexpr int64_t kFirstTaps = 10, kFirstStride = 5;
constexpr std::array<int64_t, 6> kHubertTaps{3, 3, 3, 3, 2, 2};
constexpr int64_t kHubertStride = 2;
constexpr float kHubertEps = 1e-5f;
constexpr int64_t kFirstRows = 1600;  // rows of the first convolution per piece: half a second
constexpr int64_t kPlaceRows = 64;    // rows per piece of the positional convolution
constexpr int64_t kBlockRows = 64;    // rows per piece of a block

}  // namespace

HubertConfig HubertConfig::of(const Weights& weights) {
  HubertConfig c;
  const auto sizes = [&](const char* name, int dims) {
    std::optional<Shape> shape = weights.shape(name);
    return shape && shape->dims() == dims ? shape : std::nullopt;
  };
  if (const auto s = sizes("feature_projection.projection.weight", 2)) {
    c.width = (*s)[0], c.channels = (*s)[1];
  }
  const ConvPositionSizes positions =
      ConvPositionSizes::of(weights.scope("encoder").scope("pos_conv_embed").scope("conv"),
                            {c.width, c.position_taps, c.position_groups});
  c.position_taps = positions.taps, c.position_groups = positions.groups;
  if (const auto s = sizes("encoder.layers.0.feed_forward.intermediate_dense.weight", 2)) {
    c.ffn = (*s)[0];
  }
  if (const int64_t layers = weights.scope("encoder").count("layers"); layers > 0) {
    c.layers = layers;
  }
  return c;
}

Hubert::Hubert(const HubertConfig& config, const Weights& weights) : config_(config) {
  const int64_t width = config.width, channels = config.channels;
  const Weights features = weights.scope("feature_extractor");
  const auto layer = [&](size_t i) {
    return features.scope("conv_layers", static_cast<int64_t>(i));
  };
  first_ = PackedConv1d::pack(layer(0).take("conv.weight", {channels, 1, kFirstTaps}));
  first_gain_ = layer(0).f32("layer_norm.weight", {channels});
  first_bias_ = layer(0).f32("layer_norm.bias", {channels});
  for (size_t i = 0; i < kHubertTaps.size(); ++i) {
    convs_.emplace_back(layer(i + 1).take("conv.weight", {channels, channels, kHubertTaps[i]}),
                        View{}, CausalConv1dOptions{.stride = kHubertStride});
  }
  const Weights projection = weights.scope("feature_projection");
  feature_norm_ = LayerNorm(projection.scope("layer_norm"), channels, kHubertEps);
  project_ = load_linear(projection, "projection", width, channels, true, kHubertType);
  const Weights encoder = weights.scope("encoder");
  positions_ = ConvPositions(encoder.scope("pos_conv_embed").scope("conv"),
                             {width, config.position_taps, config.position_groups});
  norm_ = LayerNorm(encoder.scope("layer_norm"), width, kHubertEps);
  for (int64_t i = 0; i < config.layers; ++i) {
    const Weights w = encoder.scope("layers", i), attention = w.scope("attention");
    const Weights mlp = w.scope("feed_forward");
    blocks_.push_back({load_qkv(attention),
                       load_linear(attention, "out_proj", width, width, true, kHubertType),
                       load_linear(mlp, "intermediate_dense", config.ffn, width, true, kHubertType),
                       load_linear(mlp, "output_dense", width, config.ffn, true, kHubertType),
                       LayerNorm(w.scope("layer_norm"), width, kHubertEps),
                       LayerNorm(w.scope("final_layer_norm"), width, kHubertEps)});
  }
  weights.ignore("masked_spec_embed");  // used only in training
}

PackedLinear Hubert::load_qkv(const Weights& attention) const {
  const int64_t width = config_.width;
  const std::array parts{take_linear(attention, "q_proj", width, width, true),
                         take_linear(attention, "k_proj", width, width, true),
                         take_linear(attention, "v_proj", width, width, true)};
  return PackedLinear::pack(parts, kHubertType);
}

/// Computes rows [begin, end) of the first convolution, in the arena.
View Hubert::first_rows(StepContext& ctx, std::span<const float> samples, int64_t begin,
                        int64_t end) const {
  const int64_t from = begin * kFirstStride, count = (end - 1 - begin) * kFirstStride + kFirstTaps;
  const View in = ctx.arena.take({count, 1}, DType::kF32);
  std::copy_n(samples.begin() + from, count, in.f32());
  const View out = ctx.arena.take({end - begin, config_.channels}, DType::kF32);
  conv1d(ctx, first_, in, out, 1, kFirstStride);
  return out;
}

Pieces Hubert::measure(StepContext* const& ctx, std::span<const float> samples,
                       Tensor& norm) const {
  const int64_t channels = config_.channels;
  const int64_t total = conv_rows(std::ssize(samples), kFirstTaps, 1, kFirstStride);
  // The mean is computed first, because sums of squares would lose precision by cancellation.
  std::vector<double> mean(static_cast<size_t>(channels)), power(static_cast<size_t>(channels));
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t begin = 0; begin < total; begin += kFirstRows) {
      const View rows = first_rows(*ctx, samples, begin, std::min(total, begin + kFirstRows));
      for (int64_t t = 0; t < rows.shape[0]; ++t) {
        const float* row = rows.f32() + t * channels;
        for (int64_t c = 0; c < channels; ++c) {
          if (pass == 0) {
            mean[c] += row[c];
          } else {
            power[c] += (row[c] - mean[c]) * (row[c] - mean[c]);
          }
        }
      }
      co_await PieceEnd();
    }
    if (pass > 0) break;
    for (double& each : mean) each /= static_cast<double>(total);
  }
  norm = Tensor({2, channels}, DType::kF32);
  for (int64_t c = 0; c < channels; ++c) {
    const double scale =
        first_gain_.f32()[c] / std::sqrt(power[c] / static_cast<double>(total) + kHubertEps);
    norm.f32()[c] = static_cast<float>(scale);
    norm.f32()[channels + c] = static_cast<float>(first_bias_.f32()[c] - mean[c] * scale);
  }
}

Pieces Hubert::convolve(StepContext* const& ctx, std::span<const float> samples, const Tensor& norm,
                        Tensor& x) const {
  const int64_t channels = config_.channels, width = config_.width;
  const int64_t total = conv_rows(std::ssize(samples), kFirstTaps, 1, kFirstStride);
  std::vector<ConvState> states;
  // The first row has no zero padding before it.
  for (const int64_t taps : kHubertTaps) states.emplace_back(taps - 1, channels, 0);
  int64_t made = 0;
  for (int64_t begin = 0; begin < total; begin += kFirstRows) {
    StepContext& now = *ctx;
    View rows = first_rows(now, samples, begin, std::min(total, begin + kFirstRows));
    for (int64_t t = 0; t < rows.shape[0]; ++t) {
      float* row = rows.f32() + t * channels;
      for (int64_t c = 0; c < channels; ++c) {
        row[c] = row[c] * norm.f32()[c] + norm.f32()[channels + c];
      }
    }
    activate(now, Activation::kGelu, rows, rows);
    for (size_t i = 0; i < convs_.size() && rows.shape[0] > 0; ++i) {
      rows = convolve_rows(now, convs_[i], rows, false, states[i]);
      if (rows.shape[0] > 0) activate(now, Activation::kGelu, rows, rows);
    }
    if (rows.shape[0] > 0) {
      feature_norm_(now, rows, rows);
      linear(now, project_, rows, x.view().slice(made, made + rows.shape[0]));
      made += rows.shape[0];
    }
    co_await PieceEnd();
  }
  SYRINX_CHECK(made == x.shape()[0], "[hubert] ", made, " rows, expected ", x.shape()[0]);
  SYRINX_CHECK(x.shape()[1] == width, "[hubert] rows have the wrong width ", x.shape()[1]);
}

/// Adds the positional convolution of x to x, then normalises x.
Pieces Hubert::place(StepContext* const& ctx, Tensor& x) const {
  const int64_t total = x.shape()[0];
  const Tensor padded = positions_.padded(x);
  for (int64_t begin = 0; begin < total; begin += kPlaceRows) {
    StepContext& now = *ctx;
    const int64_t end = std::min(total, begin + kPlaceRows);
    const View rows = x.view().slice(begin, end);
    add_inplace(now, rows, positions_.at(now, padded, begin, end));
    norm_(now, rows, rows);
    co_await PieceEnd();
  }
}

Pieces Hubert::attend(StepContext* const& ctx, const Block& block, RowAttention& attention,
                      Tensor& all) const {
  const int64_t total = all.shape()[0], width = config_.width;
  const auto piece = [&](int64_t begin) { return std::min(total, begin + kBlockRows); };
  for (int64_t begin = 0; begin < total; begin += kBlockRows) {
    attention.put(*ctx, block.qkv, all.view().slice(begin, piece(begin)), begin);
    co_await PieceEnd();
  }
  for (int64_t begin = 0; begin < total; begin += kBlockRows) {
    StepContext& now = *ctx;
    const View x = all.view().slice(begin, piece(begin));
    const View seen = now.arena.take({x.shape[0], width}, DType::kF32);
    const View wide = now.arena.take({x.shape[0], config_.ffn}, DType::kF32);
    attention.see(now, begin, seen);
    linear_add(now, block.out, seen, x);
    block.after_attention(now, x, x);
    linear(now, block.up, x, wide);
    activate(now, Activation::kGelu, wide, wide);
    linear_add(now, block.down, wide, x);
    block.after_mlp(now, x, x);
    co_await PieceEnd();
  }
}

Pieces Hubert::run(StepContext* const& ctx, std::span<const float> samples, Tensor& out) const {
  const int64_t total = rows(std::ssize(samples)), width = config_.width;
  SYRINX_CHECK(total > 0, "[hubert] ", samples.size(), " samples are too few");
  RowAttention attention(total, width, config_.heads());
  Tensor x({total, width}, DType::kF32), norm;
  for (Pieces p = measure(ctx, samples, norm); !p.done(); p.next()) co_await PieceEnd();
  for (Pieces p = convolve(ctx, samples, norm, x); !p.done(); p.next()) co_await PieceEnd();
  for (Pieces p = place(ctx, x); !p.done(); p.next()) co_await PieceEnd();
  out = x.clone();
  for (const Block& block : blocks_) {
    for (Pieces p = attend(ctx, block, attention, x); !p.done(); p.next()) co_await PieceEnd();
    add_inplace(*ctx, out, x);
  }
  scale_inplace(*ctx, out, 1 / static_cast<float>(blocks_.size() + 1));
}

size_t Hubert::bytes() const {
  size_t sum = first_.bytes() + positions_.bytes() + project_.bytes();
  for (const CausalConv1d& conv : convs_) sum += conv.bytes();
  for (const Block& b : blocks_) {
    sum += b.qkv.bytes() + b.out.bytes() + b.up.bytes() + b.down.bytes();
  }
  return sum;
}

}  // namespace syrinx
