// Loops over channels on raw pointers, portable and for vectors. channels.h specifies the results.
#pragma once

#include <cstdint>

namespace syrinx {

#define SYRINX_CHANNEL_LOOPS                                                                       \
  /* sums[c] and sums[width + c]: of d and d^2 over the rows, d = x - pivot[c] */                  \
  void channel_sums(const float* x, const float* pivot, int64_t rows, int64_t width, float* sums); \
  void scale_row(const float* x, const float* factor, const float* summand, int64_t width,         \
                 float* out);                                                                      \
  void scale_snake_row(const float* x, const float* factor, const float* summand,                  \
                       const float* alpha, const float* inv_beta, int64_t width, float* out);

namespace ref {
SYRINX_CHANNEL_LOOPS
}
#if defined(__x86_64__) || defined(__aarch64__)
namespace simd {
SYRINX_CHANNEL_LOOPS
}
#else
namespace simd = ref;
#endif
#undef SYRINX_CHANNEL_LOOPS

}  // namespace syrinx
