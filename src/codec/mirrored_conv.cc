#include "codec/mirrored_conv.h"

#include <algorithm>
#include <cstdlib>

#include "base/check.h"
#include "kernels/copy.h"

namespace syrinx {

/// Copies of rows that run in one call, in ctx.host. The constructor sets the capacity.
class MirroredConv1d::Copies {
 public:
  Copies(StepContext& ctx, int64_t most) : spans_(take_array<CopySpan>(ctx, most)) {}
  /// Copies rows from `from` on, or zeros for null, to the rows of `all` from `to` on.
  void add(const float* from, const View& all, int64_t to, int64_t rows) {
    const int64_t width = all.shape[1];
    spans_[used_++] = {from, all.f32() + to * width, rows * width};
  }
  void run(StepContext& ctx) const { copy_spans(ctx, spans_.first(used_)); }

 private:
  std::span<CopySpan> spans_;
  size_t used_ = 0;
};

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
  state.conv = ConvState(window_ - 1, conv_.in(), 0, device());
  state.early = RowQueue(conv_.in(), device());
  return state;
}

/// Returns the first rows of the stream with the mirrored rows before them. Returns no rows until
/// enough rows have arrived.
View MirroredConv1d::first_rows(StepContext& ctx, const Job& job, int64_t behind,
                                Copies& copies) const {
  State& state = *job.state;
  const bool last = job.last;
  const int64_t width = conv_.in(), n = state.rows;
  if (n == 0 || (n <= before_ && !last)) {
    state.early.push(ctx, job.x);
    return ctx.arena.take({0, width}, DType::kF32);
  }
  state.begun = true;
  View rows = job.x;
  if (state.early.rows() > 0) {
    state.early.push(ctx, job.x);
    rows = state.early.pop(ctx, n);
  }
  const int64_t known = std::max(n, std::max(before_, behind) + 1);
  const View all = ctx.arena.take({before_ + n + behind, width}, DType::kF32);
  copies.add(rows.f32(), all, before_, n);
  for (int64_t i = 0; i < before_ + behind; ++i) {
    const int64_t to = i < before_ ? i : i + n;
    int64_t from = std::abs(to - before_);
    if (from >= known) from = 2 * (known - 1) - from;
    copies.add(from < n ? rows.f32() + from * width : nullptr, all, to, 1);
  }
  return all;
}

/// Returns the rows that the convolution reads, including mirrored rows where necessary. They are
/// complete after the copies.
View MirroredConv1d::padded(StepContext& ctx, const Job& job, Copies& copies) const {
  State& state = *job.state;
  const bool last = job.last;
  const int64_t width = conv_.in(), t = job.x.shape[0];
  state.rows += t;
  const int64_t short_of = (stride_ - state.rows % stride_) % stride_;  // rows missing at the end
  const int64_t behind = last ? behind_ + short_of : 0;
  if (!state.begun) return first_rows(ctx, job, behind, copies);
  if (behind == 0) return job.x;
  const View all = ctx.arena.take({t + behind, width}, DType::kF32);
  const int64_t held = state.conv.held;
  SYRINX_CHECK(t + held > behind, "mirrored conv: ", t, " rows at the end are too few to mirror ",
               behind);
  copies.add(job.x.f32(), all, 0, t);
  for (int64_t i = 0; i < behind; ++i) {
    const int64_t from = t - 2 - i;  // below 0 means a row of an earlier call
    copies.add(
        from >= 0 ? job.x.f32() + from * width : state.conv.past.f32() + (held + from) * width, all,
        t + i, 1);
  }
  return all;
}

RowStack MirroredConv1d::run(StepContext& ctx, std::span<const Job> jobs) const {
  const std::span<ConvJob> convs = take_array<ConvJob>(ctx, std::ssize(jobs));
  Copies copies(ctx, std::ssize(jobs) * (window_ + stride_ + 1));
  for (size_t i = 0; i < jobs.size(); ++i)
    convs[i] = {padded(ctx, jobs[i], copies), &jobs[i].state->conv, {}, jobs[i].last};
  copies.run(ctx);
  return convolve_stack(ctx, conv_, convs);
}

}  // namespace syrinx
