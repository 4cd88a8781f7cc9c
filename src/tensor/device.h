// Memory and streams of a GPU. Without the CUDA backend (-DSYRINX_CUDA=ON) no GPU is there: asking
// for its memory throws InternalError. No type of CUDA shows in this header.
// Threads: the free functions may be called from any; a Stream belongs to one.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace syrinx {

/// Why a device cannot be used on this machine by this build; empty when it can.
std::string device_missing(Device device);

/// Zeroed memory of a device other than the CPU, aligned to 256 bytes.
void* device_allocate(Device device, size_t bytes);
/// Frees memory of device_allocate(); null does nothing.
void device_free(Device device, void* memory) noexcept;

/// Copies between views of equal size in bytes on any devices; waits until it is done.
void device_copy(const View& from, const View& to);

/// A copy of `from` on `device`.
Tensor copy_to(const View& from, Device device);

/// A queue of work on a device, in order. Results may be read on the host after synchronize().
class Stream {
 public:
  static std::unique_ptr<Stream> create(Device device);
  virtual ~Stream() = default;

  /// Queues a copy of host numbers; the host memory may change as soon as the call returns.
  void upload(const void* host, void* device, size_t bytes);
  /// Queues a copy to the host; the numbers are there after synchronize().
  void download(const void* device, void* host, size_t bytes);
  void synchronize();
  /// cudaStream_t.
  virtual void* native() const = 0;

  /// Runs `work`, which queues kernels and copies on this stream, and notes them instead of
  /// queueing them until it ends or waits. Then the noted piece is queued. The second time that the
  /// very same piece comes (launches and arguments; what is uploaded may differ), it is recorded as
  /// a CUDA graph, and from the third time on that is played, as one launch. What `work` throws
  /// comes out, and what was noted and not queued yet is dropped.
  void repeat(const std::function<void()>& work);
  /// Pieces that were played from a recording so far.
  uint64_t played() const { return played_; }

  /// Queues what `call` does on native(). Within repeat() it is called later, or a recording played
  /// in its stead, so `what` must be all that it depends on: kernel, launch shape, arguments.
  template <typename F, typename... T>
  void queue(F call, T... what) {
    if (!noting_) return call();
    (sign(what), ...);
    notes_.add(call);
  }
  /// Within repeat(): device memory that has these numbers until it ends. Null elsewhere.
  void* staged(const void* host, size_t bytes);

  /// What the kernels keep for a stream: counters.
  std::shared_ptr<void> kernel_state;

 protected:
  /// Copies of any host memory; `to_host` is over after wait().
  virtual void to_device(const void* host, void* device, size_t bytes) = 0;
  virtual void to_host(const void* device, void* host, size_t bytes) = 0;
  virtual void on_device(const void* from, void* to, size_t bytes) = 0;
  virtual void wait() = 0;
  /// Host memory of the stream's life that the device reads and writes by itself.
  virtual void* pinned(size_t bytes) = 0;
  /// A copy from memory of pinned(), which stays as it is until wait().
  virtual void send(const void* pinned, void* device, size_t bytes) = 0;
  /// What is queued between the two is kept, not run. Null when that was not possible.
  virtual void begin_recording() = 0;
  virtual std::shared_ptr<void> end_recording() = 0;
  virtual void play(void* recording) = 0;
  /// Changes when device memory is given back to the driver. A recording made before is not played
  /// again: its copies fail even where the same address is allocated anew.
  virtual uint64_t memory_version() const = 0;

 private:
  /// Calls to be made later, in order.
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
    std::vector<std::unique_ptr<std::byte[]>> blocks_;  // of kBlock bytes
    size_t used_ = 0;                                   // of all blocks
  };
  /// A piece that has come before.
  struct Recording {
    std::shared_ptr<void> graph;  // null: not made, or `impossible`
    bool impossible = false;
    uint64_t used = 0;
  };
  /// A copy to the host that ends in pinned memory first.
  struct Landing {
    const char* from;
    void* to;
    size_t bytes;
  };

  template <typename T>
  void sign(T value) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
    __builtin_clear_padding(&value);  // else padding may look like a difference
#endif
#endif
    sign_bytes(&value, sizeof(value));
  }
  void sign_bytes(const void* data, size_t bytes);
  void end_piece();
  void queue_notes();
  std::shared_ptr<void> record();
  void forget_oldest();

  bool noting_ = false;
  Notes notes_;
  std::unordered_map<uint64_t, Recording> recordings_;  // by signature
  uint64_t clock_ = 0, played_ = 0, signature_ = 0;
  // Numbers on their way up and down within repeat(), and the device's copy of the former.
  char *up_ = nullptr, *down_ = nullptr;
  Tensor staged_;
  size_t up_used_ = 0, down_used_ = 0;
  std::vector<Landing> landings_;
};

}  // namespace syrinx
