// Helpers of the benchmark programs: a machine with n threads, and names and statistics of rows.
#pragma once

#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/attention.h"
#include "tensor/context.h"

namespace syrinx::bench {

/// A pool, an arena and the context over them.
struct Machine {
  explicit Machine(int threads) : pool(threads), ctx{pool, arena} {}
  ThreadPool pool;
  Arena arena;
  StepContext ctx;
};

/// Returns numbers in [-1, 1), made quickly.
inline Tensor filled(const Shape& shape, uint32_t seed) {
  Tensor t(shape, DType::kF32);
  for (int64_t i = 0; i < shape.count(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    t.f32()[i] = static_cast<float>(static_cast<int32_t>(seed)) * 0x1p-31f;
  }
  return t;
}

/// Writes small numbers into every row: pages that were never written would share one place in the
/// processor's caches.
inline void fill_pages(const KvPool& pool) {
  const size_t bytes = KvPool::page_bytes(pool.spec()) * static_cast<size_t>(pool.pages());
  std::memset(pool.keys(0, 0, 0), 0x11, bytes);
}

/// Returns the processor time of the process so far.
inline double processor_ms() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

/// Keeps the processor time of the fastest call.
template <typename F>
void keep_best(double& best_ms, F f) {
  const double began = processor_ms();
  f();
  best_ms = std::min(best_ms, processor_ms() - began);
}

/// Measures the processor time of an encoder for one second of audio, in ms.
template <typename Encoder>
void encode_once(benchmark::State& state, Machine& machine, const Encoder& encoder, size_t count) {
  std::vector<float> samples(count);
  for (size_t i = 0; i < count; ++i)
    samples[i] = static_cast<float>(i * 7919 % 1000) / 1000.f - 0.5f;
  double best = std::numeric_limits<double>::max();
  for (auto _ : state) {
    machine.arena.reset();
    keep_best(best, [&] { benchmark::DoNotOptimize(encoder.encode(machine.ctx, samples)); });
  }
  state.counters["ms"] = best;
  state.counters["weights_MB"] = static_cast<double>(encoder.bytes()) / 1e6;
}

/// Reports the best of the repetitions: on a shared machine, the least disturbed one.
inline void best_of(benchmark::internal::Benchmark* b) {
  b->UseRealTime()
      ->Unit(benchmark::kMicrosecond)
      ->ComputeStatistics("best", [](const std::vector<double>& v) {
        return *std::min_element(v.begin(), v.end());
      });
}

}  // namespace syrinx::bench
