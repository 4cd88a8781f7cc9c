#include "kernels/conv.h"

#include <algorithm>
#include <array>

#include "kernels/activation.h"
#include "kernels/conv_add.h"
#include "kernels/cpu/depthwise.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cuda/kernels.h"

namespace syrinx {
namespace {

constexpr int64_t kPanel = PackedMatrix::kPanel;

void check_segments(const char* caller, std::span<const ConvSegment> segments, int64_t in,
                    int64_t out, int64_t window, int64_t stride, int64_t phases) {
  for (const ConvSegment& s : segments) {
    const int64_t t = s.x.shape.dims() == 2 ? s.x.shape[0] : -1;
    const int64_t rows = t < window ? 0 : (t - window) / stride + 1;
    expect_shape(caller, s.x, Shape{t, in});
    expect_shape(caller, s.out, Shape{rows * phases, out});
  }
}

/// Returns the segments in the form that the product requires, in memory of the arena.
std::span<cpu::GemmSegment> gemm_segments(StepContext& ctx, std::span<const ConvSegment> segments,
                                          int64_t phases) {
  const auto bytes = static_cast<int64_t>(segments.size() * sizeof(cpu::GemmSegment));
  auto* to = static_cast<cpu::GemmSegment*>(ctx.arena.take(Shape{bytes}, DType::kU8).data);
  for (size_t i = 0; i < segments.size(); ++i) {
    const ConvSegment& s = segments[i];
    new (to + i) cpu::GemmSegment{s.x.f32(), s.out.f32(), s.out.shape[0] / phases};
  }
  return {to, segments.size()};
}

void run_gemm(StepContext& ctx, const PackedConv1d& w, std::span<const cpu::GemmSegment> segments,
              int64_t dilation, int64_t stride, cpu::GemmStore store = cpu::GemmStore::kSet) {
  const int64_t in = w.in() / w.groups(), out = w.out() / w.groups();
  const int64_t panels = (out + kPanel - 1) / kPanel;
  cpu::GemmCall call;
  call.weight = &w.matrix();
  call.bias = w.bias();
  call.segments = segments;
  call.x_stride = stride * w.in();
  call.spans = w.taps();
  call.span_len = in;
  call.span_step = dilation * w.in();
  call.store = store;
  for (int64_t g = 0; g < w.groups(); ++g) {
    const cpu::GemmPart part{g * panels, out, nullptr, w.out(), g * out};
    call.parts = std::span(&part, 1);
    call.x_offset = g * in;
    cpu::gemm(ctx, call);
  }
}

}  // namespace

PackedConv1d PackedConv1d::pack(const View& weight, const View& bias, int64_t groups,
                                WeightType type) {
  SYRINX_CHECK(weight.shape.dims() == 3 && groups >= 1 && weight.shape[0] % groups == 0,
               "[conv1d] weight must be [O, C / groups, K], got ", weight.shape.str(),
               " with groups ", groups);
  SYRINX_CHECK(!is_quantized(type), "[conv1d] convolutions do not support 8 or 4 bits");
  PackedConv1d w;
  const int64_t in = weight.shape[1], taps = weight.shape[2];
  type = pairs_if_even(type, in);
  w.in_ = in * groups;
  w.out_ = weight.shape[0];
  w.taps_ = taps;
  w.groups_ = groups;
  if (!bias.empty()) expect_shape("conv1d bias", bias, Shape{w.out_});
  if (w.depthwise()) {
    Tensor one(Shape{in, taps}, DType::kF32);
    w.depthwise_ = Tensor(Shape{taps, w.out_}, DType::kF32);
    for (int64_t c = 0; c < w.out_; ++c) {
      copy_as_f32(weight, c * taps, taps, one.f32());
      for (int64_t j = 0; j < taps; ++j) w.depthwise_.f32()[j * w.out_ + c] = one.f32()[j];
    }
    if (!bias.empty()) {
      w.bias_ = Tensor(Shape{w.out_}, DType::kF32);
      copy_as_f32(bias, 0, w.out_, w.bias_.f32());
    }
    return w;
  }
  // Each group begins a new panel.
  const int64_t out = w.out_ / groups, padded = (out + kPanel - 1) / kPanel * kPanel;
  w.matrix_ = PackedMatrix::pack(groups * padded, taps * in, type, [&](int64_t o, float* row) {
    const int64_t at = o % padded;
    if (at >= out) return std::fill_n(row, taps * in, 0.0f), void();
    std::vector<float> stored(static_cast<size_t>(in * taps));
    copy_as_f32(weight, (o / padded * out + at) * in * taps, in * taps, stored.data());
    for (int64_t j = 0; j < taps; ++j) {
      for (int64_t c = 0; c < in; ++c) row[j * in + c] = stored[c * taps + j];
    }
  });
  if (!bias.empty()) {
    w.bias_ = Tensor(Shape{groups * padded}, DType::kF32);
    for (int64_t g = 0; g < groups; ++g) {
      copy_as_f32(bias, g * out, out, w.bias_.f32() + g * padded);
    }
  }
  return w;
}

PackedConv1d PackedConv1d::on_device(Device device) const {
  PackedConv1d w;
  if (matrix_.out > 0) w.matrix_ = matrix_.on_device(device);
  if (!depthwise_.empty()) w.depthwise_ = copy_to(depthwise_, device);
  if (!bias_.empty()) w.bias_ = copy_to(bias_, device);
  w.in_ = in_;
  w.out_ = out_;
  w.taps_ = taps_;
  w.groups_ = groups_;
  return w;
}

PackedConvTranspose1d PackedConvTranspose1d::on_device(Device device) const {
  PackedConvTranspose1d w;
  w.phases_ = phases_.on_device(device);
  w.stride_ = stride_;
  w.taps_ = taps_;
  return w;
}

void conv1d(StepContext& ctx, const PackedConv1d& w, std::span<const ConvSegment> segments,
            int64_t dilation, int64_t stride) {
  SYRINX_CHECK(dilation >= 1 && stride >= 1,
               "[conv1d] dilation and stride must be at least 1, got ", dilation, " and ", stride);
  check_segments("conv1d", segments, w.in(), w.out(), conv_window(w.taps(), dilation), stride, 1);
  if (segments.empty()) return;
  if (segments[0].x.device == Device::kCuda)
    return cuda::conv1d(ctx, w, segments, 1, dilation, stride);
  Arena::Mark mark(ctx.arena);
  std::span<cpu::GemmSegment> all = gemm_segments(ctx, segments, 1);
  if (w.depthwise()) {
    cpu::depthwise(
        ctx, {w.depthwise_weight().f32(), w.bias(), w.in(), 1, w.taps(), dilation, stride}, all);
  } else {
    run_gemm(ctx, w, all, dilation, stride);
  }
}

void conv1d(StepContext& ctx, const PackedConv1d& w, const View& x, const View& out,
            int64_t dilation, int64_t stride) {
  const ConvSegment one{x, out};
  conv1d(ctx, w, std::span(&one, 1), dilation, stride);
}

void conv1d_add(StepContext& ctx, const PackedConv1d& w, const View& x, const View& out,
                int64_t dilation) {
  SYRINX_CHECK(dilation >= 1 && !w.depthwise(), "[conv1d_add] w must not be depthwise; dilation ",
               dilation);
  if (out.device == Device::kCuda) {
    const Arena::Mark mark(ctx.arena);
    const View added = ctx.arena.take(out.shape, DType::kF32);
    conv1d(ctx, w, x, added, dilation);
    return add_inplace(ctx, out, added);
  }
  const ConvSegment one{x, out};
  const std::span segments(&one, 1);
  check_segments("conv1d_add", segments, w.in(), w.out(), conv_window(w.taps(), dilation), 1, 1);
  Arena::Mark mark(ctx.arena);
  run_gemm(ctx, w, gemm_segments(ctx, segments, 1), dilation, 1, cpu::GemmStore::kAdd);
}

PackedConvTranspose1d PackedConvTranspose1d::pack(const View& weight, int64_t stride,
                                                  const View& bias, WeightType type,
                                                  int64_t groups) {
  SYRINX_CHECK(weight.shape.dims() == 3 && stride >= 1 &&
                   (groups == 1 || (groups == weight.shape[0] && weight.shape[1] == 1)),
               "[conv_transpose1d] unsupported: weight ", weight.shape.str(), ", stride ", stride,
               ", groups ", groups);
  const int64_t in = weight.shape[0], out = weight.shape[1], taps = weight.shape[2];
  const int64_t window = (taps + stride - 1) / stride;
  SYRINX_CHECK(!is_quantized(type), "[conv_transpose1d] convolutions do not support 8 or 4 bits");
  if (groups > 1) {
    Tensor all(weight.shape, DType::kF32);
    copy_as_f32(weight, 0, weight.count(), all.f32());
    return pack_depthwise(all, stride, window, bias);
  }
  PackedConvTranspose1d w;
  w.stride_ = stride;
  w.taps_ = taps;
  PackedConv1d& phases = w.phases_;
  phases.in_ = in;
  phases.out_ = stride * out;
  phases.taps_ = window;
  // Sample t * s + p is the sum over i of tap p + i * s times input t - i. So phase p is a
  // convolution, oldest input first, and the s phases are s * O outputs of one convolution.
  const auto fill = [&](int64_t row, float* to) {
    const int64_t p = row / out, o = row % out;
    std::vector<float> stored(static_cast<size_t>(taps));
    for (int64_t c = 0; c < in; ++c) {
      copy_as_f32(weight, (c * out + o) * taps, taps, stored.data());
      for (int64_t i = 0; i < window; ++i) {
        const int64_t tap = p + i * stride;
        to[(window - 1 - i) * in + c] = tap < taps ? stored[tap] : 0.0f;
      }
    }
  };
  phases.matrix_ = PackedMatrix::pack(phases.out_, window * in, pairs_if_even(type, in), fill);
  if (!bias.empty()) {
    expect_shape("conv_transpose1d bias", bias, Shape{out});
    phases.bias_ = Tensor(Shape{phases.matrix_.panels() * kPanel}, DType::kF32);
    for (int64_t p = 0; p < stride; ++p) copy_as_f32(bias, 0, out, phases.bias_.f32() + p * out);
  }
  return w;
}

/// Packs weight [C, 1, K] f32.
PackedConvTranspose1d PackedConvTranspose1d::pack_depthwise(const View& weight, int64_t stride,
                                                            int64_t window, const View& bias) {
  const int64_t channels = weight.shape[0], taps = weight.shape[2];
  PackedConvTranspose1d w;
  w.stride_ = stride;
  w.taps_ = taps;
  PackedConv1d& phases = w.phases_;
  phases.in_ = phases.groups_ = channels;
  phases.out_ = stride * channels;
  phases.taps_ = window;
  phases.depthwise_ = Tensor(Shape{window, stride * channels}, DType::kF32);
  for (int64_t j = 0; j < taps; ++j) {
    const int64_t i = j / stride, p = j % stride;
    float* to = phases.depthwise_.f32() + ((window - 1 - i) * stride + p) * channels;
    for (int64_t c = 0; c < channels; ++c) to[c] = weight.f32()[c * taps + j];
  }
  if (!bias.empty()) {
    expect_shape("conv_transpose1d bias", bias, Shape{channels});
    phases.bias_ = Tensor(Shape{stride * channels}, DType::kF32);
    for (int64_t p = 0; p < stride; ++p) {
      copy_as_f32(bias, 0, channels, phases.bias_.f32() + p * channels);
    }
  }
  return w;
}

void conv_transpose1d(StepContext& ctx, const PackedConvTranspose1d& w,
                      std::span<const ConvSegment> segments) {
  check_segments("conv_transpose1d", segments, w.in(), w.out(), w.window(), 1, w.stride());
  if (segments.empty()) return;
  if (segments[0].x.device == Device::kCuda)
    return cuda::conv1d(ctx, w.phases(), segments, w.stride(), 1, 1);
  Arena::Mark mark(ctx.arena);
  std::span<cpu::GemmSegment> all = gemm_segments(ctx, segments, w.stride());
  const PackedConv1d& phases = w.phases();
  if (w.depthwise()) {
    cpu::depthwise(
        ctx, {phases.depthwise_weight().f32(), phases.bias(), w.in(), w.stride(), w.window()}, all);
  } else {
    run_gemm(ctx, phases, all, 1, 1);
  }
}

void conv_transpose1d(StepContext& ctx, const PackedConvTranspose1d& w, const View& x,
                      const View& out) {
  const ConvSegment one{x, out};
  conv_transpose1d(ctx, w, std::span(&one, 1));
}

}  // namespace syrinx
