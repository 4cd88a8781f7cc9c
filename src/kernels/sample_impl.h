// The sampling loops that run over a whole vocabulary, portable and for AVX2.
#pragma once

#include <cstdint>

namespace syrinx {

/// One id and its logit.
struct Candidate {
  float logit;
  int32_t id;
};

#define SYRINX_SAMPLE_LOOPS                                                                   \
  /* Copies x to out and finds the largest; false when a NaN or +inf is among x. */           \
  bool copy_logits(const float* x, int64_t count, float* out, float* largest);                \
  /* x /= divisor */                                                                          \
  void divide(float* x, int64_t count, float divisor);                                        \
  /* Appends (x[i], i) for every x[i] >= least, begin <= i < end, in order; returns how many. \
     `out` has room for end - begin. */                                                       \
  int64_t collect(const float* x, int64_t begin, int64_t end, float least, Candidate* out);   \
  /* Sum of e^(x[i] - shift), added in a fixed order. */                                      \
  double exp_sum(const float* x, int64_t count, float shift);                                 \
  /* Returns the largest number that is not NaN. Returns -inf if all numbers are NaN. */      \
  float largest_of(const float* x, int64_t count);

namespace ref {
SYRINX_SAMPLE_LOOPS
}
#if defined(__x86_64__) || defined(__aarch64__)
namespace simd {
SYRINX_SAMPLE_LOOPS
}
#else
namespace simd = ref;
#endif
#undef SYRINX_SAMPLE_LOOPS

}  // namespace syrinx
