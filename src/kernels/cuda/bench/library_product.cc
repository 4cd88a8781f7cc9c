// cuBLASLt is column-major. The row-major matrix [rows, k] is its transposed A, x [n, k] is its B,
// and the result [n, rows] is its C [rows, n].
#include "kernels/cuda/bench/library_product.h"

#include <cublasLt.h>

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

}  // namespace

/// The descriptors and the algorithm for one shape.
struct LibraryProduct::Plan {
  Plan(cublasLtHandle_t handle, int64_t rows, int64_t k, int64_t n) {
    blas(cublasLtMatmulDescCreate(&op, CUBLAS_COMPUTE_32F, CUDA_R_32F), "operation");
    const cublasOperation_t transposed = CUBLAS_OP_T;
    blas(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                        sizeof(transposed)),
         "transpose");
    a = layout(CUDA_R_16BF, k, rows, k);
    b = layout(CUDA_R_16BF, k, n, k);
    c = layout(CUDA_R_32F, rows, n, rows);
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
    SYRINX_CHECK(found == 1, "[cublaslt] found no algorithm for ", rows, " x ", k, " x ", n);
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

LibraryProduct::LibraryProduct()
    : workspace_({static_cast<int64_t>(kWorkspace)}, DType::kU8, Device::kCuda) {
  cublasLtHandle_t handle = nullptr;
  blas(cublasLtCreate(&handle), "create");
  handle_ = handle;
}

LibraryProduct::~LibraryProduct() {
  plans_.clear();
  cublasLtDestroy(static_cast<cublasLtHandle_t>(handle_));
}

void LibraryProduct::queue(cudaStream_t stream, const void* w, int64_t rows, int64_t k,
                           const void* x, int64_t n, float* out) {
  const auto handle = static_cast<cublasLtHandle_t>(handle_);
  std::unique_ptr<Plan>& plan = plans_[{rows, k, n}];
  if (!plan) plan = std::make_unique<Plan>(handle, rows, k, n);
  const float one = 1, zero = 0;
  blas(cublasLtMatmul(handle, plan->op, &one, w, plan->a, x, plan->b, &zero, out, plan->c, out,
                      plan->c, &plan->best.algo, workspace_.view().data, kWorkspace, stream),
       "matmul");
}

}  // namespace syrinx::cuda
