// Implements tensor/device.h for the emulated GPU: see memory.h.
#include "tensor/device.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "kernels/cuda/emulation/memory.h"

namespace syrinx {

namespace gpu::emulated {
namespace {

/// Returns a protection key, or -1 if the processor or the system supports none. Without a key,
/// memory is not protected.
int protection_key() {
  static const int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
  return key;
}

std::mutex& machine_mutex() {
  static std::mutex one;
  return one;
}

}  // namespace

DeviceAccess::DeviceAccess(bool to_launch) : lock_(machine_mutex()) {
  if (protection_key() >= 0) pkey_set(protection_key(), 0);
  if (!to_launch) run_held();
}

DeviceAccess::~DeviceAccess() {
  if (protection_key() >= 0) pkey_set(protection_key(), PKEY_DISABLE_ACCESS);
}

}  // namespace gpu::emulated

namespace {

using gpu::emulated::DeviceAccess;

constexpr size_t kGuard = 256, kPage = 4096;
constexpr unsigned char kMark = 0xa5;

size_t room_for(size_t bytes) { return (bytes + 2 * kGuard + kPage - 1) / kPage * kPage; }

/// Freed pieces larger than this are returned to the driver. The real backend keeps smaller pieces
/// (tensor/cuda/device.cc).
constexpr size_t kGivenBack = 16u << 20;

/// The number of times that this process returned device memory to the driver.
std::atomic<uint64_t>& freed() {
  static std::atomic<uint64_t> count{0};
  return count;
}

/// The counts of the null device. Null while the GPU runs its work.
std::unique_ptr<gpu::emulated::Dropped>& null_device() {
  static std::unique_ptr<gpu::emulated::Dropped> counts;
  return counts;
}

struct Work {
  std::vector<std::function<void()>> calls;
  uint64_t kernels = 0;
};

/// Runs queued work immediately, unless it is being recorded.
class HostStream final : public Stream {
 public:
  void* native() const override { return nullptr; }
  void run_kernel(const char* name, std::function<void()> kernel) {
    if (recorded_) {
      ++recorded_->kernels;
    } else if (null_device()) {
      ++null_device()->launches[name];
    }
    run(std::move(kernel));
  }

 private:
  void run(std::function<void()> work) {
    if (null_device()) return;
    recorded_ ? recorded_->calls.push_back(std::move(work)) : work();
  }
  void to_device(const void* host, void* device, size_t bytes) override {
    if (null_device()) {
      ++null_device()->uploads, null_device()->uploaded_bytes += bytes;
      return;
    }
    const DeviceAccess access;
    std::memcpy(device, host, bytes);
  }
  void send(const void* pinned, void* device, size_t bytes) override {
    to_device(pinned, device, bytes);
  }
  void to_host(const void* device, void* host, size_t bytes) override {
    if (null_device()) std::memset(host, 0, bytes);
    on_device(device, host, bytes);
  }
  void on_device(const void* from, void* to, size_t bytes) override {
    run([=] {
      const DeviceAccess access;
      std::memcpy(to, from, bytes);
    });
  }
  void wait() override {}
  void* pinned(size_t bytes) override {
    pinned_.push_back(std::make_unique<char[]>(bytes));
    return pinned_.back().get();
  }
  void begin_recording() override { recorded_ = std::make_shared<Work>(); }
  std::shared_ptr<void> end_recording() override { return std::exchange(recorded_, nullptr); }
  uint64_t memory_version() const override { return freed().load(); }
  void play(void* recording) override {
    const auto& work = *static_cast<Work*>(recording);
    if (null_device()) ++null_device()->plays, null_device()->played += work.kernels;
    for (const auto& call : work.calls) call();
  }

  std::shared_ptr<Work> recorded_;
  std::vector<std::unique_ptr<char[]>> pinned_;
};

}  // namespace

void gpu::emulated::run_on(Stream& stream, const char* name, std::function<void()> kernel) {
  static_cast<HostStream&>(stream).run_kernel(name, std::move(kernel));
}

void gpu::emulated::drop_work() { null_device() = std::make_unique<Dropped>(); }

const gpu::emulated::Dropped& gpu::emulated::dropped() {
  SYRINX_CHECK(null_device(), "[emulated gpu] call drop_work() first");
  return *null_device();
}

std::string device_missing(Device) { return ""; }

void* device_allocate(Device, size_t bytes) {
  const DeviceAccess access;
  const size_t room = room_for(bytes);
  void* mapped = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  const int key = gpu::emulated::protection_key();
  if (key >= 0) pkey_mprotect(mapped, room, PROT_READ | PROT_WRITE, key);
  auto* memory = static_cast<unsigned char*>(mapped);
  std::memset(memory, kMark, kGuard);
  std::memcpy(memory, &bytes, sizeof(bytes));
  std::memset(memory + kGuard + bytes, kMark, kGuard);
  return memory + kGuard;
}

void device_free(Device, void* memory) noexcept {
  if (!memory) return;
  const DeviceAccess access;
  auto* begin = static_cast<unsigned char*>(memory) - kGuard;
  size_t bytes;
  std::memcpy(&bytes, begin, sizeof(bytes));
  for (size_t i = 0; i < kGuard; ++i) {
    if (begin[kGuard + bytes + i] != kMark || (i >= sizeof(bytes) && begin[i] != kMark)) {
      std::fprintf(stderr, "[emulated gpu] a kernel wrote outside %zu bytes of memory\n", bytes);
      std::abort();
    }
  }
  if (bytes > kGivenBack) freed().fetch_add(1);
  munmap(begin, room_for(bytes));
}

void device_copy(const View& from, const View& to) {
  SYRINX_CHECK(from.bytes() == to.bytes(), "[device_copy] ", from.bytes(),
               " bytes, but the target has ", to.bytes());
  const DeviceAccess access;
  std::memcpy(to.data, from.data, from.bytes());
}

Tensor copy_to(const View& from, Device device) {
  Tensor to(from.shape, from.dtype, device);
  if (from.count() > 0) device_copy(from, to);
  return to;
}

std::unique_ptr<Stream> Stream::create(Device) { return std::make_unique<HostStream>(); }

}  // namespace syrinx
