// library_gemm by plain loops: cuBLASLt is not emulated, what is around it is.
#include "base/float16.h"
#include "kernels/cuda/emulation/gpu.h"
#include "kernels/cuda/emulation/memory.h"
#include "kernels/cuda/matrix_layout.h"
#include "kernels/cuda/products.h"

namespace syrinx::cuda {

namespace {

void multiply(const PackedMatrix& w, const uint16_t* x, int64_t n, float* to, int64_t stride,
              int64_t rows, bool add) {
  const gpu::emulated::DeviceAccess access;
  const int64_t k = matrix_padded_k(w.k);
  const auto* weight = static_cast<const uint16_t*>(w.data.view().data);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t r = 0; r < rows; ++r) {
      float sum = 0;
      for (int64_t j = 0; j < k; ++j) {
        sum += bf16_to_f32(x[i * k + j]) * bf16_to_f32(weight[r * k + j]);
      }
      float& out = to[i * stride + r];
      out = add ? out + sum : sum;
    }
  }
}

}  // namespace

void library_gemm(StepContext& ctx, const PackedMatrix& w, const uint16_t* x, int64_t n, float* to,
                  int64_t stride, int64_t rows, bool add) {
  Stream& stream = *ctx.stream;
  const auto call = [=, &w, &stream] {
    gpu::emulated::run_on(stream, [=, &w] { multiply(w, x, n, to, stride, rows, add); });
  };
  stream.queue(call, "matmul", &w, x, n, to, stride, rows, add);
}

}  // namespace syrinx::cuda
