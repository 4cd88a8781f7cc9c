// One head of rope on raw pointers, plain and AVX2. cos and sin hold half = dim / 2 numbers.
#pragma once

#include <cstdint>

namespace syrinx {

namespace ref {
void rope_half_split(float* x, const float* cos, const float* sin, int64_t half);
void rope_interleaved(float* x, const float* cos, const float* sin, int64_t half);
}  // namespace ref
namespace avx2 {
void rope_half_split(float* x, const float* cos, const float* sin, int64_t half);
}

}  // namespace syrinx
