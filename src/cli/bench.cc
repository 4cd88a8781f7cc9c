#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cli/commands.h"

namespace syrinx {
namespace {

struct Results {
  std::vector<double> first_audio_ms;
  double audio_s = 0, max_underrun_s = 0;
  int64_t underruns = 0;
  std::string failure;
};

/// One stream: its requests one after another, each with a seed of its own.
void run_stream(Engine& engine, const BenchOptions& options, int stream, Results& results,
                std::mutex& mutex) {
  for (int i = 0; i < options.repeats; ++i) {
    SpeechRequest request = options.request;
    request.seed += static_cast<uint64_t>(stream * options.repeats + i);
    const auto collector = std::make_shared<Collector>();
    const Result<RequestId> id = engine.submit(request, collector);
    Outcome outcome;
    if (id) {
      outcome = collector->wait();
    } else {
      outcome.reason = FinishReason::kError;
      outcome.error = id.error();
    }
    const std::lock_guard lock(mutex);
    if (outcome.reason == FinishReason::kError) results.failure = outcome.error.message;
    results.first_audio_ms.push_back(1e3 * outcome.first_audio_s);
    results.audio_s += outcome.audio_s;
    results.underruns += outcome.underruns;
    results.max_underrun_s = std::max(results.max_underrun_s, outcome.max_underrun_s);
  }
}

/// p in [0, 1]; nearest rank.
double percentile(std::vector<double>& values, double p) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(p * static_cast<double>(values.size() - 1) + 0.5);
  return values[rank];
}

}  // namespace

int run_bench(const BenchOptions& options) {
  const std::unique_ptr<Engine> engine = load_engine(options.load);
  Results results;
  std::mutex mutex;
  const double began_s = now_s();
  std::vector<std::thread> streams;
  for (int i = 0; i < options.streams; ++i) {
    streams.emplace_back([&, i] { run_stream(*engine, options, i, results, mutex); });
  }
  for (std::thread& stream : streams) stream.join();
  const double wall_s = now_s() - began_s;
  if (!results.failure.empty()) throw LoadError(results.failure);
  std::printf("%d streams, %zu requests, %.2f s of audio in %.2f s: %.1f s of audio a second\n",
              options.streams, results.first_audio_ms.size(), results.audio_s, wall_s,
              results.audio_s / wall_s);
  const double p50_ms = percentile(results.first_audio_ms, 0.5);
  std::printf("first audio p50 %.0f ms, p95 %.0f ms; underruns %lld, the longest %.0f ms\n", p50_ms,
              percentile(results.first_audio_ms, 0.95), static_cast<long long>(results.underruns),
              1e3 * results.max_underrun_s);
  return 0;
}

}  // namespace syrinx
