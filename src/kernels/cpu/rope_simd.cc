#include "kernels/rope_impl.h"
// clang-format off
#include "kernels/cpu/simd_begin.h"
#include "kernels/cpu/simd.h"
// clang-format on

namespace syrinx::simd {

// Each product is rounded before the addition, as in the portable code, for the same bits.
void rope_half_split(float* x, const float* cos, const float* sin, int64_t half) {
  int64_t i = 0;
  for (; i + 8 <= half; i += 8) {
    const V8 a = load(x + i), b = load(x + half + i), c = load(cos + i), s = load(sin + i);
    store(x + i, sub(mul(a, c), mul(b, s)));
    store(x + half + i, add(mul(b, c), mul(a, s)));
  }
  for (; i < half; ++i) {
    const float a = x[i], b = x[i + half];
    x[i] = a * cos[i] - b * sin[i];
    x[i + half] = b * cos[i] + a * sin[i];
  }
}

}  // namespace syrinx::simd
#include "kernels/cpu/simd_end.h"
