#include "engine/executor_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace syrinx {
namespace {

/// Whether two threads meet in one long job of the pool within `patience`.
bool two_meet(ThreadPool& pool, std::chrono::milliseconds patience) {
  std::atomic<int> inside{0};
  const auto caller = std::this_thread::get_id();
  int parts = 0;  // of the caller
  pool.parallel_for(1000, 1, [&](int64_t, int64_t) {
    if (std::this_thread::get_id() != caller) return void(inside = 1);
    if (++parts == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (parts != 2) return;
    const auto until = std::chrono::steady_clock::now() + patience;
    while (inside.load() == 0 && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
    }
  });
  return inside.load() == 1;
}

TEST(ExecutorThread, LendsItsThreadWhileItHasNoBatch) {
  const int sizes[] = {1, 1};
  auto pools = ThreadPool::lenders(sizes);
  EXPECT_FALSE(two_meet(*pools[0], std::chrono::milliseconds(5))) << "nobody is there yet";
  {
    const ExecutorThread idle(std::make_unique<Executor>(std::move(pools[1])), [](Batch*) {});
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(two_meet(*pools[0], std::chrono::seconds(30)));
      std::this_thread::sleep_for(std::chrono::milliseconds(i));  // it may sleep
    }
  }
  EXPECT_FALSE(two_meet(*pools[0], std::chrono::milliseconds(5))) << "it has ended";
}

}  // namespace
}  // namespace syrinx
