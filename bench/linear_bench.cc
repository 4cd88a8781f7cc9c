// Measures linears: [rows, in] times [out, in] for the weight types, cold (copies of the weights in
// turn, 64 MB in all) or warm (one copy), on 1 and 2 threads.
// linear_bench --benchmark_repetitions=7 --benchmark_report_aggregates_only=true
#include "bench.h"
#include "kernels/linear.h"

namespace syrinx {
namespace {

struct LinearCase {
  int64_t out, in;
  WeightType type;
  bool cold;
  bool operator==(const LinearCase&) const = default;
};

/// The weights of one case at a time, because packing takes longer than measuring.
class Store {
 public:
  const std::vector<PackedLinear>& copies(const LinearCase& c) {
    if (!copies_.empty() && c == case_) return copies_;
    copies_.clear();
    case_ = c;
    const Tensor weight = bench::filled({c.out, c.in}, 1);
    constexpr size_t kBeyondCaches = 64u << 20;
    do {
      copies_.push_back(PackedLinear::pack(weight, c.type));
    } while (c.cold && copies_.size() * copies_[0].bytes() < kBeyondCaches);
    return copies_;
  }

 private:
  LinearCase case_{};
  std::vector<PackedLinear> copies_;
};

void run(benchmark::State& state, Store& store, const LinearCase& c, int64_t rows, int threads) {
  bench::Machine machine(threads);
  const std::vector<PackedLinear>& copies = store.copies(c);
  const Tensor x = bench::filled({rows, c.in}, 2);
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

void add(Store& store, const LinearCase& c) {
  for (const int64_t rows : {1, 2, 4, 8, 16, 32, 128, 512}) {
    for (const int threads : {1, 2}) {
      const std::string name = concat(c.cold ? "cold" : "warm", "/", weight_type_name(c.type), "/",
                                      c.out, "x", c.in, "/rows:", rows, "/threads:", threads);
      bench::best_of(benchmark::RegisterBenchmark(
          name.c_str(), [=, &store](benchmark::State& s) { run(s, store, c, rows, threads); }));
    }
  }
}

}  // namespace
}  // namespace syrinx

int main(int argc, char** argv) {
  using syrinx::WeightType;
  syrinx::Store store;
  for (const WeightType type : {WeightType::kF32, WeightType::kBF16, WeightType::kBF16A16,
                                WeightType::kQ8, WeightType::kQ8A8, WeightType::kQ4}) {
    syrinx::add(store, {3072, 1024, type, true});
    syrinx::add(store, {1024, 3072, type, true});
    syrinx::add(store, {1024, 384, type, false});
    syrinx::add(store, {384, 384, type, false});
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
