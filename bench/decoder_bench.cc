// Measures one decode step of a whole transformer stack, and its attention alone: B sequences with
// `context` cached positions each get one more token, final norm and logits included.
//   decoder_bench --benchmark_filter='step/small' --benchmark_repetitions=5
// small: 6 layers, hidden 384, 6 heads of 64, ffn 1024, vocabulary 4096.
// mid: 16 layers, hidden 1024, 16 heads over 8, ffn 3072, vocabulary 30000.
// qwen05: the language model of CosyVoice2: 24 layers, hidden 896, 14 heads over 2, ffn 4864,
// vocabulary 6564.
// qwen7b: Qwen2.5-7B: 28 layers, hidden 3584, 28 heads over 4 of 128, ffn 18944, vocabulary 152064.
// rows/...: a batch of R rows of one sequence, as a prompt (logits of the last row) or as guesses
// that are verified (of each), behind `context` positions.
#include <time.h>

#include <limits>
#include <memory>
#include <numeric>
#include <string>

#include "bench.h"
#include "nn/decoder.h"

namespace syrinx {
namespace {

constexpr int kContext = 500, kTimed = 24;

double seconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// The fastest single step, in ms: wall time, and CPU time of the whole process. On a shared
/// machine, means depend more on other programs than on this one.
struct Best {
  double wall = std::numeric_limits<double>::max(), cpu = wall;
  template <typename F>
  void time(F f) {
    const double w = seconds(CLOCK_MONOTONIC), c = seconds(CLOCK_PROCESS_CPUTIME_ID);
    f();
    cpu = std::min(cpu, (seconds(CLOCK_PROCESS_CPUTIME_ID) - c) * 1e3);
    wall = std::min(wall, (seconds(CLOCK_MONOTONIC) - w) * 1e3);
  }
  void report(benchmark::State& state) const {
    state.counters["best_ms"] = wall;
    state.counters["best_cpu_ms"] = cpu;
  }
};

struct Size {
  const char* name;
  DecoderConfig config;
  int vocabulary;
};

Size small() {
  DecoderConfig c;
  c.layers = 6, c.hidden = 384, c.heads = c.kv_heads = 6, c.head_dim = 64, c.ffn = 1024;
  return {"small", c, 4096};
}

Size mid() {
  DecoderConfig c;
  c.layers = 16, c.hidden = 1024, c.heads = 16, c.kv_heads = 8, c.head_dim = 64, c.ffn = 3072;
  return {"mid", c, 30000};
}

Size qwen05() {
  DecoderConfig c;
  c.layers = 24, c.hidden = 896, c.heads = 14, c.kv_heads = 2, c.head_dim = 64, c.ffn = 4864;
  return {"qwen05", c, 6564};
}

Size qwen7b() {
  DecoderConfig c;
  c.layers = 28, c.hidden = 3584, c.heads = 28, c.kv_heads = 4, c.head_dim = 128, c.ffn = 18944;
  c.rope.theta = 1e6;
  return {"qwen7b", c, 152064};
}

struct Model {
  Decoder decoder;
  PackedLinear head;
};

/// Returns the model, packed once per size and type; keeps the last one.
const Model& model(const Size& size, WeightType type) {
  static std::string name;
  static std::unique_ptr<Model> kept;
  const std::string wanted = std::string(size.name) + weight_type_name(type);
  if (name != wanted) {
    kept.reset();
    const Weights weights(dummy_weights());
    kept = std::make_unique<Model>(
        Model{Decoder(size.config, weights.scope("model"), type),
              load_linear(weights, "lm_head", size.vocabulary, size.config.hidden, false,
                          at_least_8_bits(type))});
    name = wanted;
  }
  return *kept;
}

// B sequences with filled caches, so that all their pages are in memory.
struct Batch {
  Batch(const Size& size, int b, DType dtype, int more = kTimed)
      : pages_each(static_cast<int>(KvPool::pages_for(kContext + more))),
        pool(size.config.kv_spec(dtype), int64_t{b} * pages_each),
        begin(b + 1),
        length(b, kContext),
        table(static_cast<size_t>(b) * pages_each) {
    std::iota(begin.begin(), begin.end(), 0);
    std::iota(table.begin(), table.end(), 0);
    Tensor rows({pages_each * KvPool::kPageRows, size.config.kv_heads * size.config.head_dim},
                DType::kF32);
    for (int64_t i = 0; i < rows.shape().count(); ++i)
      rows.f32()[i] = static_cast<float>(i * 40503 % 2048) / 1024 - 1;
    bench::Machine machine(1);
    const HeadsView heads = all_heads(rows, size.config.kv_heads);
    const std::vector<int32_t> whole{0, static_cast<int32_t>(rows.shape()[0])};
    for (int layer = 0; layer < size.config.layers; ++layer)
      for (int s = 0; s < b; ++s)
        write_kv(machine.ctx, heads, heads, pool, layer,
                 {whole,
                  {whole.data() + 1, 1},
                  {table.data() + s * pages_each, static_cast<size_t>(pages_each)},
                  pages_each});
  }
  /// Returns the next step: lengths grow by one, and start again before the pages end.
  Ragged next() {
    const int32_t now = length[0] < kContext + kTimed ? length[0] + 1 : kContext;
    std::fill(length.begin(), length.end(), now);
    return {begin, length, table, pages_each};
  }
  int pages_each;
  KvPool pool;
  std::vector<int32_t> begin, length, table;
};

void step(benchmark::State& state, const Size& size, WeightType type, DType cache) {
  const int b = static_cast<int>(state.range(0));
  bench::Machine machine(static_cast<int>(state.range(1)));
  const Model& m = model(size, type);
  Batch batch(size, b, cache);
  const int64_t hidden = size.config.hidden;
  Tensor input({b, hidden}, DType::kF32), x({b, hidden}, DType::kF32),
      normed({b, hidden}, DType::kF32), logits({b, size.vocabulary}, DType::kF32);
  for (int64_t i = 0; i < b * hidden; ++i)
    input.f32()[i] = static_cast<float>(i * 7919 % 1000) / 500 - 1;
  Best best;
  for (auto _ : state) {
    best.time([&] {
      machine.arena.reset();
      std::copy_n(input.f32(), b * hidden, x.f32());
      m.decoder.forward(machine.ctx, x, batch.next(), batch.pool);
      m.decoder.norm(machine.ctx, x, normed);
      linear(machine.ctx, m.head, normed, logits);
    });
    benchmark::DoNotOptimize(logits.f32());
  }
  best.report(state);
}

/// Measures rows of one sequence in one batch.
void rows(benchmark::State& state, const Size& size, WeightType type) {
  const int count = static_cast<int>(state.range(0));
  const bool each = state.range(1) != 0;
  bench::Machine machine(static_cast<int>(state.range(2)));
  const Model& m = model(size, type);
  const Batch batch(size, 1, DType::kF16, count);
  const int64_t hidden = size.config.hidden, emits = each ? count : 1;
  const Tensor input = bench::filled({count, hidden}, 7);
  Tensor x({count, hidden}, DType::kF32), normed({emits, hidden}, DType::kF32),
      logits({emits, size.vocabulary}, DType::kF32);
  const std::vector<int32_t> begin{0, count}, length{kContext + count};
  Best best;
  for (auto _ : state) {
    best.time([&] {
      machine.arena.reset();
      std::copy_n(input.f32(), count * hidden, x.f32());
      m.decoder.forward(machine.ctx, x, {begin, length, batch.table, batch.pages_each}, batch.pool);
      m.decoder.norm(machine.ctx, x.view().slice(count - emits, count), normed);
      linear(machine.ctx, m.head, normed, logits);
    });
    benchmark::DoNotOptimize(logits.f32());
  }
  best.report(state);
}

/// Measures only the attention of all layers of one step.
void attention(benchmark::State& state, const Size& size, DType dtype) {
  const int b = static_cast<int>(state.range(0));
  bench::Machine machine(static_cast<int>(state.range(1)));
  const DecoderConfig& c = size.config;
  Batch batch(size, b, dtype);
  const int64_t width = int64_t{c.heads} * c.head_dim;
  Tensor q({b, width}, DType::kF32), out({b, width}, DType::kF32);
  for (int64_t i = 0; i < b * width; ++i)
    q.f32()[i] = static_cast<float>(i * 7919 % 1000) / 500 - 1;
  Best best;
  for (auto _ : state) {
    best.time([&] {
      machine.arena.reset();
      const Ragged ragged = batch.next();
      for (int i = 0; i < c.layers; ++i)
        paged_attention(machine.ctx, all_heads(q, c.heads), batch.pool, i, ragged, {0.125f}, out);
    });
    benchmark::DoNotOptimize(out.f32());
  }
  best.report(state);
}

void all() {
  for (const Size& size : {small(), mid(), qwen05(), qwen7b()}) {
    const std::string name = size.name;
    for (const WeightType type : {WeightType::kQ8, WeightType::kQ8A8, WeightType::kQ4}) {
      auto* b =
          benchmark::RegisterBenchmark(("rows/" + name + "/" + weight_type_name(type)).c_str(),
                                       [=](benchmark::State& state) { rows(state, size, type); });
      bench::best_of(b->ArgNames({"R", "logits", "threads"})
                         ->ArgsProduct({{1, 2, 4, 8, 16, 32, 64, 128}, {0, 1}, {1, 2}}));
    }
    for (const WeightType type :
         {WeightType::kQ8, WeightType::kQ8A8, WeightType::kQ4, WeightType::kBF16}) {
      for (const DType cache : {DType::kF16, DType::kI8}) {
        auto* b = benchmark::RegisterBenchmark(
            ("step/" + name + "/" + weight_type_name(type) + "/kv_" + dtype_name(cache)).c_str(),
            [=](benchmark::State& state) { step(state, size, type, cache); });
        bench::best_of(b->ArgNames({"B", "threads"})->ArgsProduct({{1, 4, 8, 16, 32}, {1, 2}}));
      }
    }
    for (const DType dtype : {DType::kF16, DType::kI8, DType::kBF16, DType::kF32}) {
      auto* b = benchmark::RegisterBenchmark(
          ("attention/" + name + "/" + dtype_name(dtype)).c_str(),
          [size, dtype](benchmark::State& state) { attention(state, size, dtype); });
      bench::best_of(b->ArgNames({"B", "threads"})->ArgsProduct({{1, 8, 32}, {1, 2}}));
    }
  }
}

}  // namespace
}  // namespace syrinx

int main(int argc, char** argv) {
  syrinx::all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
