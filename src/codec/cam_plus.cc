#include "codec/cam_plus.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/activation.h"

namespace syrinx {
namespace {

constexpr float kEps = 1e-5f;          // epsilon of every BatchNorm
constexpr int64_t kSegment = 100;      // frames that a gate averages over
constexpr int64_t kFrontFrames = 256;  // most frames per piece of the front
constexpr int64_t kFbankFrames = 2000;
constexpr int64_t kTdnnTaps = 5;
constexpr std::array<int64_t, 3> kLayers{12, 24, 16}, kLayerDilations{1, 2, 2};

int64_t size_of(const Weights& weights, const std::string& name, int dim, int64_t published) {
  const std::optional<Shape> shape = weights.shape(name);
  const bool known = shape && dim < shape->dims() && (*shape)[dim] > 0 && (*shape)[dim] <= 1 << 14;
  return known ? (*shape)[dim] : published;
}

struct Affine {
  std::vector<float> gain, shift;
};

/// Loads a BatchNorm as gain and shift. `plain`: it may lack weight and bias.
Affine load_norm(const Weights& weights, int64_t width, bool plain = false) {
  const bool given = !plain || weights.has("weight");
  const Tensor mean = weights.f32("running_mean", {width}),
               var = weights.f32("running_var", {width});
  Tensor weight, bias;
  if (given) weight = weights.f32("weight", {width}), bias = weights.f32("bias", {width});
  Affine out;
  for (int64_t i = 0; i < width; ++i) {
    const float gain =
        (given ? weight.f32()[i] : 1) / std::sqrt(std::max(var.f32()[i], 0.f) + kEps);
    out.gain.push_back(gain);
    out.shift.push_back((given ? bias.f32()[i] : 0) - mean.f32()[i] * gain);
  }
  return out;
}

struct Folded {
  Tensor weight, bias;
};

/// Loads a convolution and the BatchNorm after it as one convolution.
Folded fold(const Weights& conv, const Shape& shape, const Weights& norm, bool plain = false) {
  const int64_t out = shape[0], each = shape.count() / out;
  Folded folded{conv.f32("weight", shape), Tensor({out}, DType::kF32)};
  const bool biased = conv.has("bias");
  if (biased) folded.bias = conv.f32("bias", {out});
  if (biased && !norm.has("running_mean")) return folded;
  const Affine affine = load_norm(norm, out, plain);
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t i = 0; i < each; ++i) folded.weight.f32()[o * each + i] *= affine.gain[o];
    folded.bias.f32()[o] = folded.bias.f32()[o] * affine.gain[o] + affine.shift[o];
  }
  return folded;
}

/// Reorders [O, C, bands, frames] to [O][frames][bands][C], the order of gathered rows.
PackedLinear pack2d(const Folded& folded) {
  const Shape& s = folded.weight.shape();
  const int64_t channels = s[1], bands = s[2], frames = s[3];
  Tensor turned({s[0], frames * bands * channels}, DType::kF32);
  float* to = turned.f32();
  for (int64_t o = 0; o < s[0]; ++o)
    for (int64_t t = 0; t < frames; ++t)
      for (int64_t b = 0; b < bands; ++b)
        for (int64_t c = 0; c < channels; ++c)
          *to++ = folded.weight.f32()[((o * channels + c) * bands + b) * frames + t];
  return PackedLinear::pack(turned, WeightType::kF32, folded.bias);
}

PackedLinear pack1d(const Folded& folded) {
  const Shape& s = folded.weight.shape();
  return PackedLinear::pack(folded.weight.view().reshape({s[0], s[1]}), WeightType::kF32,
                            folded.bias);
}

CamPlus::Plane make_plane(int64_t frames, int64_t bands, int64_t channels) {
  return {Tensor({frames + 2, bands + 2, channels}, DType::kF32), frames, bands, channels};
}

/// Returns the row of a frame and a band; either may be -1 (the border).
float* at(const CamPlus::Plane& plane, int64_t frame, int64_t band) {
  return plane.data.view().f32() + ((frame + 1) * (plane.bands + 2) + band + 1) * plane.channels;
}

void relu(StepContext& ctx, const View& x) { activate(ctx, Activation::kRelu, x, x); }

/// Computes out [T, C] = relu(x * gain + shift) from the first C columns of x.
void scale_relu(const View& x, const std::vector<float>& gain, const std::vector<float>& shift,
                const View& out) {
  const int64_t width = out.shape[1], stride = x.shape[1];
  for (int64_t t = 0; t < out.shape[0]; ++t) {
    const float* from = x.f32() + t * stride;
    float* to = out.f32() + t * width;
    for (int64_t c = 0; c < width; ++c) to[c] = std::max(from[c] * gain[c] + shift[c], 0.f);
  }
}

}  // namespace

CamPlus::CamPlus(const Weights& weights) : fbank_(kaldi_fbank(80)) {
  load_front(weights.scope("head"));
  const Weights xvector = weights.scope("xvector");
  const int64_t channels = front_.back().conv.taps.out();
  const int64_t bands = fbank_.mels() / 8, wide = bands * channels;
  const int64_t first = size_of(xvector, "tdnn.linear.weight", 0, 128);
  const Folded tdnn = fold(xvector.scope("tdnn.linear"), {first, wide, kTdnnTaps},
                           xvector.scope("tdnn.nonlinear.batchnorm"));
  // Input columns: in the checkpoint [channel][band], here [band][channel].
  Tensor turned(tdnn.weight.shape(), DType::kF32);
  for (int64_t o = 0; o < first; ++o)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t b = 0; b < bands; ++b)
        std::copy_n(tdnn.weight.f32() + (o * wide + c * bands + b) * kTdnnTaps, kTdnnTaps,
                    turned.f32() + (o * wide + b * channels + c) * kTdnnTaps);
  tdnn_ = PackedConv1d::pack(turned, tdnn.bias);
  int64_t width = first;
  for (size_t i = 0; i < kLayers.size(); ++i) {
    load_block(xvector, static_cast<int64_t>(i), width);
    width = blocks_.back().transit.out();
  }
  const int64_t vector = size_of(xvector, "dense.linear.weight", 0, 192);
  dense_ = pack1d(fold(xvector.scope("dense.linear"), {vector, 2 * width, 1},
                       xvector.scope("dense.nonlinear.batchnorm"), true));
}

void CamPlus::load_front(const Weights& head) {
  const int64_t width = size_of(head, "conv1.weight", 0, 32);
  const auto add = [&](const Weights& scope, const char* conv, const char* norm, int64_t in,
                       int64_t stride) -> Front& {
    Front front;
    front.conv = {pack2d(fold(scope.scope(conv), {width, in, 3, 3}, scope.scope(norm))), stride, 3};
    front_.push_back(std::move(front));
    return front_.back();
  };
  add(head, "conv1", "bn1", 1, 1);
  for (const char* stage : {"layer1", "layer2"}) {
    for (int64_t i = 0; i < 2; ++i) {
      const Weights block = head.scope(stage, i);
      const int64_t stride = i == 0 ? 2 : 1;
      add(block, "conv1", "bn1", width, stride).part = Front::kFirst;
      Front& second = add(block, "conv2", "bn2", width, 1);
      second.part = Front::kSecond;
      if (i > 0) continue;
      second.shortcut = {
          pack2d(fold(block.scope("shortcut.0"), {width, width, 1, 1}, block.scope("shortcut.1"))),
          stride, 1};
    }
  }
  add(head, "conv2", "bn2", width, 2);
}

void CamPlus::load_block(const Weights& xvector, int64_t index, int64_t in) {
  const std::string name = concat("block", index + 1);
  Block block;
  block.in = in;
  const auto scope = [&](int64_t i) { return xvector.scope(concat(name, ".tdnnd", i + 1)); };
  const int64_t narrow = size_of(scope(0), "linear1.weight", 0, 128);
  const int64_t taps = size_of(scope(0), "cam_layer.linear_local.weight", 2, 3);
  block.growth = size_of(scope(0), "cam_layer.linear_local.weight", 0, 32);
  if (taps % 2 == 0) scope(0).fault("cam_layer.linear_local.weight", "expected an odd window");
  // Each layer's output widens the input of the next layers and of the block's transit layer.
  const Weights transit = xvector.scope(concat("transit", index + 1));
  const int64_t taken = size_of(transit, "linear.weight", 1, in + kLayers[index] * block.growth);
  const int64_t layers = std::clamp<int64_t>((taken - in) / block.growth, 1, 64);
  for (int64_t i = 0; i < layers; ++i) {
    const Weights w = scope(i), gate = w.scope("cam_layer");
    const int64_t width = in + i * block.growth, half = narrow / 2;
    Layer layer;
    Affine before = load_norm(w.scope("nonlinear1.batchnorm"), width);
    layer.before = {std::move(before.gain), std::move(before.shift)};
    layer.narrow =
        pack1d(fold(w.scope("linear1"), {narrow, width, 1}, w.scope("nonlinear2.batchnorm")));
    layer.local =
        PackedConv1d::pack(gate.take("linear_local.weight", {block.growth, narrow, taps}));
    layer.dilation = kLayerDilations[index];
    const auto load = [&](const char* linear, int64_t out, int64_t width_in) {
      const Weights l = gate.scope(linear);
      return PackedLinear::pack(l.take("weight", {out, width_in, 1}).reshape({out, width_in}),
                                WeightType::kF32, l.take("bias", {out}));
    };
    layer.gate1 = load("linear1", half, narrow);
    layer.gate2 = load("linear2", block.growth, half);
    block.layers.push_back(std::move(layer));
  }
  const int64_t wide = in + layers * block.growth;
  Affine before = load_norm(transit.scope("nonlinear.batchnorm"), wide);
  block.before_transit = {std::move(before.gain), std::move(before.shift)};
  const Shape shape{wide / 2, wide, 1};
  if (index + 1 == static_cast<int64_t>(kLayers.size())) {
    block.transit =
        pack1d(fold(transit.scope("linear"), shape, xvector.scope("out_nonlinear.batchnorm")));
  } else {
    block.transit = pack1d({transit.f32("linear.weight", shape), Tensor({wide / 2}, DType::kF32)});
  }
  blocks_.push_back(std::move(block));
}

size_t CamPlus::bytes() const {
  size_t sum = tdnn_.bytes() + dense_.bytes();
  for (const Front& f : front_) sum += f.conv.taps.bytes() + f.shortcut.taps.bytes();
  for (const Block& b : blocks_) {
    sum += b.transit.bytes();
    for (const Layer& l : b.layers) {
      sum += l.narrow.bytes() + l.local.bytes() + l.gate1.bytes() + l.gate2.bytes();
    }
  }
  return sum;
}

CamPlus::Work CamPlus::open(std::span<const float> samples) const {
  const int64_t frames = fbank_.frames(static_cast<int64_t>(samples.size()));
  SYRINX_CHECK(frames >= 8, "[cam_plus] ", samples.size(), " samples are too few");
  Work work;
  work.samples_.assign(samples.begin(), samples.end());
  work.in_ = make_plane(frames, fbank_.mels(), 1);
  return work;
}

void CamPlus::run(StepContext& ctx, Work& work) const {
  const Arena::Mark mark(ctx.arena);
  switch (work.stage_) {
    case Work::kFbank:
      return make_fbank(work);
    case Work::kFront:
      return run_front(ctx, work);
    case Work::kTdnn:
      return run_tdnn(ctx, work);
    case Work::kDense:
      return run_dense(ctx, work);
    case Work::kTransit:
      return run_transit(ctx, work);
    case Work::kPool:
      return pool(ctx, work);
    case Work::kDone:
      break;
  }
  SYRINX_CHECK(false, "[cam_plus] run() was called for finished work");
}

/// Computes the fbank and subtracts its mean over time.
void CamPlus::make_fbank(Work& work) const {
  const int64_t bands = fbank_.mels();
  const int64_t end = std::min(work.row_ + kFbankFrames, work.in_.frames);
  for (; work.row_ < end; ++work.row_)
    fbank_.run(work.samples_, work.row_, work.row_ + 1, at(work.in_, work.row_, 0));
  if (end < work.in_.frames) return;
  for (int64_t b = 0; b < bands; ++b) {
    double sum = 0;
    for (int64_t t = 0; t < end; ++t) sum += *at(work.in_, t, b);
    const auto mean = static_cast<float>(sum / static_cast<double>(end));
    for (int64_t t = 0; t < end; ++t) *at(work.in_, t, b) -= mean;
  }
  work.stage_ = Work::kFront, work.row_ = 0;
}

/// Convolves frames [begin, end) and the bands that the stride selects, to [frames * bands, O].
void CamPlus::convolve(StepContext& ctx, const Conv2d& conv, const Plane& in, int64_t begin,
                       int64_t end, const View& out) {
  const int64_t bands = out.shape[0] / (end - begin), reach = conv.window / 2;
  const int64_t part = conv.window * in.channels;
  const View rows = ctx.arena.take({out.shape[0], conv.window * part}, DType::kF32);
  float* to = rows.f32();
  for (int64_t t = begin; t < end; ++t)
    for (int64_t b = 0; b < bands; ++b)
      for (int64_t tap = -reach; tap <= reach; ++tap, to += part)
        std::copy_n(at(in, t + tap, b * conv.stride - reach), part, to);
  linear(ctx, conv.taps, rows, out);
}

void CamPlus::run_front(StepContext& ctx, Work& work) const {
  const Front& front = front_[work.step_];
  const Plane& in = front.part == Front::kSecond ? work.between_ : work.in_;
  Plane& to = front.part == Front::kFirst ? work.between_ : work.out_;
  const int64_t bands = (in.bands - 1) / front.conv.stride + 1, width = front.conv.taps.out();
  if (work.row_ == 0) to = make_plane(in.frames, bands, width);
  const int64_t begin = work.row_, end = std::min(begin + kFrontFrames, in.frames);
  const View out = ctx.arena.take({(end - begin) * bands, width}, DType::kF32);
  convolve(ctx, front.conv, in, begin, end, out);
  if (front.part == Front::kSecond) {
    const View added = ctx.arena.take(out.shape, DType::kF32);
    if (front.shortcut.taps.empty()) {
      for (int64_t t = begin; t < end; ++t)
        std::copy_n(at(work.in_, t, 0), bands * width, added.f32() + (t - begin) * bands * width);
    } else {
      convolve(ctx, front.shortcut, work.in_, begin, end, added);
    }
    add_inplace(ctx, out, added);
  }
  relu(ctx, out);
  for (int64_t t = begin; t < end; ++t)
    std::copy_n(out.f32() + (t - begin) * bands * width, bands * width, at(to, t, 0));
  work.row_ = end;
  if (end < in.frames) return;
  if (front.part != Front::kFirst) work.in_ = std::move(work.out_);
  work.row_ = 0, ++work.step_;
  if (work.step_ == front_.size()) work.stage_ = Work::kTdnn;
}

void CamPlus::run_tdnn(StepContext& ctx, Work& work) const {
  const int64_t frames = work.in_.frames, wide = tdnn_.in(), pad = kTdnnTaps / 2;
  const View rows = ctx.arena.take({frames + 2 * pad, wide}, DType::kF32);
  std::fill_n(rows.f32(), pad * wide, 0.f);
  std::fill_n(rows.f32() + (pad + frames) * wide, pad * wide, 0.f);
  for (int64_t t = 0; t < frames; ++t)
    std::copy_n(at(work.in_, t, 0), wide, rows.f32() + (pad + t) * wide);
  work.features_ = Tensor({(frames - 1) / 2 + 1, tdnn_.out()}, DType::kF32);
  conv1d(ctx, tdnn_, rows, work.features_, 1, 2);
  relu(ctx, work.features_);
  work.in_ = {};
  work.between_ = {};
  work.stage_ = Work::kDense;
}

/// Runs one dense layer. Its outputs become further columns of the features.
void CamPlus::run_dense(StepContext& ctx, Work& work) const {
  const Block& block = blocks_[work.block_];
  const Layer& layer = block.layers[work.layer_];
  const int64_t rows = work.features_.shape()[0];
  // The features have columns for the outputs of the whole block.
  if (work.layer_ == 0) {
    const auto all = static_cast<int64_t>(block.layers.size());
    Tensor wide({rows, block.in + all * block.growth}, DType::kF32);
    for (int64_t t = 0; t < rows; ++t)
      std::copy_n(work.features_.f32() + t * block.in, block.in, wide.f32() + t * wide.shape()[1]);
    work.features_ = std::move(wide);
  }
  const int64_t width = layer.narrow.in(), narrow = layer.narrow.out(), growth = block.growth;
  const int64_t pad = layer.dilation * (layer.local.taps() / 2);
  const View x = ctx.arena.take({rows, width}, DType::kF32);
  scale_relu(work.features_, layer.before.gain, layer.before.shift, x);
  const View padded = ctx.arena.take({rows + 2 * pad, narrow}, DType::kF32);
  std::fill_n(padded.f32(), pad * narrow, 0.f);
  std::fill_n(padded.f32() + (pad + rows) * narrow, pad * narrow, 0.f);
  const View h = padded.slice(pad, pad + rows);
  linear(ctx, layer.narrow, x, h);
  relu(ctx, h);
  const View local = ctx.arena.take({rows, growth}, DType::kF32);
  conv1d(ctx, layer.local, padded, local, layer.dilation);

  // Input of the gate: the mean over all frames plus the mean over the frame's segment.
  const int64_t segments = (rows - 1) / kSegment + 1;
  const View context = ctx.arena.take({segments, narrow}, DType::kF32);
  for (int64_t c = 0; c < narrow; ++c) {
    double all = 0;
    for (int64_t s = 0; s < segments; ++s) {
      const int64_t begin = s * kSegment, end = std::min(begin + kSegment, rows);
      double sum = 0;
      for (int64_t t = begin; t < end; ++t) sum += h.f32()[t * narrow + c];
      all += sum;
      context.f32()[s * narrow + c] = static_cast<float>(sum / static_cast<double>(end - begin));
    }
    const auto mean = static_cast<float>(all / static_cast<double>(rows));
    for (int64_t s = 0; s < segments; ++s) context.f32()[s * narrow + c] += mean;
  }
  const View hidden = ctx.arena.take({segments, layer.gate1.out()}, DType::kF32);
  const View gates = ctx.arena.take({segments, growth}, DType::kF32);
  linear(ctx, layer.gate1, context, hidden);
  relu(ctx, hidden);
  linear(ctx, layer.gate2, hidden, gates);
  activate(ctx, Activation::kSigmoid, gates, gates);
  const int64_t stride = work.features_.shape()[1];
  for (int64_t t = 0; t < rows; ++t) {
    const float *from = local.f32() + t * growth, *gate = gates.f32() + t / kSegment * growth;
    float* to = work.features_.f32() + t * stride + width;
    for (int64_t c = 0; c < growth; ++c) to[c] = from[c] * gate[c];
  }
  if (++work.layer_ == block.layers.size()) work.stage_ = Work::kTransit;
}

void CamPlus::run_transit(StepContext& ctx, Work& work) const {
  const Block& block = blocks_[work.block_];
  const View x = ctx.arena.take(work.features_.shape(), DType::kF32);
  scale_relu(work.features_, block.before_transit.gain, block.before_transit.shift, x);
  work.features_ = Tensor({x.shape[0], block.transit.out()}, DType::kF32);
  linear(ctx, block.transit, x, work.features_);
  work.layer_ = 0, ++work.block_;
  work.stage_ = work.block_ < blocks_.size() ? Work::kDense : Work::kPool;
}

/// Computes mean and (unbiased) deviation of every channel over time, and from them the vector.
void CamPlus::pool(StepContext& ctx, Work& work) const {
  relu(ctx, work.features_);  // the ReLU of out_nonlinear; its BatchNorm is in the last transit
  const int64_t rows = work.features_.shape()[0], width = work.features_.shape()[1];
  const View stats = ctx.arena.take({1, 2 * width}, DType::kF32);
  for (int64_t c = 0; c < width; ++c) {
    double sum = 0, squares = 0;
    for (int64_t t = 0; t < rows; ++t) sum += work.features_.f32()[t * width + c];
    const double mean = sum / static_cast<double>(rows);
    for (int64_t t = 0; t < rows; ++t) {
      const double gap = work.features_.f32()[t * width + c] - mean;
      squares += gap * gap;
    }
    stats.f32()[c] = static_cast<float>(mean);
    stats.f32()[width + c] = static_cast<float>(
        std::sqrt(squares / static_cast<double>(std::max<int64_t>(1, rows - 1))));
  }
  work.vector_.resize(static_cast<size_t>(dense_.out()));
  linear(ctx, dense_, stats, View{work.vector_.data(), DType::kF32, {1, dense_.out()}});
  work.features_ = {};
  work.stage_ = Work::kDone;
}

}  // namespace syrinx
