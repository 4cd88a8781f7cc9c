// The product of cuBLASLt, to compare it with this project's kernels. Only the benchmark uses it.
// The engine cannot: the order of the library's sums depends on the number of rows.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>

#include "tensor/tensor.h"

namespace syrinx::cuda {

/// A handle of cuBLASLt, and one plan for each shape. For one thread.
class LibraryProduct {
 public:
  LibraryProduct();
  ~LibraryProduct();
  LibraryProduct(const LibraryProduct&) = delete;
  LibraryProduct& operator=(const LibraryProduct&) = delete;

  /// Queues out [n, rows] f32 = x [n, k] bf16 times w [rows, k] bf16 transposed; k is a multiple
  /// of 64.
  void queue(cudaStream_t stream, const void* w, int64_t rows, int64_t k, const void* x, int64_t n,
             float* out);

 private:
  struct Plan;
  void* handle_ = nullptr;  // cublasLtHandle_t
  Tensor workspace_;
  std::map<std::array<int64_t, 3>, std::unique_ptr<Plan>> plans_;  // the key is rows, k, n
};

}  // namespace syrinx::cuda
