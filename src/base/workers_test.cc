#include "base/workers.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>

namespace syrinx {
namespace {

TEST(Workers, EndAfterTheJobsThatJobsQueue) {
  std::atomic<int> sum = 0;
  {
    std::optional<Workers<std::unique_ptr<int>>> workers;
    workers.emplace(2, [&](std::unique_ptr<int> job) {
      sum += *job;
      if (*job > 1) workers->run(std::make_unique<int>(*job - 1));
    });
    for (int i = 0; i < 100; ++i) workers->run(std::make_unique<int>(3));
  }
  EXPECT_EQ(sum, 100 * 6);
}

TEST(Workers, HaveTheirOwnPriority) {
  std::atomic<int> niceness = -1;
  const int mine = getpriority(PRIO_PROCESS, 0);
  {
    Workers<int> workers(
        1, [&](int) { niceness = getpriority(PRIO_PROCESS, 0); }, 3);
    workers.run(0);
  }
  EXPECT_EQ(niceness, std::min(mine + 3, 19));
}

}  // namespace
}  // namespace syrinx
