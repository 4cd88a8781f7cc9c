// What the benchmark programs share: a machine with n threads, and names and statistics of rows.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "tensor/context.h"
#include "tensor/testing.h"

namespace syrinx::bench {

/// A pool, an arena and the context over them.
struct Machine {
  explicit Machine(int threads) : pool(threads), ctx{pool, arena} {}
  ThreadPool pool;
  Arena arena;
  StepContext ctx;
};

/// Best of the repetitions: on a shared machine the least disturbed one.
inline void best_of(benchmark::internal::Benchmark* b) {
  b->UseRealTime()
      ->Unit(benchmark::kMicrosecond)
      ->ComputeStatistics("best", [](const std::vector<double>& v) {
        return *std::min_element(v.begin(), v.end());
      });
}

}  // namespace syrinx::bench
