// Implements the runtime API and memory.h for the emulated GPUs.
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kernels/cuda/begin.h"
#include "kernels/cuda/emulation/memory.h"
#include "tensor/cuda/cuda_check.h"

namespace syrinx::gpu::emulated {
namespace {

constexpr size_t kGuard = 256, kPage = 4096;
constexpr unsigned char kMark = 0xa5;
constexpr size_t kMemory = size_t{80} << 30;
constexpr int kLeastPriority = 0, kGreatestPriority = -5;  // the range of an H200

size_t room_for(size_t bytes) { return (bytes + 2 * kGuard + kPage - 1) / kPage * kPage; }

int gpu_count() {
  static const int count = [] {
    const char* wanted = std::getenv("SYRINX_EMULATED_GPUS");
    return wanted ? std::clamp(std::atoi(wanted), 0, Device::kMostGpus) : 2;
  }();
  return count;
}

/// Returns a protection key, or -1 if the processor or the system supports none. Without a key,
/// memory is not protected from the host.
int protection_key() {
  static const int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
  return key;
}

/// An allocation. Its guards and its size are in the memory itself, too.
struct Piece {
  size_t bytes = 0;
  int gpu = 0;
  bool zero = true;  // never set by cudaMemset()
};

/// The memory of all GPUs. Only one GPU's pieces are accessible while its kernels run, so that a
/// kernel for the wrong GPU faults.
struct Memory {
  std::mutex mutex;
  std::map<char*, Piece> pieces;  // by the beginning of the first guard
  size_t count[Device::kMostGpus] = {}, used[Device::kMostGpus] = {}, total[Device::kMostGpus];
  int open = kAllGpus, used_last = kAllGpus;
  const char* kernel = "a copy";             // that runs
  std::map<int, std::set<std::string>> ran;  // names of kernels, by priority

  Memory() { std::fill(std::begin(total), std::end(total), kMemory); }

  void open_only(int gpu);
  /// Returns the piece that contains these bytes; null for memory of the host.
  const Piece* find(const void* memory, size_t bytes) const {
    auto* at = static_cast<char*>(const_cast<void*>(memory));
    auto next = pieces.upper_bound(at);
    if (next == pieces.begin()) return nullptr;
    const auto& [begin, piece] = *--next;
    return at + bytes <= begin + kGuard + piece.bytes ? &piece : nullptr;
  }
};

Memory& memory() {
  static auto* one = new Memory;
  return *one;
}

/// Names the GPUs of an access that faulted. The access then faults again, and ends the program.
void explain(int, siginfo_t* info, void*) {
  const auto* at = static_cast<const char*>(info->si_addr);
  for (const auto& [begin, piece] : memory().pieces) {
    if (begin <= at && at < begin + room_for(piece.bytes)) {
      std::fprintf(stderr, "[emulated gpu] %s on cuda:%d accesses memory of cuda:%d\n",
                   memory().kernel, memory().open, piece.gpu);
    }
  }
  std::signal(SIGSEGV, SIG_DFL);
}

void Memory::open_only(int gpu) {
  const size_t own = gpu == kAllGpus ? pieces.size() : count[gpu];
  if (open == gpu || (open == kAllGpus && own == pieces.size())) return;
  static const bool explained [[maybe_unused]] = [] {
    struct sigaction action = {};
    action.sa_sigaction = explain;
    action.sa_flags = SA_SIGINFO;
    return sigaction(SIGSEGV, &action, nullptr) == 0;
  }();
  char *begin = nullptr, *end = nullptr;  // neighbours that change in the same way
  bool opens = false;
  const auto change = [&] {
    if (begin != end)
      mprotect(begin, static_cast<size_t>(end - begin), opens ? PROT_READ | PROT_WRITE : PROT_NONE);
  };
  for (const auto& [at, piece] : pieces) {
    const bool was = open == kAllGpus || piece.gpu == open;
    const bool now = gpu == kAllGpus || piece.gpu == gpu;
    if (was == now) continue;
    if (at != end || now != opens) change(), begin = at, opens = now;
    end = at + room_for(piece.bytes);
  }
  change();
  open = gpu;
}

/// The counts of the null device. Null while the GPUs run their work.
std::unique_ptr<Dropped>& null_device() {
  static std::unique_ptr<Dropped> counts;
  return counts;
}

struct Work {
  std::vector<std::function<void()>> calls;
  uint64_t kernels = 0;
  std::map<std::string_view, uint64_t> weights;
};

/// The bytes of weights, by their address.
std::unordered_map<const void*, uint64_t>& weights() {
  static std::unordered_map<const void*, uint64_t> all;
  return all;
}

thread_local int current_gpu = 0;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t result(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace

DeviceAccess::DeviceAccess(int gpu, bool to_launch) : lock_(memory().mutex) {
  if (protection_key() >= 0) pkey_set(protection_key(), 0);
  // Kernels that are held back run while the memory of their GPU is still open.
  if (!to_launch || gpu != memory().used_last) run_held();
  memory().used_last = gpu;
  memory().open_only(gpu);
}

DeviceAccess::~DeviceAccess() {
  if (protection_key() >= 0) pkey_set(protection_key(), PKEY_DISABLE_ACCESS);
}

}  // namespace syrinx::gpu::emulated

using namespace syrinx::gpu::emulated;  // NOLINT: the functions below are in the global namespace

/// Work is run at once, unless the stream records it.
struct CUstream_st {
  int gpu = 0, priority = 0;
  std::shared_ptr<Work> recorded = nullptr;

  void run(std::function<void()> work) {
    if (null_device()) return;
    recorded ? recorded->calls.push_back(std::move(work)) : work();
  }
};
struct CUevent_st {
  int gpu = 0;
};
struct CUgraph_st {
  std::shared_ptr<Work> work;
};
struct CUgraphExec_st {
  std::shared_ptr<Work> work;
};

namespace syrinx::gpu::emulated {

void run_on(Stream& stream, const char* name, std::function<void()> kernel, uint64_t weights) {
  CUstream_st& queue = *static_cast<cudaStream_t>(stream.native());
  SYRINX_CHECK(current_gpu == queue.gpu, "[emulated gpu] ", name,
               ": the stream is of cuda:", queue.gpu,
               ", but the thread's current GPU is cuda:", current_gpu);
  if (queue.recorded) {
    ++queue.recorded->kernels;
    queue.recorded->weights[name] += weights;
  } else if (null_device()) {
    ++null_device()->launches[name];
  }
  queue.run([gpu = queue.gpu, priority = queue.priority, name, kernel = std::move(kernel)] {
    const DeviceAccess access(gpu, early_wanted());
    memory().kernel = name;
    memory().ran[priority].insert(name);
    kernel();
    memory().kernel = "a copy";
  });
}

void set_memory(Device gpu, size_t bytes) { memory().total[gpu.number()] = bytes; }

int priority_of(const Stream& stream) {
  return static_cast<cudaStream_t>(stream.native())->priority;
}

std::set<std::string> kernels_at(int priority) {
  const DeviceAccess access;
  return memory().ran[priority];
}

void drop_work() { null_device() = std::make_unique<Dropped>(); }

void count_weights() {
  const DeviceAccess access;
  weights().clear();
  for (const auto& [begin, piece] : memory().pieces) weights()[begin + kGuard] = piece.bytes;
}

uint64_t weights_at(const void* argument, size_t bytes) {
  if (!null_device()) return 0;
  uint64_t sum = 0;
  for (size_t at = 0; at + sizeof(void*) <= bytes; at += sizeof(void*)) {
    const void* word = nullptr;
    std::memcpy(&word, static_cast<const char*>(argument) + at, sizeof(word));
    const auto found = weights().find(word);
    if (found != weights().end()) sum += found->second;
  }
  return sum;
}

const Dropped& dropped() {
  SYRINX_CHECK(null_device(), "[emulated gpu] call drop_work() first");
  return *null_device();
}

}  // namespace syrinx::gpu::emulated

// ---------------------------------------------------------------------------- errors and GPUs

const char* cudaGetErrorName(cudaError_t) { return "error of the emulated GPU"; }
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    default:
      return "unknown";
  }
}
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = gpu_count();
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int gpu) {
  if (gpu < 0 || gpu >= gpu_count()) return result(cudaErrorInvalidDevice);
  std::snprintf(properties->name, sizeof(properties->name), "emulated GPU");
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int gpu) {
  if (gpu < 0 || gpu >= gpu_count()) return result(cudaErrorInvalidDevice);
  const bool older = gpu + 1 < gpu_count();
  if (attribute == cudaDevAttrComputeCapabilityMajor) *value = older ? 8 : 9;
  if (attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin)
    *value = older ? kOlderShared : kMostShared;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = kLeastPriority, *greatest = kGreatestPriority;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int gpu) {
  if (gpu < 0 || gpu >= gpu_count()) return result(cudaErrorInvalidDevice);
  current_gpu = gpu;
  return cudaSuccess;
}

// ---------------------------------------------------------------------------- memory

cudaError_t cudaMalloc(void** out, size_t bytes) {
  const DeviceAccess access;
  Memory& all = memory();
  const int gpu = current_gpu;
  if (all.used[gpu] + bytes > all.total[gpu]) return result(cudaErrorMemoryAllocation);
  const size_t room = room_for(bytes);
  void* mapped = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return result(cudaErrorMemoryAllocation);
  if (protection_key() >= 0) pkey_mprotect(mapped, room, PROT_READ | PROT_WRITE, protection_key());
  auto* begin = static_cast<char*>(mapped);
  std::memset(begin, kMark, kGuard);
  std::memset(begin + kGuard + bytes, kMark, kGuard);
  all.pieces[begin] = {bytes, gpu};
  ++all.count[gpu], all.used[gpu] += bytes;
  *out = begin + kGuard;
  return cudaSuccess;
}

cudaError_t cudaFree(void* freed) {
  if (!freed) return cudaSuccess;
  const DeviceAccess access;
  Memory& all = memory();
  auto* begin = static_cast<char*>(freed) - kGuard;
  const auto found = all.pieces.find(begin);
  if (found == all.pieces.end()) return result(cudaErrorInvalidValue);
  const Piece piece = found->second;
  const auto marked = [](const char* guard) {
    return std::all_of(guard, guard + kGuard,
                       [](char c) { return static_cast<unsigned char>(c) == kMark; });
  };
  if (!marked(begin) || !marked(begin + kGuard + piece.bytes)) {
    std::fprintf(stderr, "[emulated gpu] a kernel wrote outside %zu bytes of memory\n",
                 piece.bytes);
    std::abort();
  }
  all.pieces.erase(found);
  --all.count[piece.gpu], all.used[piece.gpu] -= piece.bytes;
  munmap(begin, room_for(piece.bytes));
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned) {
  *out = std::calloc(1, bytes);
  return result(*out ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void* freed) {
  std::free(freed);
  return cudaSuccess;
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  const DeviceAccess access(current_gpu);
  const Piece* piece = memory().find(to, bytes);
  if (!piece || piece->gpu != current_gpu) return result(cudaErrorInvalidValue);
  // The system's pages are zero already, and a cache has gigabytes of them.
  const bool done = std::exchange(const_cast<Piece*>(piece)->zero, false) && value == 0;
  if (!done) std::memset(to, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const DeviceAccess access;
  *total = memory().total[current_gpu];
  *free = *total - std::min(*total, memory().used[current_gpu]);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  const DeviceAccess access;
  if (!null_device()) std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (null_device() && kind == cudaMemcpyHostToDevice) {
    ++null_device()->uploads, null_device()->uploaded_bytes += bytes;
    return cudaSuccess;
  }
  if (null_device() && kind == cudaMemcpyDeviceToHost) std::memset(to, 0, bytes);
  if (null_device()) return cudaSuccess;
  const auto place = [&](const void* at) {
    const DeviceAccess access;
    const Piece* piece = memory().find(at, bytes);
    return piece ? piece->gpu : kAllGpus;
  };
  const int target = place(to), source = place(from);
  if (target != (kind == cudaMemcpyDeviceToHost ? kAllGpus : stream->gpu) ||
      source != (kind == cudaMemcpyHostToDevice ? kAllGpus : stream->gpu)) {
    return result(cudaErrorInvalidValue);
  }
  stream->run([=, gpu = stream->gpu] {
    const DeviceAccess access(gpu);
    std::memcpy(to, from, bytes);
  });
  return cudaSuccess;
}

// ---------------------------------------------------------------------------- growing memory

namespace syrinx {
namespace {

/// A piece that becomes longer. Its addresses after the used ones cannot be accessed.
class EmulatedGrowingMemory final : public GrowingMemory {
 public:
  EmulatedGrowingMemory(Device device, size_t bytes) : device_(device), reserved_(bytes) {
    void* mapped = mmap(nullptr, room_for(bytes), PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    if (protection_key() >= 0) pkey_mprotect(mapped, room_for(bytes), PROT_NONE, protection_key());
    start_ = static_cast<char*>(mapped);
    begin_ = start_ + kGuard;
  }
  ~EmulatedGrowingMemory() override {
    const DeviceAccess access;
    if (memory().pieces.erase(start_) > 0)
      --memory().count[device_.number()], memory().used[device_.number()] -= used_;
    munmap(start_, room_for(reserved_));
  }
  EmulatedGrowingMemory(const EmulatedGrowingMemory&) = delete;
  EmulatedGrowingMemory& operator=(const EmulatedGrowingMemory&) = delete;

  void grow(size_t bytes) override {
    SYRINX_CHECK(bytes <= reserved_, "[growing memory] ", bytes, " bytes, but ", reserved_,
                 " are reserved");
    if (bytes <= used_) return;
    const int gpu = device_.number();
    bool fits = false;
    {
      const DeviceAccess access;
      Memory& all = memory();
      fits = all.used[gpu] + bytes - used_ <= all.total[gpu];
      if (fits) {
        mprotect(start_, room_for(bytes), PROT_READ | PROT_WRITE);
        if (used_ == 0) ++all.count[gpu];
        all.used[gpu] += bytes - used_;
        used_ = bytes;
        all.pieces[start_] = {bytes, gpu};
      }
    }
    if (!fits) cuda::refuse_memory(device_, bytes - used_);
  }

 private:
  Device device_;
  size_t reserved_, used_ = 0;
  char* start_;
};

}  // namespace

std::unique_ptr<GrowingMemory> GrowingMemory::reserve(Device device, size_t bytes) {
  return std::make_unique<EmulatedGrowingMemory>(device, bytes);
}

}  // namespace syrinx

// ---------------------------------------------------------------------------- streams and graphs

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int priority) {
  *stream = new CUstream_st{current_gpu, std::clamp(priority, kGreatestPriority, kLeastPriority)};
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream->gpu != current_gpu) return result(cudaErrorInvalidResourceHandle);
  stream->recorded = std::make_shared<Work>();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = new CUgraph_st{std::exchange(stream->recorded, nullptr)};
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  *made = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  if (stream->gpu != current_gpu) return result(cudaErrorInvalidResourceHandle);
  if (Dropped* counts = null_device().get()) {
    ++counts->plays, counts->played += graph->work->kernels;
    for (const auto& [name, bytes] : graph->work->weights) counts->weights[name] += bytes;
  }
  for (const auto& call : graph->work->calls) call();
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st{current_gpu};
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return result(event->gpu == stream->gpu ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
