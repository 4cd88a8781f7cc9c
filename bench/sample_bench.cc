// Measures the sampling of a batch of rows: time per call, with vocabulary, filters and batch size
// as in real requests.
#include <cmath>
#include <random>
#include <vector>

#include "bench.h"
#include "kernels/sample.h"

namespace syrinx {
namespace {

struct Filter {
  const char* name;
  SampleParams params;
};

void run(benchmark::State& state, const Filter& filter) {
  const int64_t rows = state.range(0), vocabulary = state.range(1);
  bench::Machine machine(1);
  Tensor logits({rows, vocabulary}, DType::kF32);
  std::mt19937 engine(1);
  std::normal_distribution<float> normal(0, 3);
  for (int64_t i = 0; i < rows * vocabulary; ++i) logits.f32()[i] = normal(engine);
  std::vector<int32_t> history(200);
  for (auto& id : history) id = static_cast<int32_t>(engine() % vocabulary);
  std::vector<SampleRow> batch(rows);
  for (int64_t i = 0; i < rows; ++i) {
    batch[i].params = filter.params;
    batch[i].seed = static_cast<uint64_t>(i);
    if (filter.params.repetition_penalty != 1) batch[i].history = history;
  }
  std::vector<int32_t> ids(rows);
  std::vector<SampleStatus> status(rows);
  for (auto _ : state) {
    machine.arena.reset();
    for (SampleRow& row : batch) ++row.step;
    sample(machine.ctx, logits, batch, ids, status);
    benchmark::DoNotOptimize(ids.data());
  }
}

void all() {
  const Filter filters[] = {{"greedy", {0}},
                            {"plain", {0.9f}},
                            {"top_k", {0.9f, 50}},
                            {"top_p", {0.8f, 0, 0.9f}},
                            {"min_p", {1, 0, 1, 0.1f}},
                            {"top_k_penalty", {0.9f, 50, 1, 0, 1.05f}}};
  for (const Filter& filter : filters)
    bench::best_of(
        benchmark::RegisterBenchmark((std::string("sample/") + filter.name).c_str(),
                                     [filter](benchmark::State& state) { run(state, filter); })
            ->ArgNames({"B", "V"})
            ->ArgsProduct({{1, 16}, {2048, 30000, 152000}}));
}

}  // namespace
}  // namespace syrinx

int main(int argc, char** argv) {
  syrinx::all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
