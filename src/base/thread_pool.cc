#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace syrinx {
namespace {

// About 20-50 us of spinning: longer than the gap between two kernels of one step, shorter than
// what a shared core can spare.
constexpr int kSpins = 2000;
// Of the first of its parts, which is an eighth or less of it: a job that takes longer is worth
// waking those who are lent to it.
constexpr std::chrono::microseconds kWorthWaking{10};

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// What is left of a thread's share of a job, in grains: its owner takes from the front, others
/// from the back. So a thread walks through memory in one direction, which is what asking for later
/// weights (kernels/cpu/gemm_tiles.h) counts on, and meets the same weights in every step.
class alignas(64) Share {
 public:
  void set(uint32_t begin, uint32_t end) {
    left_.store(packed(begin, end), std::memory_order_relaxed);
  }
  struct Part {
    uint32_t begin = 0, end = 0;
  };
  /// A 1/`of` of what is left, at least `smallest`; empty where nothing is.
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

/// The jobs of a pool, one at a time, and where its threads sleep. `state` holds the job's number,
/// whether it may still be joined, and how many threads are inside beside the caller: one that
/// wakes too late finds it closed, so nobody ever waits for a sleeper, and the caller waits only
/// for those that really hold a part.
struct Team {
  static constexpr uint64_t kInside = 0xffff, kOpen = 1u << 16, kTicket = 1u << 17;

  int threads = 1;   // the caller and the workers
  size_t first = 0;  // their numbers in the crew begin here, with the caller's
  std::vector<std::thread> workers;

  const FunctionRef<void(int64_t, int64_t)>* body = nullptr;
  int64_t count = 0, grain = 1;
  uint32_t smallest = 1;
  std::vector<Share> shares;  // of every thread of the crew
  std::atomic<uint64_t> state{0};

  // The caller's own, kept because lending and dealing out must not allocate.
  std::vector<uint64_t> seen;  // of each team, the last job that it has met
  std::vector<char> comes;     // of each team, whether it is there for the job

  std::atomic<bool> lent{false};      // the caller is in lend()
  std::atomic<bool> recalled{false};  // and should not be
  std::atomic<bool> stop{false};
  std::atomic<int> asleep{0};
  std::mutex mutex;
  std::condition_variable wake;

  /// Whether its threads may work for others.
  bool free() const { return lent.load() && !recalled.load(); }

  /// True when a job newer than `last` is open and the thread is now counted inside it.
  bool join(uint64_t& last) {
    uint64_t now = state.load(std::memory_order_acquire);
    while ((now & kOpen) && now / kTicket != last) {
      if (state.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) {
        last = now / kTicket;
        return true;
      }
    }
    return false;
  }
  void leave() { state.fetch_sub(1, std::memory_order_release); }
  bool has_newer(uint64_t last) const {
    const uint64_t now = state.load();
    return (now & kOpen) && now / kTicket != last;
  }

  /// Works until nothing of the job is left, or until the team that has lent the thread wants it
  /// back. Parts shrink as a share runs out: few in all, and threads that share their core with
  /// other work still end together.
  void work(size_t own, const Team* lender = nullptr) {
    const auto stays = [lender] { return !lender || lender->free(); };
    Share::Part part;
    while (stays() && (part = shares[own].take(smallest, 4, true)).end > 0) run(part);
    for (size_t i = 1; i < shares.size(); ++i) {
      Share& other = shares[(own + i) % shares.size()];
      while (stays() && (part = other.take(smallest, 2, false)).end > 0) run(part);
    }
  }

  /// The first part of the job, if there is one left.
  void begin(size_t own) {
    const Share::Part part = shares[own].take(smallest, 4, true);
    if (part.end > 0) run(part);
  }

  void wake_all() {
    if (asleep.load() == 0) return;
    { const std::lock_guard lock(mutex); }
    wake.notify_all();
  }

  template <typename Ready>
  void sleep_until(Ready ready) {
    std::unique_lock lock(mutex);
    asleep.fetch_add(1);
    wake.wait(lock, ready);
    asleep.fetch_sub(1);
  }

 private:
  void run(Share::Part part) const {
    (*body)(part.begin * grain, std::min(part.end * grain, count));
  }
};

}  // namespace

struct ThreadPool::Crew {
  std::vector<std::unique_ptr<Team>> teams;
  size_t threads = 0;

  explicit Crew(std::span<const int> sizes) {
    const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    for (const int size : sizes) {
      Team& team = *teams.emplace_back(std::make_unique<Team>());
      team.threads = size > 0 ? size : cores;
      team.first = threads;
      threads += static_cast<size_t>(team.threads);
    }
    for (const auto& team : teams) {
      team->shares = std::vector<Share>(threads);
      team->seen.resize(teams.size());
      team->comes.resize(teams.size());
    }
  }

  /// Takes part in a job of another team; false if there is none that is new.
  bool help_others(const Team& home, size_t number, std::vector<uint64_t>& seen) {
    for (size_t i = 0; i < teams.size(); ++i) {
      Team& other = *teams[i];
      if (&other == &home || !other.join(seen[i])) continue;
      other.work(number, &home);
      other.leave();
      return true;
    }
    return false;
  }

  bool others_have_newer(const Team& home, const std::vector<uint64_t>& seen) const {
    for (size_t i = 0; i < teams.size(); ++i) {
      if (teams[i].get() != &home && teams[i]->has_newer(seen[i])) return true;
    }
    return false;
  }

  /// Whether a job of another team may come at any moment.
  bool others_work(const Team& home) const {
    return std::any_of(teams.begin(), teams.end(), [&](const auto& team) {
      return team.get() != &home && !team->lent.load(std::memory_order_relaxed);
    });
  }

  /// What a worker does until its team stops. `seen` as the caller's; made before the thread, which
  /// allocates nothing.
  void loop(size_t own, size_t number, std::vector<uint64_t>& seen) {
    Team& home = *teams[own];
    for (int spins = 0; !home.stop.load(std::memory_order_relaxed);) {
      if (home.join(seen[own])) {
        home.work(number);
        home.leave();
        spins = 0;
      } else if (home.free() && help_others(home, number, seen)) {
        spins = 0;
      } else if (++spins < kSpins) {
        relax();
      } else {
        home.sleep_until([&] {
          return home.stop.load() || home.has_newer(seen[own]) ||
                 (home.free() && others_have_newer(home, seen));
        });
        spins = 0;
      }
    }
  }

  void lend(Team& home) {
    home.lent.store(true);
    if (others_have_newer(home, home.seen)) home.wake_all();
    for (int spins = 0; !home.recalled.load();) {
      if (help_others(home, home.first, home.seen)) {
        spins = 0;
      } else if (++spins < kSpins && others_work(home)) {
        relax();
      } else {
        home.sleep_until(
            [&] { return home.recalled.load() || others_have_newer(home, home.seen); });
        spins = 0;
      }
    }
    home.lent.store(false);
    home.recalled.store(false);
  }

  bool lent_sleep(const Team& to) const {
    return std::any_of(teams.begin(), teams.end(), [&](const auto& team) {
      return team.get() != &to && team->asleep.load() > 0 && team->free();
    });
  }
  void wake_lent(const Team& to) {
    for (const auto& team : teams) {
      if (team.get() != &to && team->free()) team->wake_all();
    }
  }

  /// A stretch of the job for each thread that is there for it; who comes late takes from others.
  void deal(Team& home, int64_t grains) {
    int64_t there = 0;
    for (size_t i = 0; i < teams.size(); ++i) {
      home.comes[i] = teams[i].get() == &home || teams[i]->free();
      if (home.comes[i]) there += teams[i]->threads;
    }
    home.smallest = static_cast<uint32_t>((grains + 6 * there - 1) / (6 * there));
    int64_t dealt = 0;
    for (size_t i = 0; i < teams.size(); ++i) {
      for (int t = 0; t < teams[i]->threads; ++t) {
        const int64_t next = home.comes[i] ? dealt + 1 : dealt;
        home.shares[teams[i]->first + static_cast<size_t>(t)].set(
            static_cast<uint32_t>(grains * dealt / there),
            static_cast<uint32_t>(grains * next / there));
        dealt = next;
      }
    }
  }
};

ThreadPool::ThreadPool(std::shared_ptr<Crew> crew, size_t own) : crew_(std::move(crew)), own_(own) {
  Team& team = *crew_->teams[own];
  for (int i = 1; i < team.threads; ++i) {
    team.workers.emplace_back([crew = crew_.get(), own,
                               number = team.first + static_cast<size_t>(i),
                               seen = std::vector<uint64_t>(crew_->teams.size())]() mutable {
      crew->loop(own, number, seen);
    });
  }
}

ThreadPool::ThreadPool(int threads)
    : ThreadPool(std::make_shared<Crew>(std::span<const int>(&threads, 1)), 0) {}

ThreadPool::~ThreadPool() {
  Team& team = *crew_->teams[own_];
  {
    const std::lock_guard lock(team.mutex);
    team.stop.store(true);
  }
  team.wake.notify_all();
  for (auto& worker : team.workers) worker.join();
}

std::vector<std::unique_ptr<ThreadPool>> ThreadPool::lenders(std::span<const int> threads) {
  const auto crew = std::make_shared<Crew>(threads);
  std::vector<std::unique_ptr<ThreadPool>> pools;
  for (size_t i = 0; i < threads.size(); ++i) {
    pools.push_back(std::unique_ptr<ThreadPool>(new ThreadPool(crew, i)));
  }
  return pools;
}

int ThreadPool::size() const { return static_cast<int>(crew_->threads); }

void ThreadPool::parallel_for(int64_t count, int64_t grain,
                              FunctionRef<void(int64_t, int64_t)> body) {
  if (count <= 0) return;
  grain = std::max<int64_t>({grain, 1, count >> 31});  // shares count grains in 32 bits
  if (count <= grain || crew_->threads == 1) return body(0, count);

  Team& team = *crew_->teams[own_];
  team.body = &body;
  team.count = count;
  team.grain = grain;
  crew_->deal(team, (count + grain - 1) / grain);
  const uint64_t ticket = team.state.load(std::memory_order_relaxed) / Team::kTicket + 1;
  team.state.store(ticket * Team::kTicket | Team::kOpen);
  team.wake_all();
  if (crew_->lent_sleep(team)) {
    const auto began = std::chrono::steady_clock::now();
    team.begin(team.first);
    if (std::chrono::steady_clock::now() - began > kWorthWaking) crew_->wake_lent(team);
  }
  team.work(team.first);
  team.state.fetch_and(~uint64_t{Team::kOpen}, std::memory_order_acq_rel);
  for (int spins = 0; team.state.load(std::memory_order_acquire) & Team::kInside;) {
    if (++spins < kSpins) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }
}

void ThreadPool::lend() { crew_->lend(*crew_->teams[own_]); }

void ThreadPool::recall() {
  Team& team = *crew_->teams[own_];
  team.recalled.store(true);
  team.wake_all();
}

}  // namespace syrinx
