// Linears: [rows, in] times [out, in] for the weight types, cold (copies of the weights in turn,
// 96 MB in all) or warm (one copy), on 1 and 2 threads.
// linear_bench --benchmark_repetitions=7 --benchmark_report_aggregates_only=true
#include "bench.h"
#include "kernels/linear.h"

namespace syrinx {
namespace {

struct LinearCase {
  int64_t out, in;
  WeightType type;
  bool cold;
};

void run(benchmark::State& state, const LinearCase& c, int64_t rows, int threads) {
  bench::Machine machine(threads);
  const Tensor weight = testing::random_tensor({c.out, c.in}, 1);
  std::vector<PackedLinear> copies(1);
  copies[0] = PackedLinear::pack(weight, c.type);
  constexpr size_t kBeyondCaches = 96u << 20;
  while (c.cold && copies.size() * copies[0].bytes() < kBeyondCaches) {
    copies.push_back(PackedLinear::pack(weight, c.type));
  }
  const Tensor x = testing::random_tensor({rows, c.in}, 2);
  Tensor out({rows, c.out}, DType::kF32);
  size_t turn = 0;
  for (auto _ : state) {
    linear(machine.ctx, copies[turn], x, out);
    turn = (turn + 1) % copies.size();
    machine.arena.reset();
  }
  state.counters["MFLOP"] = 2e-6 * static_cast<double>(rows * c.out * c.in);
  state.counters["MB"] = 1e-6 * static_cast<double>(copies[0].bytes());
}

void add(const LinearCase& c) {
  for (const int64_t rows : {1, 2, 4, 8, 16, 32, 128, 512}) {
    for (const int threads : {1, 2}) {
      const std::string name = concat(c.cold ? "cold" : "warm", "/", weight_type_name(c.type), "/",
                                      c.out, "x", c.in, "/rows:", rows, "/threads:", threads);
      bench::best_of(benchmark::RegisterBenchmark(
          name.c_str(), [=](benchmark::State& state) { run(state, c, rows, threads); }));
    }
  }
}

}  // namespace
}  // namespace syrinx

int main(int argc, char** argv) {
  using syrinx::WeightType;
  for (const WeightType type : {WeightType::kF32, WeightType::kBF16, WeightType::kQ8}) {
    syrinx::add({3072, 1024, type, true});
    syrinx::add({1024, 3072, type, true});
    syrinx::add({1024, 384, type, false});
    syrinx::add({384, 384, type, false});
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
