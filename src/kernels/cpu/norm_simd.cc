#include <cmath>

#include "kernels/norm_impl.h"
// clang-format off
#include "kernels/cpu/simd_begin.h"
#include "kernels/cpu/simd.h"
// clang-format on

namespace syrinx::simd {
namespace {

/// Sums f(8 values of x) over the row, in four running sums that are added in a fixed order.
template <typename F>
SYRINX_INLINE float fold(const float* x, int64_t width, F f) {
  V8 s0 = all(0), s1 = all(0), s2 = all(0), s3 = all(0);
  int64_t i = 0;
  for (; i + 32 <= width; i += 32) {
    s0 = f(load(x + i), s0);
    s1 = f(load(x + i + 8), s1);
    s2 = f(load(x + i + 16), s2);
    s3 = f(load(x + i + 24), s3);
  }
  for (; i + 8 <= width; i += 8) s0 = f(load(x + i), s0);
  float total = sum(add(add(s0, s1), add(s2, s3)));
  if (i < width) {
    alignas(32) float rest[8];
    const V8 part = f(load_part(x + i, width - i), all(0));
    store(rest, part);
    for (int64_t j = 0; j < width - i; ++j) total += rest[j];
  }
  return total;
}

struct Square {
  SYRINX_INLINE V8 operator()(V8 x, V8 s) const { return fma(x, x, s); }
};
struct Plain {
  SYRINX_INLINE V8 operator()(V8 x, V8 s) const { return add(x, s); }
};
struct SquareAround {
  V8 mean;
  SYRINX_INLINE V8 operator()(V8 x, V8 s) const {
    const V8 d = sub(x, mean);
    return fma(d, d, s);
  }
};

}  // namespace

void rms_norm_row(const float* x, const float* weight, int64_t width, float eps, float* out) {
  const float squares = fold(x, width, Square{});
  const float factor = 1.f / std::sqrt(squares / static_cast<float>(width) + eps);
  const V8 f = all(factor);
  int64_t i = 0;
  for (; i + 8 <= width; i += 8) store(out + i, mul(mul(load(x + i), f), load(weight + i)));
  for (; i < width; ++i) out[i] = x[i] * factor * weight[i];
}

void add_row(float* x, const float* delta, int64_t width) {
  int64_t i = 0;
  for (; i + 8 <= width; i += 8) store(x + i, add(load(x + i), load(delta + i)));
  for (; i < width; ++i) x[i] += delta[i];
}

void layer_norm_row(const float* x, const float* weight, const float* bias, int64_t width,
                    float eps, float* out) {
  const float n = static_cast<float>(width);
  const float mean = fold(x, width, Plain{}) / n;
  const float factor = 1.f / std::sqrt(fold(x, width, SquareAround{all(mean)}) / n + eps);
  const V8 m = all(mean), f = all(factor);
  int64_t i = 0;
  for (; i + 8 <= width; i += 8) {
    V8 y = mul(sub(load(x + i), m), f);
    if (weight) y = mul(y, load(weight + i));
    if (bias) y = add(y, load(bias + i));
    store(out + i, y);
  }
  for (; i < width; ++i) {
    const float y = (x[i] - mean) * factor;
    out[i] = y * (weight ? weight[i] : 1.f) + (bias ? bias[i] : 0.f);
  }
}

}  // namespace syrinx::simd
#include "kernels/cpu/simd_end.h"
