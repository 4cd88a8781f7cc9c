// Memory and streams of a GPU. A build without the CUDA backend (-DSYRINX_CUDA=ON) has no GPU, and
// allocating GPU memory throws InternalError. This header uses no types of CUDA. Any thread may
// call the free functions; a Stream is used by one thread.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace syrinx {

/// Returns why this build cannot use a device of this machine. Returns "" if it can.
std::string device_missing(Device device);
/// Returns the names of this machine's GPUs, by number. Empty if the build or the machine has none.
std::vector<std::string> gpu_names();

/// Allocates zeroed memory of a device other than the CPU, aligned to 256 bytes.
void* device_allocate(Device device, size_t bytes);
/// Frees memory of device_allocate(); ignores null.
void device_free(Device device, void* memory) noexcept;

/// Copies between views of equal size in bytes on any devices, also on two GPUs; returns when the
/// copy is complete.
void device_copy(const View& from, const View& to);

/// Returns a copy of `from` on `device`.
Tensor copy_to(const View& from, Device device);

/// Addresses of a GPU that get memory from the front on. Thus a high limit needs no memory until it
/// is used. The memory is freed at the end of the object. Used by one thread at a time.
class GrowingMemory {
 public:
  /// Reserves addresses for `bytes` bytes, without memory.
  static std::unique_ptr<GrowingMemory> reserve(Device device, size_t bytes);
  virtual ~GrowingMemory() = default;
  /// Gives zeroed memory to at least the first `bytes` bytes. Kernels may meanwhile use earlier
  /// bytes. Throws LoadError if the GPU lacks the memory; the earlier bytes keep theirs.
  virtual void grow(size_t bytes) = 0;
  void* begin() const { return begin_; }

 protected:
  void* begin_ = nullptr;
};

/// Which of two streams of a GPU gets free processors first.
enum class StreamPriority : uint8_t { kNormal, kHigh };

/// A queue of work on a device, executed in order. The host may read results after synchronize().
class Stream {
 public:
  static std::unique_ptr<Stream> create(Device device,
                                        StreamPriority priority = StreamPriority::kNormal);
  virtual ~Stream() = default;
  Device device() const { return device_; }

  /// Queues a copy of host numbers. The host memory may change as soon as the call returns.
  void upload(const void* host, void* device, size_t bytes);
  /// Queues a copy to the host. The numbers are complete after synchronize().
  void download(const void* device, void* host, size_t bytes);
  void synchronize();
  /// Returns the cudaStream_t.
  virtual void* native() const = 0;

  /// Runs `work`, which queues kernels and copies on this stream. The stream holds them back as a
  /// piece, and queues the piece when `work` returns or waits for the stream. At the second time of
  /// an identical piece, it is recorded as a CUDA graph; from then on, the graph runs as one
  /// launch. Identical pieces have equal launches and arguments; uploaded numbers may differ. If
  /// `work` throws, the work that was held back is dropped.
  void repeat(const std::function<void()>& work);
  /// Returns host memory of `bytes` bytes. The next call must be repeat_as(), which uploads it with
  /// one copy. Waits for all queued work. Returns null if `bytes` is too large.
  void* block(size_t bytes);
  /// Works like repeat(), but finds the graph by `key`. Calls with equal keys must queue the same
  /// launches with the same arguments, and read all numbers that change from block(). The work has
  /// one download, of `bytes` bytes to `results`. Once there is a graph for the key, a call uploads
  /// the block and runs the graph, without calling `work`. An empty key has no graph: works like
  /// repeat().
  void repeat_as(const std::vector<uint64_t>& key, void* results, size_t bytes,
                 const std::function<void()>& work);
  /// Number of pieces that ran as a graph so far, and number of those whose `work` was not
  /// called.
  uint64_t played() const { return played_; }
  uint64_t recalled() const { return recalled_; }

  /// Queues the work that `call` submits to native(). Within repeat(), `call` may run later, or a
  /// graph may replace it. So `what` must contain everything that `call` depends on: kernel, launch
  /// shape, arguments.
  template <typename F, typename... T>
  void queue(F call, T... what) {
    if (!noting_) {
      use_device();
      return call();
    }
    (sign(what), ...);
    notes_.add(call);
  }
  /// Within repeat(), returns a device copy of `host`, valid until repeat() ends. Otherwise null.
  void* staged(const void* host, size_t bytes);

  /// State of the kernels for this stream; kernels/cuda/state.h makes and uses it.
  std::shared_ptr<void> kernel_state;

 protected:
  explicit Stream(Device device) : device_(device) {}
  /// Makes the stream's device the one that the calling thread launches kernels on.
  virtual void use_device() = 0;
  /// Copy to and from any host memory. A copy by `to_host` is complete after wait().
  virtual void to_device(const void* host, void* device, size_t bytes) = 0;
  virtual void to_host(const void* device, void* host, size_t bytes) = 0;
  virtual void on_device(const void* from, void* to, size_t bytes) = 0;
  virtual void wait() = 0;
  /// Allocates host memory that the device can access; valid as long as the stream.
  virtual void* pinned(size_t bytes) = 0;
  /// Queues a copy from memory of pinned(), which must not change until wait().
  virtual void send(const void* pinned, void* device, size_t bytes) = 0;
  /// Records what `work` queues, without running it. Returns null if this is impossible.
  virtual std::shared_ptr<void> record(const std::function<void()>& work) = 0;
  virtual void play(void* recording) = 0;
  /// Returns a number that changes when memory of the device is returned to the driver. An older
  /// graph is then not run again: its copies fail, even if the same address is allocated again.
  virtual uint64_t memory_version() const = 0;

 private:
  /// The calls of queue() within repeat(), to be made later in the same order.
  class Notes {
   public:
    template <typename F>
    void add(F call) {
      static_assert(std::is_trivially_destructible_v<F> && sizeof(F) <= kBlock &&
                    alignof(F) <= alignof(std::max_align_t));
      calls_.push_back({new (room(sizeof(F))) F(call), [](void* f) { (*static_cast<F*>(f))(); }});
    }
    void play() const {
      for (const auto& [call, run] : calls_) run(call);
    }
    bool empty() const { return calls_.empty(); }
    void clear();

   private:
    static constexpr size_t kBlock = 64u << 10;
    void* room(size_t bytes);
    std::vector<std::pair<void*, void (*)(void*)>> calls_;
    std::vector<std::unique_ptr<std::byte[]>> blocks_;  // each has kBlock bytes
    size_t used_ = 0;                                   // bytes used in all blocks
  };
  /// A piece of work that was queued at least once.
  struct Recording {
    std::shared_ptr<void> graph;  // null if not yet recorded, or if `impossible`
    bool impossible = false;
    uint64_t used = 0;
  };
  /// A recorded piece that is found by its key.
  struct Known {
    std::shared_ptr<void> graph;
    uint64_t memory = 0;            // memory_version() when its work was recorded
    std::vector<char> constants;    // numbers that its work uploaded besides the block
    const char* landing = nullptr;  // pinned memory of its download
    uint64_t used = 0;
  };
  /// A copy to the host by way of pinned memory.
  struct Landing {
    const char* from;
    void* to;
    size_t bytes;
  };

  template <typename T>
  void sign(T value) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
    __builtin_clear_padding(&value);  // padding must not count as a difference
#endif
#endif
    sign_bytes(&value, sizeof(value));
  }
  void sign_bytes(const void* data, size_t bytes);
  void prepare();
  bool note(const std::function<void()>& work);
  void recall(Known& known, void* results, size_t bytes);
  void end_piece();
  void queue_notes();

  const Device device_;
  bool noting_ = false;
  Notes notes_;
  std::unordered_map<uint64_t, Recording> recordings_;  // recordings by signature
  std::map<std::vector<uint64_t>, Known> known_;
  uint64_t clock_ = 0, played_ = 0, recalled_ = 0, signature_ = 0;
  // Pinned memory for uploads and downloads within repeat(); staged_ is the device's copy of
  // uploads.
  char *up_ = nullptr, *down_ = nullptr;
  Tensor staged_;
  size_t up_used_ = 0, down_used_ = 0;
  size_t block_ = 0;  // bytes of block(), at the start of up_
  std::vector<Landing> landings_;
};

}  // namespace syrinx
