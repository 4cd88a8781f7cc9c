#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace syrinx {
namespace {

// About 20-50 us of spinning: longer than the gap between two kernels of one step, shorter than
// what a shared core can spare.
constexpr int kSpins = 2000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

// One job at a time. `state` holds the job's number, whether it may still be joined, and how many
// workers are inside: a worker that wakes too late finds it closed, so nobody ever waits for a
// sleeper, and the caller waits only for those that really hold a part.
struct ThreadPool::Impl {
  static constexpr uint64_t kInside = 0xffff, kOpen = 1u << 16, kTicket = 1u << 17;

  std::vector<std::thread> workers;
  const FunctionRef<void(int64_t, int64_t)>* body = nullptr;
  int64_t count = 0, grain = 1, smallest = 1;
  std::atomic<int64_t> next{0};
  std::atomic<uint64_t> state{0};
  std::atomic<int> asleep{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable wake;

  /// Parts shrink as the job runs out: few in all, and threads that share their core with other
  /// work still end together.
  void work() {
    const int64_t share = int64_t{4} * (static_cast<int64_t>(workers.size()) + 1);
    int64_t begin = next.load(std::memory_order_relaxed);
    while (begin < count) {
      const int64_t size = std::max(smallest, (count - begin) / share / grain * grain);
      const int64_t end = std::min(begin + size, count);
      if (next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) {
        (*body)(begin, end);
        begin = next.load(std::memory_order_relaxed);
      }
    }
  }

  /// True when a job newer than `seen` is open and this worker is now counted inside it.
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

  void loop() {
    uint64_t seen = 0;
    for (int spins = 0; !stop.load(std::memory_order_relaxed);) {
      if (join(seen)) {
        work();
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
  if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (int i = 1; i < threads; ++i) impl_->workers.emplace_back([this] { impl_->loop(); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(impl_->mutex);
    impl_->stop.store(true);
  }
  impl_->wake.notify_all();
  for (auto& worker : impl_->workers) worker.join();
}

int ThreadPool::size() const { return static_cast<int>(impl_->workers.size()) + 1; }

void ThreadPool::parallel_for(int64_t count, int64_t grain,
                              FunctionRef<void(int64_t, int64_t)> body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  if (count <= grain || impl_->workers.empty()) return body(0, count);

  Impl& pool = *impl_;
  const int64_t most_parts = int64_t{6} * size(), grains = (count + grain - 1) / grain;
  pool.body = &body;
  pool.count = count;
  pool.grain = grain;
  pool.smallest = (grains + most_parts - 1) / most_parts * grain;
  pool.next.store(0, std::memory_order_relaxed);
  const uint64_t ticket = pool.state.load(std::memory_order_relaxed) / Impl::kTicket + 1;
  pool.state.store(ticket * Impl::kTicket | Impl::kOpen);
  if (pool.asleep.load() > 0) {
    { std::lock_guard lock(pool.mutex); }
    pool.wake.notify_all();
  }
  pool.work();
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
