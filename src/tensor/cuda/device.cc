// Implements tensor/device.h with CUDA: plain device memory, and streams with a ring of pinned
// memory for uploads.
#include "tensor/device.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tensor/cuda/cuda_check.h"
#include "tensor/device_health.h"

namespace syrinx {
namespace {

using cuda::check;

constexpr size_t kRing = 8u << 20, kHalf = kRing / 2;

/// The number of times that this process returned device memory to the driver.
std::atomic<uint64_t>& freed() {
  static std::atomic<uint64_t> count{0};
  return count;
}

class CudaStream final : public Stream {
 public:
  CudaStream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaHostAlloc(&ring_, kRing, cudaHostAllocDefault), "cudaHostAlloc");
    for (cudaEvent_t& e : done_)
      check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "cudaEventCreate");
  }
  ~CudaStream() override {
    cudaStreamSynchronize(stream_);
    kernel_state.reset();
    for (cudaEvent_t e : done_) cudaEventDestroy(e);
    for (void* memory : pinned_) cudaFreeHost(memory);
    cudaFreeHost(ring_);
    cudaStreamDestroy(stream_);
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  void* native() const override { return stream_; }

 private:
  void to_device(const void* host, void* device, size_t bytes) override {
    for (size_t done = 0; done < bytes;) {
      const size_t part = std::min(bytes - done, kHalf);
      char* slot = take(part);
      std::memcpy(slot, static_cast<const char*>(host) + done, part);
      send(slot, static_cast<char*>(device) + done, part);
      done += part;
    }
  }
  void send(const void* pinned, void* device, size_t bytes) override {
    check(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, stream_), "upload");
  }
  void to_host(const void* device, void* host, size_t bytes) override {
    check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_), "download");
  }
  void on_device(const void* from, void* to, size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "copy");
  }
  void wait() override { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }
  void* pinned(size_t bytes) override {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "cudaHostAlloc");
    pinned_.push_back(memory);
    return memory;
  }
  void begin_recording() override {
    // Captures only this thread, because other executors may allocate in the meantime.
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "beginning a graph");
  }
  std::shared_ptr<void> end_recording() override {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t made = nullptr;
    if (cudaStreamEndCapture(stream_, &graph) == cudaSuccess && graph)
      cudaGraphInstantiate(&made, graph, 0);
    if (graph) cudaGraphDestroy(graph);
    cudaGetLastError();  // work that cannot be recorded is queued as usual
    if (!made) return nullptr;
    return {made, [](void* exec) { cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(exec)); }};
  }
  uint64_t memory_version() const override { return freed().load(std::memory_order_acquire); }
  void play(void* recording) override {
    check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(recording), stream_), "cudaGraphLaunch");
  }

  /// Returns memory of the ring. Before it reuses a half, it waits for the copies from that half.
  char* take(size_t bytes) {
    bytes = (bytes + 255) / 256 * 256;
    if (used_ + bytes > kHalf) {
      check(cudaEventRecord(done_[half_], stream_), "cudaEventRecord");
      half_ = 1 - half_;
      used_ = 0;
      check(cudaEventSynchronize(done_[half_]), "cudaEventSynchronize");
    }
    char* slot = static_cast<char*>(ring_) + half_ * kHalf + used_;
    used_ += bytes;
    return slot;
  }

  cudaStream_t stream_ = nullptr;
  void* ring_ = nullptr;
  size_t used_ = 0;  // bytes of the current half
  int half_ = 0;
  cudaEvent_t done_[2] = {};
  std::vector<void*> pinned_;
};

/// Keeps freed small pieces, by size, because cudaFree would wait for all work on the GPU, and the
/// state of a stream has dozens of pieces. The next owner may use a piece at once, because an
/// executor frees memory only after the end of its batches.
class SmallPieces {
 public:
  static constexpr size_t kMost = 16u << 20;
  static size_t room(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

  /// Returns a free piece of this size, or null.
  void* take(size_t size) {
    const std::lock_guard lock(mutex_);
    std::vector<void*>& pieces = free_[size];
    if (pieces.empty()) return nullptr;
    void* memory = pieces.back();
    pieces.pop_back();
    return memory;
  }
  void made(void* memory, size_t size) {
    const std::lock_guard lock(mutex_);
    sizes_[memory] = size;
  }
  /// Returns false if `memory` is not a small piece.
  bool give_back(void* memory) {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(memory);
    if (found == sizes_.end()) return false;
    free_[found->second].push_back(memory);
    return true;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<size_t, std::vector<void*>> free_;
  std::unordered_map<void*, size_t> sizes_;
};

/// Returns the only SmallPieces of the process, because it uses one GPU. Never destroyed, because
/// tensors may exist longer.
SmallPieces& small_pieces() {
  static auto* pieces = new SmallPieces;
  return *pieces;
}

/// Throws a LoadError: the GPU lacks the memory for these bytes.
[[noreturn]] void refuse_memory(size_t bytes) {
  static_cast<void>(cudaGetLastError());
  size_t free = 0, total = 0;
  static_cast<void>(cudaMemGetInfo(&free, &total));
  throw LoadError(gpu_memory_text(bytes, free, total));
}

}  // namespace

std::string device_missing(Device device) {
  if (device == Device::kCpu) return "";
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return std::string("no GPU: ") + cudaGetErrorString(error);
  if (count == 0) return "no GPU in this machine";
  constexpr int kOldest = 8;  // oldest major version that cmake/syrinx_cuda.cmake compiles for
  int major = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "compute capability");
  if (major >= kOldest) {
    // Creates the context. The call fails if another process uses the GPU exclusively.
    const cudaError_t refused = cudaFree(nullptr);
    if (refused == cudaSuccess) return "";
    static_cast<void>(cudaGetLastError());
    return concat("the GPU cannot be used: ", cudaGetErrorString(refused));
  }
  return concat("the GPU is too old: its compute capability is ", major, ".x, and ", kOldest,
                ".0 is required");
}

void* device_allocate(Device, size_t bytes) {
  const bool small = bytes <= SmallPieces::kMost;
  const size_t room = small ? SmallPieces::room(bytes) : bytes;
  void* memory = small ? small_pieces().take(room) : nullptr;
  if (!memory) {
    const cudaError_t made = cudaMalloc(&memory, room);
    if (made == cudaErrorMemoryAllocation) refuse_memory(room);
    check(made, "cudaMalloc");
    if (small) small_pieces().made(memory, room);
  }
  check(cudaMemset(memory, 0, bytes), "cudaMemset");
  // Streams that do not synchronise with the default stream must not run before the memory is zero.
  check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  return memory;
}

void device_free(Device, void* memory) noexcept {
  if (!memory || small_pieces().give_back(memory)) return;
  freed().fetch_add(1, std::memory_order_release);
  cudaFree(memory);
}

void device_copy(const View& from, const View& to) {
  SYRINX_CHECK(from.bytes() == to.bytes(), "[device_copy] ", from.bytes(),
               " bytes, but the target has ", to.bytes());
  check(cudaMemcpy(to.data, from.data, from.bytes(), cudaMemcpyDefault), "cudaMemcpy");
  check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
}

Tensor copy_to(const View& from, Device device) {
  Tensor to(from.shape, from.dtype, device);
  if (from.count() > 0) device_copy(from, to);
  return to;
}

std::unique_ptr<Stream> Stream::create(Device device) {
  SYRINX_CHECK(device == Device::kCuda, "[stream] the CPU has no streams");
  return std::make_unique<CudaStream>();
}

}  // namespace syrinx
