// Element-wise loops on raw pointers, portable and for AVX2. activation.h specifies the results.
#pragma once

#include <cstdint>

#include "kernels/activation.h"

namespace syrinx {

#define SYRINX_ACTIVATION_LOOPS                                                           \
  void activate(Activation f, const float* x, float* out, int64_t count);                 \
  void silu_mul(const float* gate, const float* up, float* out, int64_t count);           \
  void gelu_tanh_mul(const float* gate, const float* up, float* out, int64_t count);      \
  /* alpha and inv_beta per element */                                                    \
  void snake_each(const float* x, const float* alpha, const float* inv_beta, float* out,  \
                  int64_t count);                                                         \
  /* one alpha and inv_beta for all */                                                    \
  void snake_one(const float* x, float alpha, float inv_beta, float* out, int64_t count); \
  void add(float* x, const float* y, int64_t count);                                      \
  void add_scaled(float* x, const float* y, const float* gain, int64_t count);

namespace ref {
SYRINX_ACTIVATION_LOOPS
}
#if defined(__x86_64__) || defined(__aarch64__)
namespace simd {
SYRINX_ACTIVATION_LOOPS
}
#else
namespace simd = ref;
#endif
#undef SYRINX_ACTIVATION_LOOPS

}  // namespace syrinx
