// Implements GrowingMemory with the driver's virtual memory. The driver's functions are looked up
// at run time, because the program must also start on machines without the driver.
#include <cuda.h>

#include <algorithm>
#include <vector>

#include "tensor/cuda/cuda_check.h"
#include "tensor/device.h"

namespace syrinx {
namespace {

/// Returns a function of the driver's API, as of CUDA 12.0.
template <typename F>
F* driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  cuda::check(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result),
              name);
#else
  cuda::check(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result), name);
#endif
  SYRINX_CHECK(result == cudaDriverEntryPointSuccess, "[cuda] the driver lacks ", name);
  return reinterpret_cast<F*>(found);
}

/// The functions that this file uses.
struct Driver {
  decltype(cuMemGetAllocationGranularity)* granularity =
      driver_function<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity");
  decltype(cuMemAddressReserve)* reserve =
      driver_function<decltype(cuMemAddressReserve)>("cuMemAddressReserve");
  decltype(cuMemAddressFree)* unreserve =
      driver_function<decltype(cuMemAddressFree)>("cuMemAddressFree");
  decltype(cuMemCreate)* create = driver_function<decltype(cuMemCreate)>("cuMemCreate");
  decltype(cuMemRelease)* release = driver_function<decltype(cuMemRelease)>("cuMemRelease");
  decltype(cuMemMap)* map = driver_function<decltype(cuMemMap)>("cuMemMap");
  decltype(cuMemUnmap)* unmap = driver_function<decltype(cuMemUnmap)>("cuMemUnmap");
  decltype(cuMemSetAccess)* allow = driver_function<decltype(cuMemSetAccess)>("cuMemSetAccess");
};

const Driver& driver() {
  static const Driver all;
  return all;
}

void expect_success(CUresult result, const char* what) {
  SYRINX_CHECK(result == CUDA_SUCCESS, "[cuda] ", what, " failed: error ",
               static_cast<int>(result));
}

class CudaGrowingMemory final : public GrowingMemory {
 public:
  CudaGrowingMemory(Device device, size_t bytes) : device_(device) {
    cuda::use(device);
    device_free(device, device_allocate(device, 1));  // makes the context of the GPU
    kind_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    kind_.location = {CU_MEM_LOCATION_TYPE_DEVICE, device.number()};
    expect_success(driver().granularity(&piece_, &kind_, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
                   "cuMemGetAllocationGranularity");
    reserved_ = rounded(bytes);
    expect_success(driver().reserve(&address_, reserved_, 0, 0, 0), "cuMemAddressReserve");
    begin_ = reinterpret_cast<void*>(address_);
  }
  ~CudaGrowingMemory() override {
    if (used_ > 0) driver().unmap(address_, used_);
    for (const CUmemGenericAllocationHandle piece : pieces_) driver().release(piece);
    driver().unreserve(address_, reserved_);
  }
  CudaGrowingMemory(const CudaGrowingMemory&) = delete;
  CudaGrowingMemory& operator=(const CudaGrowingMemory&) = delete;

  void grow(size_t bytes) override {
    if (bytes <= used_) return;
    SYRINX_CHECK(bytes <= reserved_, "[growing memory] ", bytes, " bytes, but ", reserved_,
                 " are reserved");
    cuda::use(device_);
    const size_t more = rounded(bytes) - used_;
    CUmemGenericAllocationHandle piece = 0;
    const CUresult made = driver().create(&piece, more, &kind_, 0);
    if (made == CUDA_ERROR_OUT_OF_MEMORY) cuda::refuse_memory(device_, more);
    expect_success(made, "cuMemCreate");
    if (const CUresult mapped = driver().map(address_ + used_, more, 0, piece, 0);
        mapped != CUDA_SUCCESS) {
      driver().release(piece);
      expect_success(mapped, "cuMemMap");
    }
    pieces_.push_back(piece);
    const CUmemAccessDesc access{kind_.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    const CUdeviceptr fresh = address_ + used_;
    used_ += more;
    expect_success(driver().allow(fresh, more, &access, 1), "cuMemSetAccess");
    cuda::check(cudaMemset(reinterpret_cast<void*>(fresh), 0, more), "cudaMemset");
    cuda::check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }

 private:
  size_t rounded(size_t bytes) const { return (bytes + piece_ - 1) / piece_ * piece_; }

  Device device_;
  CUmemAllocationProp kind_ = {};
  size_t piece_ = 1, reserved_ = 0, used_ = 0;  // in bytes; memory comes in multiples of piece_
  CUdeviceptr address_ = 0;
  std::vector<CUmemGenericAllocationHandle> pieces_;
};

}  // namespace

std::unique_ptr<GrowingMemory> GrowingMemory::reserve(Device device, size_t bytes) {
  return std::make_unique<CudaGrowingMemory>(device, bytes);
}

}  // namespace syrinx
