// Copies stretches of numbers, one thread per number.
#include <vector>

#include "kernels/copy.h"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/kernels.h"

namespace syrinx::cuda {
namespace {

struct Span {
  const float* from;
  float* to;
  int64_t begin;  // number of elements in earlier spans
  float slope;
};

template <bool kAdd>
struct Spans {
  const Span* spans;
  int64_t count;
  __device__ void operator()(int64_t i) const {
    const Span s = spans[gpu::highest(int64_t{0}, count - 1,
                                      [&](int64_t span) { return spans[span].begin <= i; })];
    const float x = s.from ? s.from[i - s.begin] : 0.f;
    float& to = s.to[i - s.begin];
    if (kAdd) {
      to += x;
    } else {
      to = s.slope == 1 || x > 0 ? x : s.slope * x;
    }
  }
};

template <bool kAdd>
void run_spans(StepContext& ctx, const char* name, std::span<const CopySpan> spans) {
  const Arena::Mark mark(ctx.arena);
  std::vector<Span> list;
  int64_t total = 0;
  for (const CopySpan& s : spans) {
    if (s.count == 0) continue;
    list.push_back({s.from, s.to, total, s.slope});
    total += s.count;
  }
  if (list.empty()) return;
  for_each(
      ctx, name, total,
      Spans<kAdd>{upload(ctx, std::span<const Span>(list)), static_cast<int64_t>(list.size())});
}

struct CopyColumns {
  const float* x;
  float* out;
  int64_t width, stride;
  __device__ void operator()(int64_t i) const {
    const RowColumn at = row_and_column(i, width);
    out[at.row * stride + at.column] = x[i];
  }
};

struct AddRowsScaled {
  float* x;
  const float *y, *factors;
  int64_t width;
  __device__ void operator()(int64_t i) const {
    x[i] += factors[row_and_column(i, width).row] * y[i];
  }
};

}  // namespace

void copy_spans(StepContext& ctx, std::span<const CopySpan> spans) {
  run_spans<false>(ctx, "copy_spans", spans);
}

void add_spans(StepContext& ctx, std::span<const CopySpan> spans) {
  run_spans<true>(ctx, "add_spans", spans);
}

void copy_columns(StepContext& ctx, const View& x, int64_t column, const View& out) {
  for_each(ctx, "copy_columns", x.count(),
           CopyColumns{x.f32(), out.f32() + column, x.shape[1], out.shape[1]});
}

void add_rows_scaled(StepContext& ctx, const View& x, const View& y, const View& factors) {
  for_each(ctx, "add_rows_scaled", x.count(),
           AddRowsScaled{x.f32(), y.f32(), factors.f32(), x.shape[1]});
}

}  // namespace syrinx::cuda
