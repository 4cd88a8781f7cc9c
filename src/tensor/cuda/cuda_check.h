// Checks CUDA's error codes. Only files of the CUDA backend include it.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <mutex>

#include "base/check.h"
#include "tensor/device_health.h"
#include "tensor/tensor.h"

namespace syrinx::cuda {

/// Returns whether all later calls of the process will fail, too: "the process must be terminated
/// and relaunched" (CUDA Runtime API, data types of error handling).
inline bool ends_context(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorExternalDevice:
      return true;
    default:
      return false;
  }
}

/// Throws InternalError unless `error` is success. `what` names the call. Clears the error;
/// otherwise a later call that asks for the last error, perhaps in another batch, would get it.
/// Reports a lost GPU (device_health.h).
inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  const std::string text =
      concat(what, ": ", cudaGetErrorName(error), ", ", cudaGetErrorString(error));
  if (ends_context(error)) report_lost_device(text);
  SYRINX_CHECK(error != cudaErrorNoKernelImageForDevice, "[cuda] ", text,
               ": this program was built for other GPUs (CMAKE_CUDA_ARCHITECTURES)");
  SYRINX_CHECK(false, "[cuda] ", text);
}

/// Throws LoadError: the GPU lacks the memory for these bytes. Implemented in device.cc.
[[noreturn]] void refuse_memory(Device device, size_t bytes);

/// What a chip can do, as far as kernels depend on it.
struct GpuLimits {
  bool early = false;  ///< kernels may begin before the previous one of their stream ends
  int shared = 0;      ///< bytes of shared memory that a block may have
};

/// Returns the limits of a GPU, which need not be the current one: a process may have unlike GPUs.
/// Asks the driver once for each GPU.
inline const GpuLimits& limits_of(Device device) {
  static std::array<std::once_flag, Device::kMostGpus> asked;
  static std::array<GpuLimits, Device::kMostGpus> all;
  const auto gpu = static_cast<size_t>(device.number());
  std::call_once(asked[gpu], [&] {
    int major = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.number()),
          "device");
    check(cudaDeviceGetAttribute(&all[gpu].shared, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                 device.number()),
          "device");
    all[gpu].early = major >= 9;
  });
  return all[gpu];
}

/// Makes a GPU the current one of the calling thread. Kernels, allocations, new streams and new
/// events belong to the current GPU. Only this function may change it. Returns any error.
inline cudaError_t try_use(Device device) {
  thread_local int current = -1;
  if (current == device.number()) return cudaSuccess;
  const cudaError_t error = cudaSetDevice(device.number());
  current = error == cudaSuccess ? device.number() : -1;
  return error;
}
/// Does the same; throws InternalError for an error.
inline void use(Device device) { check(try_use(device), "cudaSetDevice"); }

}  // namespace syrinx::cuda
