#include "codec/xeus.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/activation.h"
#include "nn/row_queue.h"
#include "nn/stream_pass.h"

namespace syrinx {
namespace {

constexpr WeightType kXeusType = WeightType::kF32;
constexpr std::array<int64_t, 7> kXeusTaps{10, 3, 3, 3, 3, 2, 2};
constexpr std::array<int64_t, 7> kXeusStrides{5, 2, 2, 2, 2, 2, 2};
constexpr float kFrontEps = 1e-5f, kBlockEps = 1e-12f;
constexpr int64_t kHeardSamples = 8000;  // samples per piece of the convolutions
constexpr int64_t kXeusRows = 32;        // rows per piece of everything else
constexpr int64_t kBlockPasses = 3;

/// Returns the mean and the inverse standard deviation of a recording.
std::pair<double, double> loudness(std::span<const float> samples) {
  double mean = 0, power = 0;
  for (const float x : samples) mean += x;
  mean /= static_cast<double>(samples.size());
  for (const float x : samples) power += (x - mean) * (x - mean);
  return {mean, 1 / std::sqrt(power / static_cast<double>(samples.size()) + kFrontEps)};
}

/// Returns rows [begin, end), counted without the `taps` / 2 rows of padding at the front.
View around(const Tensor& padded, int64_t taps, int64_t begin, int64_t end) {
  return padded.view().slice(begin + taps / 2, end + taps / 2);
}

}  // namespace

XeusConfig XeusConfig::of(const Weights& weights) {
  XeusConfig c;
  const Weights encoder = weights.scope("encoder"), block = encoder.scope("encoders", 0);
  const auto sizes = [](const Weights& scope, const char* name, int dims) {
    std::optional<Shape> shape = scope.shape(name);
    return shape && shape->dims() == dims ? shape : std::nullopt;
  };
  if (const auto s = sizes(weights, "preencoder.linear_out.weight", 2)) {
    c.width = (*s)[0], c.channels = (*s)[1];
  }
  if (const auto s = sizes(block, "feed_forward.w_1.weight", 2)) c.ffn = (*s)[0];
  if (const auto s = sizes(block, "cgmlp.channel_proj1.0.weight", 2)) {
    c.gated = std::max<int64_t>(2, (*s)[0] / 2 * 2);
  }
  if (const auto s = sizes(block, "cgmlp.csgu.conv.weight", 3)) c.gate_taps = (*s)[2];
  if (const auto s = sizes(block, "depthwise_conv_fusion.weight", 3)) c.merge_taps = (*s)[2];
  if (const int64_t blocks = encoder.count("encoders"); blocks > 0) c.blocks = blocks;
  const ConvPositionSizes positions = ConvPositionSizes::of(
      encoder.scope("embed", 0).scope("convs", 0), {c.width, c.position_taps, c.position_groups});
  c.position_taps = positions.taps, c.position_groups = positions.groups;
  return c;
}

/// State of a recording between blocks. Convolution inputs have zero rows before and after them.
struct Xeus::Work {
  Work(const XeusConfig& c, int64_t rows)
      : x({rows, c.width}, DType::kF32),
        kept({rows, c.gated / 2}, DType::kF32),
        gates({rows + c.gate_taps - 1, c.gated / 2}, DType::kF32),
        branches({rows + c.merge_taps - 1, 2 * c.width}, DType::kF32),
        attention(rows, c.width, XeusConfig::kHeads) {}
  Tensor x, kept, gates, branches;
  RowAttention attention;
};

Xeus::Xeus(const XeusConfig& config, const Weights& weights, int64_t layer) : config_(config) {
  const int64_t width = config.width;
  if (width % (8 * XeusConfig::kHeads) != 0) {
    weights.fault("preencoder.linear_out.weight",
                  concat("the width ", width, " does not fit ", XeusConfig::kHeads, " heads"));
  }
  for (size_t i = 0; i < kXeusTaps.size(); ++i) {
    const Weights w = weights.scope("frontend").scope("layers", static_cast<int64_t>(i));
    const int64_t in = i == 0 ? 1 : config.channels;
    convs_.push_back(
        {CausalConv1d(w.take("conv.weight", {config.channels, in, kXeusTaps[i]}),
                      w.take("conv.bias", {config.channels}), {.stride = kXeusStrides[i]}),
         LayerNorm(w.scope("layer_norm"), config.channels, kFrontEps)});
  }
  project_ = load_linear(weights.scope("preencoder"), "linear_out", width, config.channels, true,
                         kXeusType);
  const Weights encoder = weights.scope("encoder");
  positions_ = ConvPositions(encoder.scope("embed", 0).scope("convs", 0),
                             {width, config.position_taps, config.position_groups});
  const int64_t last = std::min(layer, config.blocks - 1);
  for (int64_t i = 0; i <= last; ++i) blocks_.push_back(load_block(encoder.scope("encoders", i)));
  for (int64_t i = last + 1; i < config.blocks; ++i) encoder.scope("encoders", i).ignore("*");
  if (last == config.blocks - 1) {
    norm_ = LayerNorm(encoder.scope("after_norm"), width, kBlockEps);
  } else {
    encoder.ignore("after_norm.*");
  }
}

Xeus::Ffn Xeus::load_ffn(const Weights& block, const std::string& name, const XeusConfig& config) {
  Tensor half({config.width}, DType::kF32);
  std::fill_n(half.f32(), config.width, 0.5f);
  const Weights w = block.scope("feed_forward" + name);
  return {LayerNorm(block.scope("norm_ff" + name), config.width, kBlockEps),
          load_linear(w, "w_1", config.ffn, config.width, true, kXeusType),
          load_linear_scaled(w, "w_2", config.width, config.ffn, true, half, kXeusType)};
}

Xeus::Block Xeus::load_block(const Weights& w) const {
  const int64_t width = config_.width, half = config_.gated / 2;
  const Weights attention = w.scope("attn"), gated = w.scope("cgmlp"), gate = gated.scope("csgu");
  const auto norm = [&](const char* name) { return LayerNorm(w.scope(name), width, kBlockEps); };
  const auto depthwise = [](const Weights& scope, int64_t channels, int64_t taps) {
    return PackedConv1d::pack(scope.take("weight", {channels, 1, taps}),
                              scope.take("bias", {channels}), channels);
  };
  const std::array qkv{take_linear(attention, "linear_q", width, width, true),
                       take_linear(attention, "linear_k", width, width, true),
                       take_linear(attention, "linear_v", width, width, true)};
  Block b;
  b.first = load_ffn(w, "_macaron", config_);
  b.last = load_ffn(w, "", config_);
  b.before_attention = norm("norm_mha");
  b.before_gated = norm("norm_mlp");
  b.norm = norm("norm_final");
  b.gate_norm = LayerNorm(gate.scope("norm"), half, kBlockEps);
  b.qkv = PackedLinear::pack(qkv, kXeusType);
  b.attended = load_linear(attention, "linear_out", width, width, true, kXeusType);
  b.widen = load_linear(gated, "channel_proj1.0", config_.gated, width, true, kXeusType);
  b.narrow = load_linear(gated, "channel_proj2", width, half, true, kXeusType);
  b.merge = load_linear(w, "merge_proj", width, 2 * width, true, kXeusType);
  b.gate = depthwise(gate.scope("conv"), half, config_.gate_taps);
  b.around = depthwise(w.scope("depthwise_conv_fusion"), 2 * width, config_.merge_taps);
  return b;
}

int64_t Xeus::pieces(int64_t samples) const {
  const int64_t passes = 1 + kBlockPasses * std::ssize(blocks_);
  return samples / kHeardSamples + 1 + passes * (rows(samples) / kXeusRows + 1);
}

Pieces Xeus::convolve(StepContext* const& ctx, std::span<const float> samples, Tensor& x) const {
  const auto [mean, scale] = loudness(samples);
  std::vector<ConvState> states;
  // The recording begins without zero rows before its first sample.
  for (size_t i = 0; i < kXeusTaps.size(); ++i) {
    states.emplace_back(kXeusTaps[i] - 1, convs_[i].conv.in(), 0);
  }
  int64_t made = 0;
  for (int64_t begin = 0; begin < std::ssize(samples); begin += kHeardSamples) {
    StepContext& now = *ctx;
    const int64_t count = std::min(kHeardSamples, std::ssize(samples) - begin);
    View rows = take_rows(now, count, 1);
    for (int64_t i = 0; i < count; ++i) {
      rows.f32()[i] = static_cast<float>((samples[static_cast<size_t>(begin + i)] - mean) * scale);
    }
    for (size_t i = 0; i < convs_.size() && rows.shape[0] > 0; ++i) {
      rows = convolve_rows(now, convs_[i].conv, rows, false, states[i]);
      if (rows.shape[0] == 0) break;
      convs_[i].norm(now, rows, rows);
      activate(now, Activation::kGelu, rows, rows);
    }
    if (rows.shape[0] > 0) {
      linear(now, project_, rows, x.view().slice(made, made + rows.shape[0]));
      made += rows.shape[0];
    }
    co_await PieceEnd();
  }
  SYRINX_CHECK(made == x.shape()[0], "[xeus] ", made, " rows, expected ", x.shape()[0]);
}

/// Replaces x by its positional convolution, without adding the input.
Pieces Xeus::place(StepContext* const& ctx, Tensor& x) const {
  const Tensor padded = positions_.padded(x);
  const int64_t total = x.shape()[0], width = x.shape()[1];
  for (int64_t begin = 0; begin < total; begin += kXeusRows) {
    const int64_t end = std::min(total, begin + kXeusRows);
    const View positions = positions_.at(*ctx, padded, begin, end);
    std::copy_n(positions.f32(), positions.count(), x.f32() + begin * width);
    co_await PieceEnd();
  }
}

void Xeus::add(StepContext& ctx, const Ffn& ffn, const View& x) const {
  const View normed = take_rows(ctx, x.shape[0], config_.width);
  const View wide = take_rows(ctx, x.shape[0], config_.ffn);
  ffn.norm(ctx, x, normed);
  linear(ctx, ffn.up, normed, wide);
  activate(ctx, Activation::kSilu, wide, wide);
  linear_add(ctx, ffn.down, wide, x);
}

/// Runs the first part of both branches for rows [begin, end).
void Xeus::branch(StepContext& ctx, const Block& block, Work& work, int64_t begin,
                  int64_t end) const {
  const int64_t rows = end - begin, half = config_.gated / 2;
  const View x = work.x.view().slice(begin, end);
  add(ctx, block.first, x);
  const View normed = take_rows(ctx, rows, config_.width);
  const View wide = take_rows(ctx, rows, config_.gated);
  block.before_attention(ctx, x, normed);
  work.attention.put(ctx, block.qkv, normed, begin);
  block.before_gated(ctx, x, normed);
  linear(ctx, block.widen, normed, wide);
  activate(ctx, Activation::kGelu, wide, wide);
  const View gates = around(work.gates, config_.gate_taps, begin, end);
  for (int64_t t = 0; t < rows; ++t) {
    const float* row = wide.f32() + t * 2 * half;
    std::copy_n(row, half, work.kept.f32() + (begin + t) * half);
    std::copy_n(row + half, half, gates.f32() + t * half);
  }
  block.gate_norm(ctx, gates, gates);
}

/// Runs the last part of both branches, and writes their outputs side by side.
void Xeus::gather(StepContext& ctx, const Block& block, Work& work, int64_t begin,
                  int64_t end) const {
  const int64_t rows = end - begin, width = config_.width, half = config_.gated / 2;
  const View seen = take_rows(ctx, rows, width), attended = take_rows(ctx, rows, width);
  const View gate = take_rows(ctx, rows, half), gated = take_rows(ctx, rows, width);
  work.attention.see(ctx, begin, seen);
  linear(ctx, block.attended, seen, attended);
  conv1d(ctx, block.gate, work.gates.view().slice(begin, end + config_.gate_taps - 1), gate);
  const float* kept = work.kept.f32() + begin * half;
  for (int64_t i = 0; i < rows * half; ++i) gate.f32()[i] *= kept[i];
  linear(ctx, block.narrow, gate, gated);
  const View both = around(work.branches, config_.merge_taps, begin, end);
  for (int64_t t = 0; t < rows; ++t) {
    std::copy_n(attended.f32() + t * width, width, both.f32() + t * 2 * width);
    std::copy_n(gated.f32() + t * width, width, both.f32() + (t * 2 + 1) * width);
  }
}

/// Merges both branches, through a convolution over neighbouring rows, into x.
void Xeus::join(StepContext& ctx, const Block& block, Work& work, int64_t begin,
                int64_t end) const {
  const int64_t rows = end - begin;
  const View x = work.x.view().slice(begin, end);
  const View both = take_rows(ctx, rows, 2 * config_.width);
  conv1d(ctx, block.around, work.branches.view().slice(begin, end + config_.merge_taps - 1), both);
  add_inplace(ctx, both, around(work.branches, config_.merge_taps, begin, end));
  linear_add(ctx, block.merge, both, x);
  add(ctx, block.last, x);
  block.norm(ctx, x, x);
}

Pieces Xeus::run(StepContext* const& ctx, std::span<const float> samples, Tensor& out) const {
  const int64_t total = rows(std::ssize(samples));
  SYRINX_CHECK(total > 0, "[xeus] ", samples.size(), " samples are too few");
  Work work(config_, total);
  for (Pieces p = convolve(ctx, samples, work.x); !p.done(); p.next()) co_await PieceEnd();
  for (Pieces p = place(ctx, work.x); !p.done(); p.next()) co_await PieceEnd();
  using Pass = void (Xeus::*)(StepContext&, const Block&, Work&, int64_t, int64_t) const;
  constexpr std::array<Pass, kBlockPasses> kPasses{&Xeus::branch, &Xeus::gather, &Xeus::join};
  for (const Block& block : blocks_) {
    for (const Pass pass : kPasses) {
      for (int64_t begin = 0; begin < total; begin += kXeusRows) {
        (this->*pass)(*ctx, block, work, begin, std::min(total, begin + kXeusRows));
        co_await PieceEnd();
      }
    }
  }
  out = std::move(work.x);
  if (!norm_.empty()) norm_(*ctx, out, out);
}

size_t Xeus::bytes() const {
  size_t sum = project_.bytes() + positions_.bytes();
  for (const Conv& each : convs_) sum += each.conv.bytes();
  for (const Block& b : blocks_) {
    for (const Ffn* ffn : {&b.first, &b.last}) sum += ffn->up.bytes() + ffn->down.bytes();
    for (const PackedLinear* linear : {&b.qkv, &b.attended, &b.widen, &b.narrow, &b.merge}) {
      sum += linear->bytes();
    }
    sum += b.gate.bytes() + b.around.bytes();
  }
  return sum;
}

}  // namespace syrinx
