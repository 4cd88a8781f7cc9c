// Copies stretches of numbers, one thread per number.
#include <vector>

#include "kernels/copy.h"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/kernels.h"

namespace syrinx::cuda {
namespace {

struct Copy {
  struct Span {
    const float* from;
    float* to;
    int64_t begin;  // number of elements in earlier spans
  };
  const Span* spans;
  int64_t count;
  __device__ void operator()(int64_t i) const {
    const Span s = spans[gpu::highest(int64_t{0}, count - 1,
                                      [&](int64_t span) { return spans[span].begin <= i; })];
    s.to[i - s.begin] = s.from ? s.from[i - s.begin] : 0.f;
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
  const Arena::Mark mark(ctx.arena);
  std::vector<Copy::Span> list;
  int64_t total = 0;
  for (const CopySpan& s : spans) {
    if (s.count == 0) continue;
    list.push_back({s.from, s.to, total});
    total += s.count;
  }
  if (list.empty()) return;
  for_each(ctx, "copy_spans", total,
           Copy{upload(ctx, std::span<const Copy::Span>(list)), static_cast<int64_t>(list.size())});
}

void add_rows_scaled(StepContext& ctx, const View& x, const View& y, const View& factors) {
  for_each(ctx, "add_rows_scaled", x.count(),
           AddRowsScaled{x.f32(), y.f32(), factors.f32(), x.shape[1]});
}

}  // namespace syrinx::cuda
