#include "base/float16.h"
#include "kernels/embedding_impl.h"

namespace syrinx::ref {

void embed_row(const void* row, DType dtype, int64_t width, bool add, float* out) {
  const float* f = static_cast<const float*>(row);
  const uint16_t* h = static_cast<const uint16_t*>(row);
  for (int64_t i = 0; i < width; ++i) {
    const float x = dtype == DType::kF32   ? f[i]
                    : dtype == DType::kF16 ? f16_to_f32(h[i])
                                           : bf16_to_f32(h[i]);
    out[i] = add ? out[i] + x : x;
  }
}

}  // namespace syrinx::ref
