#include "kernels/nearest.h"

#include <algorithm>

#include "kernels/cuda/kernels.h"

namespace syrinx {
namespace {

void check(const char* caller, const View& scores, const View& codes, int64_t column) {
  SYRINX_CHECK(scores.shape.dims() == 2 && codes.shape.dims() == 2 && scores.shape[1] > 0 &&
                   codes.dtype == DType::kI32 && codes.shape[0] == scores.shape[0] && column >= 0 &&
                   column < codes.shape[1],
               "[", caller, "] scores ", scores.shape.str(), " do not fit column ", column,
               " of codes ", codes.shape.str());
}

int64_t take(const View& scores, int64_t row, const View& codes, int64_t column) {
  const float* from = scores.f32() + row * scores.shape[1];
  const int64_t best = std::max_element(from, from + scores.shape[1]) - from;
  codes.i32()[row * codes.shape[1] + column] = static_cast<int32_t>(best);
  return best;
}

}  // namespace

void take_largest(StepContext& ctx, const View& scores, const View& codes, int64_t column) {
  check("take_largest", scores, codes, column);
  if (scores.device == Device::kCuda) {
    return cuda::subtract_largest(ctx, scores, {}, {}, codes, column);
  }
  for (int64_t row = 0; row < scores.shape[0]; ++row) take(scores, row, codes, column);
}

void subtract_largest(StepContext& ctx, const View& scores, const View& entries, const View& x,
                      const View& codes, int64_t column) {
  check("subtract_largest", scores, codes, column);
  expect_shape("subtract_largest entries", entries, {scores.shape[1], x.shape[1]});
  expect_shape("subtract_largest x", x, {scores.shape[0], entries.shape[1]});
  if (scores.device == Device::kCuda) {
    return cuda::subtract_largest(ctx, scores, entries, x, codes, column);
  }
  const int64_t width = x.shape[1];
  for (int64_t row = 0; row < scores.shape[0]; ++row) {
    const float* entry = entries.f32() + take(scores, row, codes, column) * width;
    for (int64_t i = 0; i < width; ++i) x.f32()[row * width + i] -= entry[i];
  }
}

}  // namespace syrinx
