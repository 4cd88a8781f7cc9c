// cuBLASLt for products of many rows. Column-major, as the library thinks: the matrix [rows, k]
// row-major is its A transposed, x [n, k] its B, and the result [n, rows] its C [rows, n].
#include <cublasLt.h>

#include <array>
#include <map>

#include "kernels/cuda/matrix_layout.h"
#include "kernels/cuda/products.h"
#include "tensor/cuda/cuda_check.h"

namespace syrinx::cuda {
namespace {

constexpr size_t kWorkspace = 32u << 20;

void blas(cublasStatus_t status, const char* what) {
  SYRINX_CHECK(status == CUBLAS_STATUS_SUCCESS, "[cublaslt] ", what, ": ",
               cublasLtGetStatusString(status));
}

cublasLtMatrixLayout_t layout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t stride) {
  cublasLtMatrixLayout_t l = nullptr;
  blas(cublasLtMatrixLayoutCreate(&l, type, static_cast<uint64_t>(rows),
                                  static_cast<uint64_t>(columns), stride),
       "layout");
  return l;
}

/// What one shape of product needs, made once.
struct Plan {
  Plan(cublasLtHandle_t handle, int64_t rows, int64_t k, int64_t n, int64_t stride) {
    blas(cublasLtMatmulDescCreate(&op, CUBLAS_COMPUTE_32F, CUDA_R_32F), "operation");
    const cublasOperation_t transposed = CUBLAS_OP_T;
    blas(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                        sizeof(transposed)),
         "transpose");
    a = layout(CUDA_R_16BF, k, rows, k);
    b = layout(CUDA_R_16BF, k, n, k);
    c = layout(CUDA_R_32F, rows, n, stride);
    cublasLtMatmulPreference_t wish = nullptr;
    blas(cublasLtMatmulPreferenceCreate(&wish), "preference");
    const size_t room = kWorkspace;
    blas(cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room,
                                              sizeof(room)),
         "workspace");
    int found = 0;
    blas(cublasLtMatmulAlgoGetHeuristic(handle, op, a, b, c, c, wish, 1, &best, &found),
         "heuristic");
    cublasLtMatmulPreferenceDestroy(wish);
    SYRINX_CHECK(found == 1, "[cublaslt] no algorithm for ", rows, " x ", k, " x ", n);
  }
  ~Plan() {
    cublasLtMatrixLayoutDestroy(c);
    cublasLtMatrixLayoutDestroy(b);
    cublasLtMatrixLayoutDestroy(a);
    cublasLtMatmulDescDestroy(op);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  cublasLtMatmulDesc_t op = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulHeuristicResult_t best{};
};

}  // namespace

struct LibraryGemm {
  LibraryGemm() { blas(cublasLtCreate(&handle), "create"); }
  ~LibraryGemm() {
    plans.clear();
    cublasLtDestroy(handle);
  }
  LibraryGemm(const LibraryGemm&) = delete;
  LibraryGemm& operator=(const LibraryGemm&) = delete;

  const Plan& plan(int64_t rows, int64_t k, int64_t n, int64_t stride) {
    const std::array<int64_t, 4> key{rows, k, n, stride};
    auto found = plans.find(key);
    if (found == plans.end()) found = plans.try_emplace(key, handle, rows, k, n, stride).first;
    return found->second;
  }

  cublasLtHandle_t handle = nullptr;
  Tensor workspace{{static_cast<int64_t>(kWorkspace)}, DType::kU8, Device::kCuda};
  std::map<std::array<int64_t, 4>, Plan> plans;
};

void library_gemm(StepContext& ctx, const PackedMatrix& w, const uint16_t* x, int64_t n, float* to,
                  int64_t stride, int64_t rows, bool add) {
  KernelState& state = state_of(ctx);
  if (!state.library) state.library = std::make_shared<LibraryGemm>();
  LibraryGemm& library = *state.library;
  const Plan& plan = library.plan(rows, matrix_padded_k(w.k), n, stride);
  const void* weight = w.data.view().data;
  const auto call = [=, &library, &plan, on = static_cast<cudaStream_t>(ctx.stream->native())] {
    const float one = 1, before = add ? 1 : 0;
    blas(cublasLtMatmul(library.handle, plan.op, &one, weight, plan.a, x, plan.b, &before, to,
                        plan.c, to, plan.c, &plan.best.algo, library.workspace.view().data,
                        kWorkspace, on),
         "matmul");
  };
  ctx.stream->queue(call, "matmul", &plan, weight, x, to, add);
}

}  // namespace syrinx::cuda
