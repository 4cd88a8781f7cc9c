#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/cores.h"

namespace syrinx {
namespace {

// About 20-50 us of spinning. This is longer than the gap between two kernels of a step, and short
// enough for a core that other processes share.
constexpr int kSpins = 2000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // YIELD has no effect on most of these processors
#else
  std::this_thread::yield();
#endif
}

/// The remaining part of a thread's share of a job, in grains. Its owner takes parts from the
/// front, other threads from the back. Thus a thread reads memory in one direction, as prefetching
/// of weights (kernels/cpu/gemm_tiles.h) needs, and reads the same weights in every step.
class alignas(64) Share {
 public:
  void set(uint32_t begin, uint32_t end) {
    left_.store(packed(begin, end), std::memory_order_relaxed);
  }
  struct Part {
    uint32_t begin = 0, end = 0;
  };
  /// Takes 1/`of` of the remaining grains, at least `smallest`; empty if none remain.
  Part take(uint32_t smallest, uint32_t of, bool front) {
    uint64_t now = left_.load(std::memory_order_relaxed);
    while (true) {
      const auto begin = static_cast<uint32_t>(now >> 32), end = static_cast<uint32_t>(now);
      if (begin >= end) return {};
      const uint32_t size = std::min(std::max(smallest, (end - begin) / of), end - begin);
      const Part part = front ? Part{begin, begin + size} : Part{end - size, end};
      const uint64_t rest = front ? packed(part.end, end) : packed(begin, part.begin);
      if (left_.compare_exchange_weak(now, rest, std::memory_order_relaxed)) return part;
    }
  }

 private:
  static uint64_t packed(uint32_t begin, uint32_t end) { return uint64_t{begin} << 32 | end; }
  std::atomic<uint64_t> left_{0};
};

}  // namespace

// Runs one job at a time. `state` has the job's number, whether threads may still join it, and how
// many worker threads are in it. A worker thread that wakes too late finds the job closed.
// Therefore no thread waits for a sleeping one, and the caller waits only for threads that have a
// part.
struct ThreadPool::Impl {
  static constexpr uint64_t kInside = 0xffff, kOpen = 1u << 16, kTicket = 1u << 17;

  std::vector<std::thread> workers;
  const FunctionRef<void(int64_t, int64_t)>* body = nullptr;
  int64_t count = 0, grain = 1;
  uint32_t smallest = 1;
  std::vector<Share> shares;  // first the caller's share, then the worker threads'
  std::atomic<uint64_t> state{0};
  std::atomic<int> asleep{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable wake;

  /// Called even if not all threads could be started.
  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stop.store(true);
    }
    wake.notify_all();
    for (auto& worker : workers) worker.join();
  }

  void run(Share::Part part) const {
    (*body)(part.begin * grain, std::min(part.end * grain, count));
  }

  /// Runs parts of all shares. Parts become smaller towards the end of a share. Thus parts are few,
  /// and threads end at about the same time even if some cores are busy.
  void work(size_t own) {
    Share::Part part;
    while ((part = shares[own].take(smallest, 4, true)).end > 0) run(part);
    for (size_t i = 1; i < shares.size(); ++i) {
      Share& other = shares[(own + i) % shares.size()];
      while ((part = other.take(smallest, 2, false)).end > 0) run(part);
    }
  }

  /// Returns true if a job newer than `seen` is open; this worker thread is then counted in it.
  bool join(uint64_t& seen) {
    uint64_t now = state.load(std::memory_order_acquire);
    while ((now & kOpen) && now / kTicket != seen) {
      if (state.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) {
        seen = now / kTicket;
        return true;
      }
    }
    return false;
  }

  bool something_to_do(uint64_t seen) const {
    const uint64_t now = state.load();
    return stop.load() || ((now & kOpen) && now / kTicket != seen);
  }

  void loop(size_t own) {
    uint64_t seen = 0;
    for (int spins = 0; !stop.load(std::memory_order_relaxed);) {
      if (join(seen)) {
        work(own);
        state.fetch_sub(1, std::memory_order_release);
        spins = 0;
      } else if (++spins < kSpins) {
        relax();
      } else {
        std::unique_lock lock(mutex);
        asleep.fetch_add(1);
        wake.wait(lock, [&] { return something_to_do(seen); });
        asleep.fetch_sub(1);
        spins = 0;
      }
    }
  }
};

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>()) {
  if (threads <= 0) threads = usable_cores();
  impl_->shares = std::vector<Share>(static_cast<size_t>(threads));
  // A worker thread that begins late must not read impl_: the destructor of libc++ empties it
  // first.
  Impl* const pool = impl_.get();
  for (int i = 1; i < threads; ++i) pool->workers.emplace_back([pool, i] { pool->loop(i); });
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::size() const { return static_cast<int>(impl_->workers.size()) + 1; }

void ThreadPool::parallel_for(int64_t count, int64_t grain,
                              FunctionRef<void(int64_t, int64_t)> body) {
  if (count <= 0) return;
  grain = std::max<int64_t>({grain, 1, count >> 31});  // shares count grains in 32 bits
  if (count <= grain || impl_->workers.empty()) return body(0, count);

  Impl& pool = *impl_;
  const int64_t grains = (count + grain - 1) / grain, threads = size();
  pool.body = &body;
  pool.count = count;
  pool.grain = grain;
  pool.smallest = static_cast<uint32_t>((grains + 6 * threads - 1) / (6 * threads));
  for (int64_t i = 0; i < threads; ++i) {
    pool.shares[i].set(static_cast<uint32_t>(grains * i / threads),
                       static_cast<uint32_t>(grains * (i + 1) / threads));
  }
  const uint64_t ticket = pool.state.load(std::memory_order_relaxed) / Impl::kTicket + 1;
  pool.state.store(ticket * Impl::kTicket | Impl::kOpen);
  if (pool.asleep.load() > 0) {
    { std::lock_guard lock(pool.mutex); }
    pool.wake.notify_all();
  }
  pool.work(0);
  pool.state.fetch_and(~uint64_t{Impl::kOpen}, std::memory_order_acq_rel);
  for (int spins = 0; pool.state.load(std::memory_order_acquire) & Impl::kInside;) {
    if (++spins < kSpins) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace syrinx
