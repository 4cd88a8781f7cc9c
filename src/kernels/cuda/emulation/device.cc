// tensor/device.h for the emulated GPU: its memory is the host's, with guards around every piece.
#include "tensor/device.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace syrinx {
namespace {

constexpr size_t kGuard = 256;
constexpr unsigned char kMark = 0xa5;

class HostStream final : public Stream {
 public:
  void upload(const void* host, void* device, size_t bytes) override {
    std::memcpy(device, host, bytes);
  }
  void download(const void* device, void* host, size_t bytes) override {
    std::memcpy(host, device, bytes);
  }
  void synchronize() override {}
  void* native() const override { return nullptr; }
};

}  // namespace

std::string device_missing(Device) { return ""; }

void* device_allocate(Device, size_t bytes) {
  const size_t room = (bytes + kGuard - 1) / kGuard * kGuard + 2 * kGuard;
  auto* memory = static_cast<unsigned char*>(std::aligned_alloc(kGuard, room));
  if (!memory) throw std::bad_alloc();
  std::memset(memory, kMark, room);
  std::memcpy(memory, &bytes, sizeof(bytes));
  std::memset(memory + kGuard, 0, bytes);
  return memory + kGuard;
}

void device_free(Device, void* memory) noexcept {
  if (!memory) return;
  auto* begin = static_cast<unsigned char*>(memory) - kGuard;
  size_t bytes;
  std::memcpy(&bytes, begin, sizeof(bytes));
  for (size_t i = 0; i < kGuard; ++i) {
    if (begin[kGuard + bytes + i] != kMark || (i >= sizeof(bytes) && begin[i] != kMark)) {
      std::fprintf(stderr, "[emulated gpu] a kernel wrote outside %zu bytes of memory\n", bytes);
      std::abort();
    }
  }
  std::free(begin);
}

void device_copy(const View& from, const View& to) {
  SYRINX_CHECK(from.bytes() == to.bytes(), "[device_copy] ", from.bytes(), " bytes into ",
               to.bytes());
  std::memcpy(to.data, from.data, from.bytes());
}

Tensor copy_to(const View& from, Device device) {
  Tensor to(from.shape, from.dtype, device);
  if (from.count() > 0) device_copy(from, to);
  return to;
}

std::unique_ptr<Stream> Stream::create(Device) { return std::make_unique<HostStream>(); }

}  // namespace syrinx
