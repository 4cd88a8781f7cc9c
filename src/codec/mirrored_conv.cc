#include "codec/mirrored_conv.h"

#include <algorithm>
#include <cstdlib>

#include "base/check.h"

namespace syrinx {

MirroredConv1d::MirroredConv1d(const View& weight, const View& bias, const MirroredOptions& options)
    : conv_(weight, bias,
            {.dilation = options.dilation, .stride = options.stride, .type = options.type}),
      window_(conv_window(weight.shape[2], options.dilation)),
      stride_(options.stride) {
  const int64_t padding = window_ - stride_;
  SYRINX_CHECK(padding >= 0, "mirrored conv: the stride ", stride_, " exceeds the window of ",
               weight.shape[2], " taps");
  behind_ = padding / 2;
  before_ = padding - behind_;
}

MirroredConv1d::State MirroredConv1d::open() const {
  State state;
  state.conv = ConvState(window_ - 1, conv_.in(), 0);
  return state;
}

/// Returns the first rows of the stream with the mirrored rows before them. Returns no rows until
/// enough rows have arrived.
View MirroredConv1d::first_rows(StepContext& ctx, int64_t behind, bool last, State& state) const {
  const int64_t width = conv_.in(), n = state.rows;
  if (n == 0 || (n <= before_ && !last)) return ctx.arena.take({0, width}, DType::kF32);
  state.begun = true;
  const int64_t known = std::max(n, std::max(before_, behind) + 1);
  state.early.resize(static_cast<size_t>(known * width), 0.f);
  const View all = ctx.arena.take({before_ + n + behind, width}, DType::kF32);
  for (int64_t i = 0; i < all.shape[0]; ++i) {
    int64_t from = std::abs(i - before_);
    if (from >= known) from = 2 * (known - 1) - from;
    std::copy_n(state.early.data() + from * width, width, all.f32() + i * width);
  }
  state.early = {};
  return all;
}

/// Returns the rows that the convolution reads, including mirrored rows where necessary.
View MirroredConv1d::padded(StepContext& ctx, const View& x, bool last, State& state) const {
  const int64_t width = conv_.in(), t = x.shape[0];
  state.rows += t;
  const int64_t short_of = (stride_ - state.rows % stride_) % stride_;  // rows missing at the end
  const int64_t behind = last ? behind_ + short_of : 0;
  if (!state.begun) {
    state.early.insert(state.early.end(), x.f32(), x.f32() + t * width);
    return first_rows(ctx, behind, last, state);
  }
  if (behind == 0) return x;
  const View all = ctx.arena.take({t + behind, width}, DType::kF32);
  std::copy_n(x.f32(), t * width, all.f32());
  const View past = state.conv.past;
  const int64_t held = state.conv.held;
  SYRINX_CHECK(t + held > behind, "mirrored conv: ", t, " rows at the end are too few to mirror ",
               behind);
  for (int64_t i = 0; i < behind; ++i) {
    const int64_t from = t - 2 - i;  // below 0 means a row of an earlier call
    std::copy_n(from >= 0 ? x.f32() + from * width : past.f32() + (held + from) * width, width,
                all.f32() + (t + i) * width);
  }
  return all;
}

View MirroredConv1d::run(StepContext& ctx, const View& x, bool last, State& state) const {
  const View all = padded(ctx, x, last, state);
  const View out =
      ctx.arena.take({conv_.rows(state.conv, all.shape[0], last), conv_.out()}, DType::kF32);
  const ConvJob job{all, &state.conv, out, last};
  conv_.run(ctx, std::span(&job, 1));
  return out;
}

}  // namespace syrinx
