#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <system_error>
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
      // The first thread keeps its part until the other thread has done all other parts.
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

/// Runs in a process whose address space is too small for the stacks of all threads.
[[noreturn]] void make_too_many() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t room = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (rlim_t{64} << 20);
  const rlimit limit{room, room};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(2);
  try {
    const ThreadPool pool(4096);
  } catch (const std::system_error&) {
    ::_exit(0);
  }
  ::_exit(1);
}

TEST(ThreadPoolDeathTest, AThreadThatCannotBeMadeIsAFaultAndNoEnd) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need more address space than there is";
#endif
  EXPECT_EXIT(make_too_many(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace syrinx
