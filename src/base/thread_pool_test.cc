#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace syrinx {
namespace {

TEST(ThreadPool, EveryIndexOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (int64_t count : {0, 1, 7, 64, 1000}) {
      for (int64_t grain : {1, 3, 64}) {
        std::vector<std::atomic<int>> hits(count);
        pool.parallel_for(count, grain, [&](int64_t begin, int64_t end) {
          EXPECT_EQ(begin % grain, 0);
          for (int64_t i = begin; i < end; ++i) hits[i]++;
        });
        for (auto& hit : hits) EXPECT_EQ(hit.load(), 1);
      }
    }
  }
}

TEST(ThreadPool, ManyShortJobsAndSleepsBetween) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum{0};
  for (int round = 0; round < 20000; ++round) {
    pool.parallel_for(8, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    if (round % 2000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  EXPECT_EQ(sum.load(), 160000);
}

TEST(ThreadPool, TakesWhatASlowThreadHasLeft) {
  ThreadPool pool(2);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::atomic<int>> hits(64);
    std::atomic<bool> first{true};
    const auto done = [&] {
      return std::all_of(hits.begin(), hits.end(), [](const auto& hit) { return hit.load() == 1; });
    };
    pool.parallel_for(64, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) hits[i]++;
      if (!first.exchange(false)) return;
      // Whoever comes first stays until the other has done everything else.
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (!done() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
      EXPECT_TRUE(done());
    });
    EXPECT_TRUE(done());
  }
}

TEST(ThreadPool, CountsBeyondThirtyTwoBits) {
  ThreadPool pool(2);
  const int64_t count = (int64_t{1} << 34) + 5;
  std::atomic<int64_t> sum{0}, last{0};
  pool.parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    sum += end - begin;
    if (end == count) last++;
  });
  EXPECT_EQ(sum.load(), count);
  EXPECT_EQ(last.load(), 1);
}

/// A thread that lends its pool until it is told to end.
class Lender {
 public:
  explicit Lender(ThreadPool& pool)
      : pool_(pool), thread_([this] {
          while (!stop_.load()) pool_.lend(), ++returned_;
        }) {}
  ~Lender() {
    stop_.store(true);
    pool_.recall();
    thread_.join();
  }
  int returned() const { return returned_.load(); }

 private:
  ThreadPool& pool_;
  std::atomic<bool> stop_{false};
  std::atomic<int> returned_{0};
  std::thread thread_;
};

template <typename F>
bool soon(F&& f) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!f()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

/// How many threads meet in one long job of the pool: each stays in a part until `expected` have
/// come or its patience is over, the caller in its second, because the first one is what tells that
/// the job is long.
int threads_in_a_job(ThreadPool& pool, int expected, std::chrono::milliseconds patience) {
  static std::atomic<int> jobs{0};
  const int job = ++jobs;
  std::atomic<int> inside{0};
  const auto caller = std::this_thread::get_id();
  bool begun = false;
  pool.parallel_for(1000, 1, [&](int64_t, int64_t) {
    static thread_local int met = 0;
    if (met == job) return;
    if (std::this_thread::get_id() == caller && !begun) {
      begun = true;
      return std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    met = job;
    ++inside;
    const auto until = std::chrono::steady_clock::now() + patience;
    while (inside.load() < expected && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
    }
  });
  return inside.load();
}

TEST(ThreadPool, LendsItsThreadsWhileItsCallerHasNothingToDo) {
  const int sizes[] = {1, 2};
  const auto pools = ThreadPool::lenders(sizes);
  EXPECT_EQ(pools[0]->size(), 3);
  // Nobody lends: the worker of the other pool waits for jobs of its own.
  EXPECT_EQ(threads_in_a_job(*pools[0], 2, std::chrono::milliseconds(20)), 1);
  {
    const Lender lender(*pools[1]);
    EXPECT_EQ(threads_in_a_job(*pools[0], 3, std::chrono::seconds(30)), 3);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // they sleep
    EXPECT_EQ(threads_in_a_job(*pools[0], 3, std::chrono::seconds(30)), 3);
  }
  EXPECT_EQ(threads_in_a_job(*pools[0], 2, std::chrono::milliseconds(20)), 1);
}

TEST(ThreadPool, WorkersOfAPoolThatIsNotLentStay) {
  const int sizes[] = {1, 2};
  const auto pools = ThreadPool::lenders(sizes);
  std::atomic<bool> stop{false};
  std::thread busy([&] {  // keeps its worker awake
    while (!stop.load()) pools[1]->parallel_for(100, 1, [](int64_t, int64_t) {});
  });
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(threads_in_a_job(*pools[0], 2, std::chrono::milliseconds(10)), 1);
  }
  stop.store(true);
  busy.join();
}

TEST(ThreadPool, ALoanBeginsInTheMiddleOfAJob) {
  const int sizes[] = {1, 2};
  const auto pools = ThreadPool::lenders(sizes);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the worker sleeps
  std::atomic<bool> done{false};
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const Lender lender(*pools[1]);
    while (!done.load()) std::this_thread::yield();
  });
  EXPECT_EQ(threads_in_a_job(*pools[0], 3, std::chrono::seconds(10)), 3);
  done.store(true);
  later.join();
}

TEST(ThreadPool, RecallEndsALoanInTheMiddleOfAJob) {
  const int sizes[] = {1, 1};
  const auto pools = ThreadPool::lenders(sizes);
  for (int round = 0; round < 20; ++round) {
    const Lender lender(*pools[1]);
    const auto caller = std::this_thread::get_id();
    std::atomic<bool> helped{false}, recalled{false};
    int parts = 0;  // of the caller
    std::atomic<int> late{0};
    pools[0]->parallel_for(100000, 1, [&](int64_t, int64_t) {
      if (std::this_thread::get_id() != caller) {
        if (recalled.load()) ++late;
        helped = true;
        EXPECT_TRUE(soon([&] { return recalled.load(); }));
      } else if (++parts == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // a long job
      } else if (parts == 2) {
        EXPECT_TRUE(soon([&] { return helped.load(); })) << "nobody helps";
        const int before = lender.returned();
        pools[1]->recall();
        recalled = true;
        EXPECT_TRUE(soon([&] { return lender.returned() > before; }));
      }
    });
    EXPECT_EQ(late.load(), 0) << "kept after the part that it was at";
  }
}

TEST(ThreadPool, ARecallThatComesFirstIsKept) {
  const int sizes[] = {1, 1};
  const auto pools = ThreadPool::lenders(sizes);
  pools[1]->recall();
  pools[1]->lend();  // returns
}

TEST(ThreadPool, PoolsThatLendDoEverythingOnce) {
  const int sizes[] = {1, 2, 1};
  const auto pools = ThreadPool::lenders(sizes);
  std::vector<std::thread> callers;
  std::atomic<bool> stop{false};
  std::atomic<int> working{static_cast<int>(pools.size())};
  for (size_t p = 0; p < pools.size(); ++p) {
    callers.emplace_back([&, p] {
      for (int round = 0; round < 300; ++round) {
        const int64_t count = 1 + (round * 37 + static_cast<int64_t>(p) * 11) % 500;
        std::vector<std::atomic<int>> hits(count);
        pools[p]->parallel_for(count, 1 + round % 3, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) hits[i]++;
        });
        for (auto& hit : hits) ASSERT_EQ(hit.load(), 1);
        if (round % 10 == 0) pools[p]->lend();
      }
      --working;
      while (!stop.load()) pools[p]->lend();
    });
  }
  // Loans end at any moment.
  while (working.load() > 0) {
    for (const auto& pool : pools) pool->recall();
    std::this_thread::yield();
  }
  stop.store(true);
  for (const auto& pool : pools) pool->recall();
  for (auto& caller : callers) caller.join();
}

}  // namespace
}  // namespace syrinx
