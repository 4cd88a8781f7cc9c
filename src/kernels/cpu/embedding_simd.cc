#include "kernels/embedding_impl.h"
// clang-format off
#include "kernels/cpu/simd_begin.h"
#include "kernels/cpu/simd.h"
// clang-format on

namespace syrinx::simd {

void embed_row(const void* row, DType dtype, int64_t width, bool sum, float* out) {
  const float* f = static_cast<const float*>(row);
  const uint16_t* h = static_cast<const uint16_t*>(row);
  int64_t i = 0;
  for (; i + 8 <= width; i += 8) {
    const V8 x = dtype == DType::kF32   ? load(f + i)
                 : dtype == DType::kF16 ? load(h + i)
                                        : load_bf16(h + i);
    store(out + i, sum ? add(load(out + i), x) : x);
  }
  if (i < width)
    ref::embed_row(static_cast<const char*>(row) + i * dtype_size(dtype), dtype, width - i, sum,
                   out + i);
}

}  // namespace syrinx::simd
#include "kernels/cpu/simd_end.h"
