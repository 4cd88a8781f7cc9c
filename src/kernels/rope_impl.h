// Rotates one head on raw pointers, portable and for AVX2. cos and sin have dim / 2 numbers.
#pragma once

#include <cstdint>

namespace syrinx {

namespace ref {
void rope_half_split(float* x, const float* cos, const float* sin, int64_t half);
void rope_interleaved(float* x, const float* cos, const float* sin, int64_t half);
}  // namespace ref
#if defined(__x86_64__) || defined(__aarch64__)
namespace simd {
void rope_half_split(float* x, const float* cos, const float* sin, int64_t half);
}
#else
namespace simd = ref;
#endif

}  // namespace syrinx
