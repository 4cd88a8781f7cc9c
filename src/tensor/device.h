// Memory and streams of a GPU. Without the CUDA backend (-DSYRINX_CUDA=ON) no GPU is there: asking
// for its memory throws InternalError. No type of CUDA shows in this header.
// Threads: the free functions may be called from any; a Stream belongs to one.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tensor/tensor.h"

namespace syrinx {

/// Why a device cannot be used on this machine by this build; empty when it can.
std::string device_missing(Device device);

/// Zeroed memory of a device other than the CPU, aligned to 256 bytes.
void* device_allocate(Device device, size_t bytes);
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

  /// Runs `work`, which queues kernels and copies on this stream. The second time that a key comes,
  /// what is queued is recorded (a CUDA graph); from the third time on the recording is played as
  /// one piece, and `work` runs only for the numbers that it uploads and to show that it would
  /// queue the very same. When it would not, or waits, it runs again and is queued as usual: so it
  /// may run twice and must do the same both times. What is no repetition costs speed alone.
  void repeat(uint64_t key, const std::function<void()>& work);
  /// Steps that were played from a recording so far.
  uint64_t played() const { return played_; }

  /// For who queues on native(): whether to do so now. False where a recording does it, which is
  /// right only if `what` is all that it depends on: kernel, launch shape, arguments.
  template <typename... T>
  bool queues(T... what) {
    if (mode_ != Mode::kQueue) (sign(what), ...);
    return mode_ != Mode::kPlay;
  }
  /// Within repeat(): device memory that has these numbers until it ends. Null elsewhere.
  void* staged(const void* host, size_t bytes);

  /// What the kernels keep for a stream: library handles, counters.
  std::shared_ptr<void> kernel_state;
  /// Rows give the same bits in any batch. Off: products of many rows may take a library's path,
  /// whose order of sums depends on the number of rows (docs/decisions/0005-cuda-kernels.md).
  bool batch_invariant = true;

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

 private:
  enum class Mode : uint8_t { kQueue, kRecord, kPlay };
  struct Recording {
    enum class State : uint8_t { kNew, kSeen, kReady, kNever } state = State::kNew;
    uint64_t signature = 0, used = 0;
    int failures = 0;
    std::shared_ptr<void> graph;
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
  bool run(Mode mode, const std::function<void()>& work);
  bool record(Recording& recording, const std::function<void()>& work);
  bool play_again(Recording& recording, const std::function<void()>& work);
  void drop(Recording& recording);
  void launch(const Recording& recording);
  void forget_oldest();

  Mode mode_ = Mode::kQueue;
  std::unordered_map<uint64_t, Recording> recordings_;
  uint64_t clock_ = 0, played_ = 0, signature_ = 0;
  // Numbers on their way up and down within repeat(), and the device's copy of the former.
  char *up_ = nullptr, *down_ = nullptr;
  Tensor staged_;
  size_t up_used_ = 0, down_used_ = 0;
  std::vector<Landing> landings_;
};

}  // namespace syrinx
