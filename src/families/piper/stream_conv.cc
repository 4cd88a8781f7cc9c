#include "families/piper/stream_conv.h"

#include <algorithm>

#include "kernels/activation.h"

namespace syrinx::piper {

StreamConv::StreamConv(const View& weight, const View& bias, const Options& options)
    : packed_(PackedConv1d::pack(weight, bias, 1, options.type)),
      options_(options),
      window_(conv_window(packed_.taps(), options.dilation)) {
  SYRINX_CHECK(options.ahead >= 0 && options.ahead < window_, "[piper] invalid look-ahead of ",
               options.ahead, " rows in a window of ", window_);
}

ConvState StreamConv::open() const {
  return ConvState(window_ - 1, packed_.in(), window_ - 1 - options_.ahead);
}

int64_t StreamConv::rows(const ConvState& state, int64_t t, bool last) const {
  return conv_rows(state.held + t + (last ? options_.ahead : 0), packed_.taps(), options_.dilation,
                   1);
}

void StreamConv::run(StepContext& ctx, std::span<const ConvJob> jobs, float slope) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const std::span<ConvSegment> segments = take_array<ConvSegment>(ctx, std::ssize(jobs));
  const int64_t width = packed_.in();
  for (size_t i = 0; i < jobs.size(); ++i) {
    const ConvJob& job = jobs[i];
    const int64_t t = job.x.shape[0], held = job.state->held;
    const int64_t zeros = job.last ? options_.ahead : 0;
    expect_shape("piper convolution", job.x, Shape{t, width});
    const View all = ctx.arena.take({held + t + zeros, width}, DType::kF32);
    std::copy_n(job.state->past.f32(), held * width, all.f32());
    const View inner = all.slice(held, held + t);
    if (slope == 1) {
      std::copy_n(job.x.f32(), job.x.count(), inner.f32());
    } else {
      leaky_relu(ctx, job.x, slope, inner);
    }
    std::fill_n(all.f32() + (held + t) * width, zeros * width, 0.f);
    segments[i] = {all, job.out};
  }
  conv1d(ctx, packed_, segments, options_.dilation);
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].x.shape[0] == 0 || jobs[i].last) continue;
    const View& all = segments[i].x;
    ConvState& state = *jobs[i].state;
    const int64_t used = segments[i].out.shape[0];
    state.held = all.shape[0] - used;
    std::copy_n(all.f32() + used * width, state.held * width, state.past.f32());
  }
}

}  // namespace syrinx::piper
