// Checks of CUDA's error codes. Only included by files of the CUDA backend.
#pragma once

#include <cuda_runtime_api.h>

#include "base/check.h"

namespace syrinx::cuda {

/// Throws InternalError unless `error` is success; `what` names the call. Clears the error, because
/// the runtime would otherwise return it to the next caller that asks for the last error, in
/// another batch.
inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  SYRINX_CHECK(error == cudaSuccess, "[cuda] ", what, ": ", cudaGetErrorName(error), ", ",
               cudaGetErrorString(error));
}

}  // namespace syrinx::cuda
