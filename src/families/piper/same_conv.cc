#include "families/piper/same_conv.h"

#include <algorithm>

#include "base/check.h"

namespace syrinx::piper {
namespace {

constexpr int64_t kMostTextReach = 4096;

}  // namespace

SameConv::SameConv(const VoiceParts& parts, const std::string& module, int64_t in, int64_t out) {
  const Shape sizes = parts.shape(module + ".weight", 3);
  const OnnxConvolution conv = parts.convolution(module);
  const int64_t made = out < 0 ? sizes[0] : out;
  if (conv.stride != 1 || conv.dilation < 1 || conv.dilation * (sizes[2] - 1) > kMostTextReach ||
      (conv.groups != 1 && conv.groups != in)) {
    parts.fail(module, "expected a stride of 1, and one group or a group per channel");
  }
  dilation_ = conv.dilation;
  const Weights weights = parts.weights().scope(module);
  packed_ = PackedConv1d::pack(weights.take("weight", {made, in / conv.groups, sizes[2]}),
                               weights.take("bias", {made}), conv.groups, parts.type());
}

RowBatch SameConv::run(StepContext& ctx, const RowBatch& x) const {
  const RowBatch out = rows_like(ctx, x, packed_.out());
  const Arena::Mark mark(ctx.arena);
  const int64_t width = x.all.shape[1], reach = dilation_ * (packed_.taps() - 1);
  const int64_t before = reach / 2, after = reach - before;
  const std::span<ConvSegment> segments = take_array<ConvSegment>(ctx, std::ssize(x.begin) - 1);
  for (size_t i = 0; i < segments.size(); ++i) {
    const View padded = ctx.arena.take({x.rows(i) + reach, width}, DType::kF32);
    float* to = std::fill_n(padded.f32(), before * width, 0.f);
    to = std::copy_n(x.lane(i).f32(), x.rows(i) * width, to);
    std::fill_n(to, after * width, 0.f);
    segments[i] = {padded, out.lane(i)};
  }
  conv1d(ctx, packed_, segments, dilation_);
  return out;
}

}  // namespace syrinx::piper
