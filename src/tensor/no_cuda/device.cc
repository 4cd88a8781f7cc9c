// Implements tensor/device.h in builds without the CUDA backend, in which no GPU exists.
#include "tensor/device.h"

namespace syrinx {
namespace {
constexpr const char* kWhy = "this build has no CUDA backend (-DSYRINX_CUDA=ON)";
}

std::string device_missing(Device device) { return device == Device::kCpu ? "" : kWhy; }

std::vector<std::string> gpu_names() { return {}; }

void* device_allocate(Device, size_t bytes) {
  SYRINX_CHECK(false, bytes, " bytes of GPU memory: ", kWhy);
  return nullptr;
}

void device_free(Device, void*) noexcept {}

void device_copy(const View&, const View&) { SYRINX_CHECK(false, kWhy); }

Tensor copy_to(const View&, Device) {
  SYRINX_CHECK(false, kWhy);
  return {};
}

std::unique_ptr<GrowingMemory> GrowingMemory::reserve(Device, size_t bytes) {
  SYRINX_CHECK(false, bytes, " bytes of GPU memory: ", kWhy);
  return nullptr;
}

std::unique_ptr<Stream> Stream::create(Device, StreamPriority) {
  SYRINX_CHECK(false, kWhy);
  return nullptr;
}

}  // namespace syrinx
