// One table row on raw pointers, plain and AVX2: out = row, or out += row.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace syrinx {

namespace ref {
void embed_row(const void* row, DType dtype, int64_t width, bool add, float* out);
}
namespace avx2 {
void embed_row(const void* row, DType dtype, int64_t width, bool add, float* out);
}

}  // namespace syrinx
