// One row of each norm on raw pointers, portable and for AVX2. norm.h specifies the results.
#pragma once

#include <cstdint>

namespace syrinx {

#define SYRINX_NORM_ROWS                                                                        \
  void rms_norm_row(const float* x, const float* weight, int64_t width, float eps, float* out); \
  void add_row(float* x, const float* delta, int64_t width);                                    \
  void layer_norm_row(const float* x, const float* weight, const float* bias, int64_t width,    \
                      float eps, float* out);

namespace ref {
SYRINX_NORM_ROWS
}
#if defined(__x86_64__) || defined(__aarch64__)
namespace simd {
SYRINX_NORM_ROWS
}
#else
namespace simd = ref;
#endif
#undef SYRINX_NORM_ROWS

}  // namespace syrinx
