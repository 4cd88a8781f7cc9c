// Implements tensor/device.h with CUDA: plain device memory, and streams with a ring of pinned
// memory for uploads. Tests without a GPU compile this file with the runtime of
// kernels/cuda/emulation.
#include "tensor/device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tensor/cuda/cuda_check.h"
#include "tensor/device_health.h"

namespace syrinx {
namespace {

using cuda::check;

constexpr size_t kRing = 8u << 20, kHalf = kRing / 2;

/// Keeps freed small pieces, by size, because cudaFree would wait for all work on the GPU, and the
/// state of a stream has dozens of pieces. The next owner may use a piece at once, because an
/// executor frees memory only after the end of its batches.
class SmallPieces {
 public:
  static constexpr size_t kMost = 16u << 20;
#ifdef SYRINX_EMULATED_GPU  // pieces are freed at once, because that detects writes outside of them
  static bool keeps() { return gpu::emulated::keeps_pieces; }
#else
  static bool keeps() { return true; }
#endif
  static size_t room(size_t bytes) { return keeps() ? (bytes + 4095) / 4096 * 4096 : bytes; }

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
    if (keeps()) {
      free_[found->second].push_back(memory);
    } else {
      sizes_.erase(found);
      cudaFree(memory);
    }
    return true;
  }
  /// Returns all kept pieces to the driver. Returns false if there are none.
  bool release() {
    const std::lock_guard lock(mutex_);
    bool any = false;
    for (const auto& [size, pieces] : free_) {
      for (void* memory : pieces) sizes_.erase(memory), cudaFree(memory), any = true;
    }
    free_.clear();
    return any;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<size_t, std::vector<void*>> free_;
  std::unordered_map<void*, size_t> sizes_;
};

/// What this process knows of one GPU's memory.
struct GpuMemory {
  SmallPieces small;
  std::atomic<uint64_t> freed{0};  // how often memory was returned to the driver

  /// Returns the kept pieces to the driver, e.g. those of a model that was unloaded. Returns false
  /// if there are none.
  bool release() {
    if (!small.release()) return false;
    freed.fetch_add(1, std::memory_order_release);
    return true;
  }
};

/// Never destroyed, because tensors may exist longer.
GpuMemory& memory_of(Device device) {
  static auto* all = new std::array<GpuMemory, Device::kMostGpus>;
  return (*all)[static_cast<size_t>(device.number())];
}

class CudaStream final : public Stream {
 public:
  CudaStream(Device device, StreamPriority priority) : Stream(device) {
    cuda::use(device);
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities of streams");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking,
                                       priority == StreamPriority::kHigh ? greatest : least),
          "cudaStreamCreate");
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
  void use_device() override { cuda::use(device()); }
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
  std::shared_ptr<void> record(const std::function<void()>& work) override {
    use_device();
    // Captures only this thread, because other executors may allocate in the meantime.
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "beginning a graph");
    bool whole = true;
    try {
      work();
    } catch (const std::exception&) {  // queueing the work will report the error again
      whole = false;
    }
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t made = nullptr;
    if (cudaStreamEndCapture(stream_, &graph) == cudaSuccess && graph && whole)
      cudaGraphInstantiate(&made, graph, 0);
    if (graph) cudaGraphDestroy(graph);
    cudaGetLastError();  // work that cannot be recorded is queued as usual
    if (!made) return nullptr;
    return {made, [](void* exec) { cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(exec)); }};
  }
  uint64_t memory_version() const override {
    return memory_of(device()).freed.load(std::memory_order_acquire);
  }
  void play(void* recording) override {
    use_device();
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

}  // namespace

void cuda::refuse_memory(Device device, size_t bytes) {
  static_cast<void>(cudaGetLastError());
  std::vector<MemoryOfGpu> gpus;
  for (int number = 0; number < static_cast<int>(gpu_names().size()); ++number) {
    MemoryOfGpu& gpu = gpus.emplace_back(Device::gpu(number));
    if (cuda::try_use(gpu.device) != cudaSuccess ||
        cudaMemGetInfo(&gpu.free, &gpu.total) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());  // another process has this GPU
    }
  }
  throw LoadError(gpu_memory_text(bytes, device, gpus));
}

std::vector<std::string> gpu_names() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  static_cast<void>(cudaGetLastError());
  std::vector<std::string> names;
  for (int number = 0; number < std::min(count, Device::kMostGpus); ++number) {
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, number), "properties of a GPU");
    names.emplace_back(properties.name);
  }
  return names;
}

std::string device_missing(Device device) {
  if (device == Device::kCpu) return "";
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return std::string("no GPU: ") + cudaGetErrorString(error);
  if (count == 0) return "no GPU in this machine";
  if (device.number() >= count) {
    return concat("no GPU ", device.number(), ": the last GPU of this machine is ",
                  device_name(Device::gpu(std::min(count, Device::kMostGpus) - 1)));
  }
  constexpr int kOldest = 8;  // oldest major version that cmake/syrinx_cuda.cmake compiles for
  int major = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.number()),
        "compute capability");
  if (major >= kOldest) {
    // Creates the context. The call fails if another process uses the GPU exclusively.
    const cudaError_t chosen = cuda::try_use(device);
    const cudaError_t refused = chosen == cudaSuccess ? cudaFree(nullptr) : chosen;
    if (refused == cudaSuccess) return "";
    static_cast<void>(cudaGetLastError());
    return concat("the GPU cannot be used: ", cudaGetErrorString(refused));
  }
  return concat("the GPU is too old: its compute capability is ", major, ".x, and ", kOldest,
                ".0 is required");
}

void* device_allocate(Device device, size_t bytes) {
  cuda::use(device);
  SmallPieces& small_pieces = memory_of(device).small;
  const bool small = bytes <= SmallPieces::kMost;
  const size_t room = small ? SmallPieces::room(bytes) : bytes;
  void* memory = small ? small_pieces.take(room) : nullptr;
  if (!memory) {
    cudaError_t made = cudaMalloc(&memory, room);
    if (made == cudaErrorMemoryAllocation && memory_of(device).release()) {
      static_cast<void>(cudaGetLastError());
      made = cudaMalloc(&memory, room);
    }
    if (made == cudaErrorMemoryAllocation) cuda::refuse_memory(device, room);
    check(made, "cudaMalloc");
    if (small) small_pieces.made(memory, room);
  }
  check(cudaMemset(memory, 0, bytes), "cudaMemset");
  // Streams that do not synchronise with the default stream must not run before the memory is zero.
  check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  return memory;
}

void device_free(Device device, void* memory) noexcept {
  if (!memory || memory_of(device).small.give_back(memory)) return;
  memory_of(device).freed.fetch_add(1, std::memory_order_release);
  cudaFree(memory);
}

// Between two GPUs, the driver copies directly if it can, otherwise by way of the host.
void device_copy(const View& from, const View& to) {
  SYRINX_CHECK(from.bytes() == to.bytes(), "[device_copy] ", from.bytes(),
               " bytes, but the target has ", to.bytes());
  cuda::use(to.device == Device::kCuda ? to.device : from.device);
  check(cudaMemcpy(to.data, from.data, from.bytes(), cudaMemcpyDefault), "cudaMemcpy");
  check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
}

Tensor copy_to(const View& from, Device device) {
  Tensor to(from.shape, from.dtype, device);
  if (from.count() > 0) device_copy(from, to);
  return to;
}

std::unique_ptr<Stream> Stream::create(Device device, StreamPriority priority) {
  SYRINX_CHECK(device == Device::kCuda, "[stream] the CPU has no streams");
  return std::make_unique<CudaStream>(device, priority);
}

}  // namespace syrinx
