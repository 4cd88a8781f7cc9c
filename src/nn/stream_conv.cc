#include "nn/stream_conv.h"

#include <algorithm>
#include <cstring>

namespace syrinx {
namespace {

View take_rows(StepContext& ctx, int64_t rows, int64_t width) {
  return ctx.arena.take({rows, width}, DType::kF32);
}

/// What the state holds, then x, then `zeros` rows of zeros.
View join(StepContext& ctx, const View& x, int64_t zeros, int64_t channels,
          const ConvState& state) {
  const int64_t t = x.shape[0];
  expect_shape("stream conv x", x, {t, channels});
  if (state.held == 0 && zeros == 0) return x;
  const View all = take_rows(ctx, state.held + t + zeros, channels);
  float* to = all.f32();
  std::copy_n(state.past.f32(), state.held * channels, to);
  if (t > 0) std::copy_n(x.f32(), t * channels, to + state.held * channels);
  std::fill_n(to + (state.held + t) * channels, zeros * channels, 0.f);
  return all;
}

/// Rows of `all` from `used` on are what the next call needs.
void keep(const View& all, int64_t used, ConvState& state) {
  const int64_t channels = all.shape[1], held = all.shape[0] - used;
  SYRINX_CHECK(held >= 0 && held <= state.past.shape()[0], "stream conv keeps ", held, " rows of ",
               state.past.shape().str());
  std::copy_n(all.f32() + used * channels, held * channels, state.past.f32());
  state.held = held;
  state.fresh = false;
}

}  // namespace

StreamConv1d::StreamConv1d(const View& weight, const View& bias, const StreamConv1dOptions& options)
    : packed_(PackedConv1d::pack(weight, bias, 1, options.type)),
      options_(options),
      window_(conv_window(packed_.taps(), options.dilation)) {
  SYRINX_CHECK(options.stride >= 1 && options.stride <= window_ && options.left >= 0 &&
                   options.left < window_ && options.right >= 0,
               "stream conv: stride ", options.stride, ", padding ", options.left, " and ",
               options.right, " of a window of ", window_);
}

ConvState StreamConv1d::open() const {
  return ConvState(std::max<int64_t>(window_ - 1, 1), packed_.in(), options_.left);
}

int64_t StreamConv1d::certain(int64_t rows) const {
  return conv_rows(options_.left + rows, packed_.taps(), options_.dilation, options_.stride);
}

View StreamConv1d::run(StepContext& ctx, const View& x, bool last, ConvState& state) const {
  const View all = join(ctx, x, last ? options_.right : 0, packed_.in(), state);
  const int64_t rows = conv_rows(all.shape[0], packed_.taps(), options_.dilation, options_.stride);
  const View out = take_rows(ctx, rows, packed_.out());
  if (rows > 0) {
    const View seen = all.slice(0, (rows - 1) * options_.stride + window_);
    conv1d(ctx, packed_, seen, out, options_.dilation, options_.stride);
  }
  if (!last) keep(all, rows * options_.stride, state);
  return out;
}

StreamConvTranspose1d::StreamConvTranspose1d(const View& weight, const View& bias, int64_t stride,
                                             WeightType type)
    : packed_(PackedConvTranspose1d::pack(weight, stride, bias, type)),
      pad_((packed_.taps() - stride) / 2) {
  SYRINX_CHECK(packed_.taps() == stride + 2 * pad_ && pad_ <= stride,
               "stream transposed conv: ", packed_.taps(), " taps for stride ", stride);
}

StreamConvTranspose1d::State StreamConvTranspose1d::open() const {
  const int64_t held = packed_.window() - 1;
  return {ConvState(std::max<int64_t>(held, 1), packed_.in(), held), pad_};
}

int64_t StreamConvTranspose1d::certain(int64_t rows) const {
  return std::max<int64_t>(0, rows * packed_.stride() - pad_);
}

View StreamConvTranspose1d::run(StepContext& ctx, const View& x, bool last, State& state) const {
  const int64_t s = packed_.stride();
  // The padding at the front shifts the output, so that its end needs one row beyond the last.
  const View all = join(ctx, x, last && pad_ > 0 ? 1 : 0, packed_.in(), state.conv);
  const int64_t windows = all.shape[0] - (packed_.window() - 1);
  const View raw = take_rows(ctx, windows * s, packed_.out());
  if (windows > 0) conv_transpose1d(ctx, packed_, all, raw);
  if (!last) keep(all, windows, state.conv);
  const int64_t begin = std::min(state.skip, raw.shape[0]);
  state.skip -= begin;
  const int64_t end = last && pad_ > 0 ? raw.shape[0] - (s - pad_) : raw.shape[0];
  return raw.slice(begin, std::max(begin, end));
}

void RowQueue::push(const View& x) {
  SYRINX_CHECK(x.shape[1] == width_, "[row_queue] rows of ", x.shape[1], " into ", width_);
  values_.insert(values_.end(), x.f32(), x.f32() + x.count());
}

void RowQueue::drop(int64_t count) {
  SYRINX_CHECK(count <= rows(), "[row_queue] ", count, " rows of ", rows());
  values_.erase(values_.begin(), values_.begin() + count * width_);
}

View RowQueue::pop(StepContext& ctx, int64_t count) {
  const View out = take_rows(ctx, count, width_);
  std::copy_n(values_.begin(), count * width_, out.f32());
  drop(count);
  return out;
}

void RowQueue::pop_into_sum(const View& x) {
  SYRINX_CHECK(x.shape[0] <= rows() && x.shape[1] == width_, "[row_queue] sum of ", x.shape.str(),
               " from ", rows(), " rows of ", width_);
  float* to = x.f32();
  for (int64_t i = 0; i < x.count(); ++i) to[i] += values_[static_cast<size_t>(i)];
  drop(x.shape[0]);
}

}  // namespace syrinx
