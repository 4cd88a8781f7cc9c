#include "families/zonos/speaker_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "kernels/activation.h"
#include "nn/stream_pass.h"

namespace syrinx::zonos {
namespace {

constexpr int64_t kMels = 80;
constexpr int64_t kStages = 4;  // stages of the ResNet; all but the first halve time and bands
constexpr int64_t kMostBlocks = 100;  // blocks of a stage
constexpr float kFoldedEps = 1e-5f;   // default of torch
constexpr double kLambda = 1e-4;      // constant of SimAM
constexpr double kLeastVariance = 1e-5;
constexpr double kPieceMacs = 4e8;    // multiplications of a piece, some tens of milliseconds
constexpr int64_t kTile = 128;        // positions whose neighbourhoods are gathered at once
constexpr int64_t kPieceSteps = 256;  // time steps of a piece, except in convolutions

MelOptions mel_options() {
  MelOptions o;
  o.n_fft = 512;
  o.window = 400;
  o.mels = static_cast<int>(kMels);
  o.scale = MelScale::kHtk;
  o.area_norm = false;
  o.floor = 0;
  o.offset = 1e-6f;
  return o;
}

/// A batch norm as a linear function for each channel: x * gain + shift.
struct Norm {
  std::vector<float> gain, shift;
};

Norm load_norm(const Weights& weights, int64_t width) {
  const Tensor weight = weights.f32("weight", {width}), bias = weights.f32("bias", {width});
  const Tensor mean = weights.f32("running_mean", {width});
  const Tensor variance = weights.f32("running_var", {width});
  weights.ignore("num_batches_tracked");
  Norm norm;
  for (int64_t i = 0; i < width; ++i) {
    const float gain = weight.f32()[i] / std::sqrt(variance.f32()[i] + kFoldedEps);
    norm.gain.push_back(gain);
    norm.shift.push_back(bias.f32()[i] - mean.f32()[i] * gain);
  }
  return norm;
}

/// Returns the size at `axis` of a tensor with `dims` dimensions. Returns the published size if the
/// source has no shapes.
int64_t size_of(const Weights& weights, int dims, int axis, int64_t published, int64_t most) {
  const std::optional<Shape> shape = weights.shape("weight");
  if (!shape || shape->dims() != dims) return published;
  return std::clamp<int64_t>((*shape)[axis], 1, most);
}

int64_t halved(int64_t size) { return (size + 1) / 2; }

}  // namespace

struct SpeakerEncoder::Image {
  int64_t steps = 0, bands = 0, channels = 0;
  Tensor data;

  Image() = default;
  Image(int64_t t, int64_t f, int64_t c)
      : steps(t), bands(f), channels(c), data({t * f, c}, DType::kF32) {}
  int64_t positions() const { return steps * bands; }
};

SpeakerEncoder::SpeakerEncoder(const Weights& network, const Weights& projection, int64_t width)
    : mel_(mel_options()) {
  const Weights front = network.scope("front");
  const int64_t planes = size_of(front.scope("conv1"), 4, 0, 64, 256);
  head_ = load(front, "conv1", "bn1", 1, planes, 3, 1);
  load_blocks(front, planes);
  load_pooling(network);
  const int64_t inner = bottleneck_.out();
  project_ = PackedLinear::pack(projection.take("weight", {width, inner}), WeightType::kF32,
                                projection.take("bias", {width}));
}

std::unique_ptr<WeightSource> SpeakerEncoder::dummy() {
  return dummy_weights([](const std::string& name) {
    constexpr int kBlocks[kStages] = {10, 20, 64, 3};
    unsigned stage = 0;
    int block = 0;
    return std::sscanf(name.c_str(), "front.layer%u.%d.", &stage, &block) == 2 && stage >= 1 &&
           stage <= kStages && block < kBlocks[stage - 1];
  });
}

SpeakerEncoder::Conv SpeakerEncoder::load(const Weights& weights, const std::string& conv,
                                          const std::string& norm, int64_t in, int64_t out,
                                          int64_t taps, int64_t stride) const {
  const Tensor weight = weights.scope(conv).f32("weight", {out, in, taps, taps});
  const Norm n = load_norm(weights.scope(norm), out);
  Tensor packed({out, taps * taps * in}, DType::kF32), bias({out}, DType::kF32);
  for (int64_t o = 0; o < out; ++o) {
    bias.f32()[o] = n.shift[o];
    for (int64_t c = 0; c < in; ++c) {
      for (int64_t f = 0; f < taps; ++f) {
        for (int64_t t = 0; t < taps; ++t) {
          packed.f32()[(o * taps * taps + t * taps + f) * in + c] =
              weight.f32()[((o * in + c) * taps + f) * taps + t] * n.gain[o];
        }
      }
    }
  }
  return {PackedLinear::pack(packed, WeightType::kF32, bias), taps, stride};
}

void SpeakerEncoder::load_blocks(const Weights& front, int64_t planes) {
  int64_t in = planes;
  for (int64_t stage = 0; stage < kStages; ++stage) {
    const std::string name = "layer" + std::to_string(stage + 1);
    const Weights layer = front.scope(name);
    const int64_t stored = front.count(name);  // 0 with random weights
    const int64_t out = planes << stage;
    for (int64_t i = 0; i < kMostBlocks; ++i) {
      const Weights w = layer.scope(std::to_string(i));
      if (i > 0 && i >= stored && !w.has("conv1.weight")) break;
      Block block;
      const int64_t stride = stage > 0 && i == 0 ? 2 : 1;
      block.first = load(w, "conv1", "bn1", in, out, 3, stride);
      block.second = load(w, "conv2", "bn2", out, out, 3, 1);
      if (stride != 1 || in != out) {
        block.shortcut = load(w, "downsample.0", "downsample.1", in, out, 1, stride);
      }
      blocks_.push_back(std::move(block));
      in = out;
    }
  }
}

/// Loads the pooling. In the authors' weights, channels come before bands. Here bands come first,
/// so the weights are reordered.
void SpeakerEncoder::load_pooling(const Weights& network) {
  int64_t bands = kMels;
  for (int64_t stage = 1; stage < kStages; ++stage) bands = halved(bands);
  const int64_t channels = blocks_.back().second.linear.out();
  pooled_ = bands * channels;
  const auto theirs = [&](int64_t mine) { return mine % channels * bands + mine / channels; };

  const Weights attention = network.scope("pooling.attention");
  const Weights in = attention.scope("0"), out = attention.scope("3");
  const int64_t narrow = size_of(in, 3, 0, 128, 1 << 14);
  const Tensor seen = in.f32("weight", {narrow, pooled_, 1});
  Tensor first({narrow, pooled_}, DType::kF32);
  for (int64_t o = 0; o < narrow; ++o) {
    for (int64_t i = 0; i < pooled_; ++i) {
      first.f32()[o * pooled_ + i] = seen.f32()[o * pooled_ + theirs(i)];
    }
  }
  attend_in_ = PackedLinear::pack(first, WeightType::kF32, in.take("bias", {narrow}));
  // The norm comes between ReLU and the second convolution. It is folded into that convolution.
  const Norm norm = load_norm(attention.scope("2"), narrow);
  const Tensor said = out.f32("weight", {pooled_, narrow, 1});
  const Tensor said_bias = out.f32("bias", {pooled_});
  Tensor second({pooled_, narrow}, DType::kF32), bias({pooled_}, DType::kF32);
  for (int64_t o = 0; o < pooled_; ++o) {
    double sum = said_bias.f32()[theirs(o)];
    for (int64_t i = 0; i < narrow; ++i) {
      const float weight = said.f32()[theirs(o) * narrow + i];
      second.f32()[o * narrow + i] = weight * norm.gain[i];
      sum += double{weight} * norm.shift[i];
    }
    bias.f32()[o] = static_cast<float>(sum);
  }
  attend_out_ = PackedLinear::pack(second, WeightType::kF32, bias);

  const Weights bottleneck = network.scope("bottleneck");
  const int64_t inner = size_of(bottleneck, 2, 0, 256, 1 << 14);
  const Tensor weight = bottleneck.f32("weight", {inner, 2 * pooled_});
  Tensor last({inner, 2 * pooled_}, DType::kF32);
  for (int64_t o = 0; o < inner; ++o) {
    for (int64_t i = 0; i < 2 * pooled_; ++i) {
      const int64_t half = i / pooled_ * pooled_;
      last.f32()[o * 2 * pooled_ + i] = weight.f32()[o * 2 * pooled_ + half + theirs(i - half)];
    }
  }
  bottleneck_ = PackedLinear::pack(last, WeightType::kF32, bottleneck.take("bias", {inner}));
}

Pieces SpeakerEncoder::convolve(StepContext* const& ctx, const Conv& conv, const Image& x,
                                bool relu, Image& out) const {
  const int64_t s = conv.stride, c = x.channels, taps = conv.taps, side = taps / 2;
  out = Image(s == 1 ? x.steps : halved(x.steps), s == 1 ? x.bands : halved(x.bands),
              conv.linear.out());
  const double macs = static_cast<double>(conv.linear.in() * conv.linear.out());
  const int64_t most = std::max<int64_t>(kTile, static_cast<int64_t>(kPieceMacs / macs));
  for (int64_t begin = 0; begin < out.positions(); begin += most) {
    const int64_t end = std::min(out.positions(), begin + most);
    for (int64_t at = begin; at < end; at += kTile) {
      const int64_t count = std::min(kTile, end - at);
      const Arena::Mark mark(ctx->arena);
      const View tile = take_rows(*ctx, count, conv.linear.in());
      float* to = tile.f32();
      for (int64_t i = at; i < at + count; ++i) {
        const int64_t t0 = i / out.bands * s - side, f0 = i % out.bands * s - side;
        for (int64_t t = t0; t < t0 + taps; ++t) {
          for (int64_t f = f0; f < f0 + taps; ++f, to += c) {
            if (t < 0 || t >= x.steps || f < 0 || f >= x.bands) {
              std::fill_n(to, c, 0.f);
            } else {
              std::copy_n(x.data.f32() + (t * x.bands + f) * c, c, to);
            }
          }
        }
      }
      const View part = out.data.view().slice(at, at + count);
      linear(*ctx, conv.linear, tile, part);
      if (relu) activate(*ctx, Activation::kRelu, part, part);
    }
    co_await PieceEnd();
  }
}

/// x = relu(simam(conv(relu(conv(x)))) + shortcut(x)). SimAM: x * sigmoid(d / (4 (v + l)) + 1/2). d
/// is the square of the distance to the channel's mean, v the average of d, l is kLambda.
Pieces SpeakerEncoder::block(StepContext* const& ctx, const Block& block, Image& x) const {
  Image inner, y;
  for (Pieces p = convolve(ctx, block.first, x, true, inner); !p.done(); p.next()) {
    co_await PieceEnd();
  }
  for (Pieces p = convolve(ctx, block.second, inner, false, y); !p.done(); p.next()) {
    co_await PieceEnd();
  }
  if (!block.shortcut.linear.empty()) {
    for (Pieces p = convolve(ctx, block.shortcut, x, false, inner); !p.done(); p.next()) {
      co_await PieceEnd();
    }
    std::swap(x, inner);
  }
  const int64_t c = y.channels, step = y.bands * kPieceSteps;
  std::vector<double> mean(c), square(c);
  for (int64_t begin = 0; begin < y.positions(); begin += step) {
    for (int64_t i = begin; i < std::min(y.positions(), begin + step); ++i) {
      for (int64_t k = 0; k < c; ++k) mean[k] += y.data.f32()[i * c + k];
    }
    co_await PieceEnd();
  }
  for (double& m : mean) m /= static_cast<double>(y.positions());
  for (int64_t begin = 0; begin < y.positions(); begin += step) {
    for (int64_t i = begin; i < std::min(y.positions(), begin + step); ++i) {
      for (int64_t k = 0; k < c; ++k) {
        const double off = y.data.f32()[i * c + k] - mean[k];
        square[k] += off * off;
      }
    }
    co_await PieceEnd();
  }
  std::vector<float> centre(c), scale(c);
  for (int64_t k = 0; k < c; ++k) {
    const double variance = square[k] / static_cast<double>(y.positions() - 1);
    centre[k] = static_cast<float>(mean[k]);
    scale[k] = static_cast<float>(1 / (4 * (variance + kLambda)));
  }
  for (int64_t begin = 0; begin < y.positions(); begin += step) {
    {
      const int64_t end = std::min(y.positions(), begin + step);
      const Arena::Mark mark(ctx->arena);
      const View gate = take_rows(*ctx, end - begin, c);
      const float* from = y.data.f32() + begin * c;
      for (int64_t i = 0; i < gate.count(); ++i) {
        const float off = from[i] - centre[i % c];
        gate.f32()[i] = off * off * scale[i % c] + 0.5f;
      }
      activate(*ctx, Activation::kSigmoid, gate, gate);
      float* to = x.data.f32() + begin * c;
      for (int64_t i = 0; i < gate.count(); ++i) {
        to[i] = std::max(0.f, to[i] + from[i] * gate.f32()[i]);
      }
    }
    co_await PieceEnd();
  }
}

Pieces SpeakerEncoder::pool(StepContext* const& ctx, const Image& x, Tensor& stats) const {
  const int64_t n = pooled_, steps = x.steps;
  const View rows = x.data.view().reshape({steps, n});
  Tensor score({steps, n}, DType::kF32);
  std::vector<float> top(n, -INFINITY);
  for (int64_t begin = 0; begin < steps; begin += kPieceSteps) {
    const int64_t end = std::min(steps, begin + kPieceSteps);
    {
      const Arena::Mark mark(ctx->arena);
      const View seen = take_rows(*ctx, end - begin, attend_in_.out());
      linear(*ctx, attend_in_, rows.slice(begin, end), seen);
      activate(*ctx, Activation::kRelu, seen, seen);
      linear(*ctx, attend_out_, seen, score.view().slice(begin, end));
    }
    for (int64_t i = begin * n; i < end * n; ++i) {
      top[i % n] = std::max(top[i % n], score.f32()[i]);
    }
    co_await PieceEnd();
  }
  std::vector<double> sum(n), mean(n), square(n);
  for (int64_t begin = 0; begin < steps; begin += kPieceSteps) {
    for (int64_t t = begin; t < std::min(steps, begin + kPieceSteps); ++t) {
      for (int64_t i = 0; i < n; ++i) {
        const double weight = std::exp(score.f32()[t * n + i] - top[i]);
        const double value = rows.f32()[t * n + i];
        sum[i] += weight;
        mean[i] += weight * value;
        square[i] += weight * value * value;
      }
    }
    co_await PieceEnd();
  }
  stats = Tensor({1, 2 * n}, DType::kF32);
  for (int64_t i = 0; i < n; ++i) {
    const double m = mean[i] / sum[i];
    stats.f32()[i] = static_cast<float>(m);
    stats.f32()[n + i] =
        static_cast<float>(std::sqrt(std::max(square[i] / sum[i] - m * m, kLeastVariance)));
  }
}

Pieces SpeakerEncoder::run(StepContext* const& ctx, std::span<const float> samples,
                           std::vector<float>& vector) const {
  const int64_t steps = mel_.frames(static_cast<int64_t>(samples.size()));
  SYRINX_CHECK(steps > 0, "[speaker encoder] too few: ", samples.size());
  Image x(steps, kMels, 1);
  for (int64_t begin = 0; begin < steps; begin += kPieceSteps) {
    mel_.run(samples, begin, std::min(steps, begin + kPieceSteps), x.data.f32() + begin * kMels);
    co_await PieceEnd();
  }
  for (int64_t f = 0; f < kMels; ++f) {  // subtracts the mean over time from each band
    double sum = 0;
    for (int64_t t = 0; t < steps; ++t) sum += x.data.f32()[t * kMels + f];
    const auto mean = static_cast<float>(sum / static_cast<double>(steps));
    for (int64_t t = 0; t < steps; ++t) x.data.f32()[t * kMels + f] -= mean;
  }
  {
    Image wide;
    for (Pieces p = convolve(ctx, head_, x, true, wide); !p.done(); p.next()) co_await PieceEnd();
    std::swap(x, wide);
  }
  for (const Block& each : blocks_) {
    for (Pieces p = block(ctx, each, x); !p.done(); p.next()) co_await PieceEnd();
  }
  Tensor stats, inner({1, bottleneck_.out()}, DType::kF32), out({1, project_.out()}, DType::kF32);
  for (Pieces p = pool(ctx, x, stats); !p.done(); p.next()) co_await PieceEnd();
  linear(*ctx, bottleneck_, stats, inner);
  linear(*ctx, project_, inner, out);
  vector.assign(out.f32(), out.f32() + project_.out());
}

size_t SpeakerEncoder::bytes() const {
  size_t sum = head_.linear.bytes() + attend_in_.bytes() + attend_out_.bytes() +
               bottleneck_.bytes() + project_.bytes();
  for (const Block& each : blocks_) {
    sum += each.first.linear.bytes() + each.second.linear.bytes() + each.shortcut.linear.bytes();
  }
  return sum;
}

}  // namespace syrinx::zonos
