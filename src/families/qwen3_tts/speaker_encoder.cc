#include "families/qwen3_tts/speaker_encoder.h"

#include <algorithm>
#include <cmath>

#include "kernels/activation.h"
#include "nn/stream_pass.h"

namespace syrinx::qwen3_tts {
namespace {

constexpr double kPieceMacs = 4e8;   // multiplications of a piece, some tens of milliseconds
constexpr int64_t kPieceRows = 256;  // rows of a piece whose work is cheap
constexpr double kLeastVariance = 1e-12;

MelOptions mel_options(const SpeakerConfig& config) {
  MelOptions o;
  o.sample_rate = static_cast<int>(config.sample_rate);
  o.n_fft = 1024;
  o.hop = 256;
  o.mels = static_cast<int>(config.mels);
  o.high_hz = 12000;
  o.framing = MelFraming::kHalfHop;
  o.power = MelPower::kSoftMagnitude;
  return o;
}

PackedLinear linear_of(const Weights& weights, int64_t out, int64_t in) {
  return PackedLinear::pack(weights.take("weight", {out, in, 1}).reshape({out, in}),
                            WeightType::kF32, weights.take("bias", {out}));
}

/// Adds or copies columns [from, from + width) of x [rows, *] to columns [to, to + width) of out.
void copy_columns(const Tensor& x, int64_t from, Tensor& out, int64_t to, int64_t width, bool add) {
  const int64_t x_width = x.shape()[1], out_width = out.shape()[1];
  for (int64_t t = 0; t < x.shape()[0]; ++t) {
    const float* source = x.f32() + t * x_width + from;
    float* target = out.f32() + t * out_width + to;
    for (int64_t c = 0; c < width; ++c) target[c] = (add ? target[c] : 0.f) + source[c];
  }
}

/// Returns the mean of each channel of x [T, C].
std::vector<double> means(const Tensor& x) {
  const int64_t rows = x.shape()[0], width = x.shape()[1];
  std::vector<double> sums(width);
  for (int64_t t = 0; t < rows; ++t) {
    for (int64_t c = 0; c < width; ++c) sums[c] += x.f32()[t * width + c];
  }
  for (double& sum : sums) sum /= static_cast<double>(rows);
  return sums;
}

}  // namespace

SpeakerEncoder::SpeakerEncoder(const SpeakerConfig& config, const Weights& weights)
    : config_(config), mel_(mel_options(config)) {
  const auto& c = config.channels;
  const size_t last = c.size() - 1;
  const auto at = [&](size_t i) { return weights.scope("blocks", static_cast<int64_t>(i)); };
  head_ = load(at(0), config.mels, c[0], config.taps[0], config.dilations[0]);
  for (size_t i = 1; i < last; ++i) {
    Block block;
    block.first = load(at(i).scope("tdnn1"), c[i - 1], c[i], 1, 1);
    block.last = load(at(i).scope("tdnn2"), c[i], c[i], 1, 1);
    const int64_t part = c[i] / config.parts;
    for (int64_t p = 0; p + 1 < config.parts; ++p) {
      block.parts.push_back(load(at(i).scope("res2net_block").scope("blocks", p), part, part,
                                 config.taps[i], config.dilations[i]));
    }
    const Weights se = at(i).scope("se_block");
    block.squeeze = linear_of(se.scope("conv1"), config.squeezed, c[i]);
    block.excite = linear_of(se.scope("conv2"), c[i], config.squeezed);
    blocks_.push_back(std::move(block));
  }
  merge_ = load(weights.scope("mfa"), c[last], c[last], config.taps[last], config.dilations[last]);
  const Weights pool = weights.scope("asp");
  const Weights first = pool.scope("tdnn").scope("conv");
  const int64_t wide = c[last], narrow = config.attention;
  const Tensor seen = first.f32("weight", {narrow, 3 * wide, 1});
  Tensor frame({narrow, wide}, DType::kF32), all({narrow, 2 * wide}, DType::kF32);
  for (int64_t o = 0; o < narrow; ++o) {
    const float* row = seen.f32() + o * 3 * wide;
    std::copy_n(row, wide, frame.f32() + o * wide);
    std::copy_n(row + wide, 2 * wide, all.f32() + o * 2 * wide);
  }
  attend_frame_ = PackedLinear::pack(frame, WeightType::kF32);
  attend_all_ = PackedLinear::pack(all, WeightType::kF32, first.take("bias", {narrow}));
  attend_ = linear_of(pool.scope("conv"), wide, narrow);
  out_ = linear_of(weights.scope("fc"), config.width, 2 * wide);
}

SpeakerEncoder::Layer SpeakerEncoder::load(const Weights& weights, int64_t in, int64_t out,
                                           int64_t taps, int64_t dilation) const {
  const Weights w = weights.scope("conv");
  return {PackedConv1d::pack(w.take("weight", {out, in, taps}), w.take("bias", {out})), dilation};
}

Pieces SpeakerEncoder::layer(StepContext* const& ctx, const Layer& layer, const Tensor& x,
                             Tensor& out) const {
  const int64_t rows = x.shape()[0], in = x.shape()[1];
  const int64_t more = conv_window(layer.conv.taps(), layer.dilation) - 1, left = more / 2;
  out = Tensor({rows, layer.conv.out()}, DType::kF32);
  const double row_macs = static_cast<double>(in * layer.conv.out() * layer.conv.taps());
  const int64_t most = std::max<int64_t>(16, static_cast<int64_t>(kPieceMacs / row_macs));
  for (int64_t begin = 0; begin < rows; begin += most) {
    const int64_t end = std::min(rows, begin + most);
    {
      const Arena::Mark mark(ctx->arena);
      const View window = take_rows(*ctx, end - begin + more, in);
      for (int64_t r = 0; r < window.shape[0]; ++r) {
        int64_t from = std::abs(begin + r - left);
        if (from >= rows) from = 2 * (rows - 1) - from;
        std::copy_n(x.f32() + from * in, in, window.f32() + r * in);
      }
      const View part = out.view().slice(begin, end);
      conv1d(*ctx, layer.conv, window, part, layer.dilation);
      activate(*ctx, Activation::kRelu, part, part);
    }
    co_await PieceEnd();
  }
}

Pieces SpeakerEncoder::block(StepContext* const& ctx, const Block& block, Tensor& x) const {
  Tensor inner, mixed, part, said;
  for (Pieces p = layer(ctx, block.first, x, inner); !p.done(); p.next()) co_await PieceEnd();
  const int64_t rows = inner.shape()[0], width = inner.shape()[1];
  const int64_t step = width / config_.parts;
  mixed = Tensor({rows, width}, DType::kF32);
  copy_columns(inner, 0, mixed, 0, step, false);
  part = Tensor({rows, step}, DType::kF32);
  for (size_t i = 0; i < block.parts.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i + 1) * step;
    copy_columns(inner, at, part, 0, step, false);
    if (i > 0) copy_columns(said, 0, part, 0, step, true);
    for (Pieces p = layer(ctx, block.parts[i], part, said); !p.done(); p.next()) {
      co_await PieceEnd();
    }
    copy_columns(said, 0, mixed, at, step, false);
  }
  for (Pieces p = layer(ctx, block.last, mixed, inner); !p.done(); p.next()) co_await PieceEnd();
  const std::vector<double> mean = means(inner);
  Tensor gain({1, width}, DType::kF32), squeezed({1, block.squeeze.out()}, DType::kF32);
  Tensor average({1, width}, DType::kF32);
  std::copy(mean.begin(), mean.end(), average.f32());
  linear(*ctx, block.squeeze, average, squeezed);
  activate(*ctx, Activation::kRelu, squeezed, squeezed);
  linear(*ctx, block.excite, squeezed, gain);
  activate(*ctx, Activation::kSigmoid, gain, gain);
  add_scaled_inplace(*ctx, x, inner, gain.view().reshape({width}));
  co_await PieceEnd();
}

Pieces SpeakerEncoder::pool(StepContext* const& ctx, const Tensor& x, Tensor& stats) const {
  const int64_t rows = x.shape()[0], width = x.shape()[1];
  std::vector<double> mean = means(x), square(width);
  for (int64_t t = 0; t < rows; ++t) {
    for (int64_t c = 0; c < width; ++c) {
      const double off = x.f32()[t * width + c] - mean[c];
      square[c] += off * off;
    }
  }
  stats = Tensor({1, 2 * width}, DType::kF32);
  for (int64_t c = 0; c < width; ++c) {
    stats.f32()[c] = static_cast<float>(mean[c]);
    stats.f32()[width + c] = static_cast<float>(
        std::sqrt(std::max(square[c] / static_cast<double>(rows), kLeastVariance)));
  }
  Tensor all({1, config_.attention}, DType::kF32);
  linear(*ctx, attend_all_, stats, all);
  co_await PieceEnd();

  // Softmax over time, for each channel. Subtracts the maximum first, so that no sum overflows.
  Tensor score({rows, width}, DType::kF32);
  std::vector<float> top(width, -INFINITY);
  for (int64_t begin = 0; begin < rows; begin += kPieceRows) {
    const int64_t end = std::min(rows, begin + kPieceRows);
    {
      const Arena::Mark mark(ctx->arena);
      const View seen = take_rows(*ctx, end - begin, config_.attention);
      linear(*ctx, attend_frame_, x.view().slice(begin, end), seen);
      add_bias_inplace(*ctx, seen, all.view().reshape({config_.attention}));
      activate(*ctx, Activation::kRelu, seen, seen);
      activate(*ctx, Activation::kTanh, seen, seen);
      linear(*ctx, attend_, seen, score.view().slice(begin, end));
    }
    for (int64_t i = begin * width; i < end * width; ++i) {
      top[i % width] = std::max(top[i % width], score.f32()[i]);
    }
    co_await PieceEnd();
  }
  std::vector<double> sum(width);
  std::ranges::fill(mean, 0.0);
  std::ranges::fill(square, 0.0);
  for (int64_t begin = 0; begin < rows; begin += kPieceRows) {
    for (int64_t t = begin; t < std::min(rows, begin + kPieceRows); ++t) {
      for (int64_t c = 0; c < width; ++c) {
        float& weight = score.f32()[t * width + c];
        weight = std::exp(weight - top[c]);
        sum[c] += weight;
        mean[c] += double{weight} * x.f32()[t * width + c];
      }
    }
    co_await PieceEnd();
  }
  for (int64_t c = 0; c < width; ++c) mean[c] /= sum[c];
  for (int64_t t = 0; t < rows; ++t) {
    for (int64_t c = 0; c < width; ++c) {
      const double off = x.f32()[t * width + c] - mean[c];
      square[c] += score.f32()[t * width + c] * off * off;
    }
  }
  for (int64_t c = 0; c < width; ++c) {
    stats.f32()[c] = static_cast<float>(mean[c]);
    stats.f32()[width + c] =
        static_cast<float>(std::sqrt(std::max(square[c] / sum[c], kLeastVariance)));
  }
  co_await PieceEnd();
}

Pieces SpeakerEncoder::run(StepContext* const& ctx, std::span<const float> samples,
                           std::vector<float>& vector) const {
  SYRINX_CHECK(static_cast<int64_t>(samples.size()) >= kLeastSamples, "[speaker encoder] ",
               samples.size(), " samples are too few");
  const int64_t rows = mel_.frames(static_cast<int64_t>(samples.size()));
  Tensor mel({rows, config_.mels}, DType::kF32);
  for (int64_t begin = 0; begin < rows; begin += kPieceRows) {
    mel_.run(samples, begin, std::min(rows, begin + kPieceRows), mel.f32() + begin * config_.mels);
    co_await PieceEnd();
  }
  Tensor x;
  for (Pieces p = layer(ctx, head_, mel, x); !p.done(); p.next()) co_await PieceEnd();
  Tensor joined({rows, merge_.conv.in()}, DType::kF32);
  int64_t column = 0;
  for (const Block& each : blocks_) {
    for (Pieces p = block(ctx, each, x); !p.done(); p.next()) co_await PieceEnd();
    copy_columns(x, 0, joined, column, x.shape()[1], false);
    column += x.shape()[1];
  }
  for (Pieces p = layer(ctx, merge_, joined, x); !p.done(); p.next()) co_await PieceEnd();
  Tensor stats, out({1, out_.out()}, DType::kF32);
  for (Pieces p = pool(ctx, x, stats); !p.done(); p.next()) co_await PieceEnd();
  linear(*ctx, out_, stats, out);
  vector.assign(out.f32(), out.f32() + out_.out());
}

size_t SpeakerEncoder::bytes() const {
  size_t sum = head_.conv.bytes() + merge_.conv.bytes() + attend_frame_.bytes() +
               attend_all_.bytes() + attend_.bytes() + out_.bytes();
  for (const Block& each : blocks_) {
    sum += each.first.conv.bytes() + each.last.conv.bytes() + each.squeeze.bytes() +
           each.excite.bytes();
    for (const Layer& part : each.parts) sum += part.conv.bytes();
  }
  return sum;
}

}  // namespace syrinx::qwen3_tts
