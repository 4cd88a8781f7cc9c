// Processes one table row on raw pointers, portable and for AVX2: out = row, or out += row.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace syrinx {

namespace ref {
void embed_row(const void* row, DType dtype, int64_t width, bool add, float* out);
}
#if defined(__x86_64__) || defined(__aarch64__)
namespace simd {
void embed_row(const void* row, DType dtype, int64_t width, bool add, float* out);
}
#else
namespace simd = ref;
#endif

}  // namespace syrinx
