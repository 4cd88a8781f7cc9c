// Measures Qwen3-TTS 0.6B at its published size with random weights: ms for a frame (80 ms of
// audio) of each of B streams on T threads. Reports the fastest run, by the clock and in processor
// time of all threads together.
//   qwen3_tts_bench --benchmark_filter='step/q4/B:1/'
// talker: 28 blocks and code 0, 60 to 200 cached positions; predictor: the other 15 codes; codec:
// chunks of N frames.
#include <time.h>

#include <limits>
#include <memory>
#include <numeric>
#include <string>

#include "bench.h"
#include "codec/qwen3_codec.h"
#include "families/qwen3_tts/state.h"
#include "families/qwen3_tts/talker.h"

namespace syrinx {
namespace {

double seconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Best {
  double wall = std::numeric_limits<double>::max(), cpu = wall;
  template <typename F>
  void time(F f) {
    const double w = seconds(CLOCK_MONOTONIC), c = seconds(CLOCK_PROCESS_CPUTIME_ID);
    f();
    cpu = std::min(cpu, (seconds(CLOCK_PROCESS_CPUTIME_ID) - c) * 1e3);
    wall = std::min(wall, (seconds(CLOCK_MONOTONIC) - w) * 1e3);
  }
};

DecoderConfig blocks(int layers) {
  DecoderConfig d;
  d.layers = layers, d.hidden = 1024, d.heads = 16, d.kv_heads = 8, d.head_dim = 128, d.ffn = 3072;
  d.rope.theta = 1000000;
  d.qk_norm = true;
  return d;
}

/// The language model, without the table and projection of text.
struct Model {
  explicit Model(WeightType type)
      : source(dummy_weights()),
        weights(source.scope("talker")),
        talker(blocks(28), weights.scope("model"), type),
        head(load_linear(weights, "codec_head", 3072, 1024, false, at_least_8_bits(type))),
        predictor(qwen3_tts::load_predictor(
            {predictor_blocks(), 1024, 16, 2048}, weights.scope("code_predictor"),
            weights.scope("model").take("codec_embedding.weight", {3072, 1024}), type)) {}
  static DecoderConfig predictor_blocks() {
    DecoderConfig d = blocks(5);
    d.rope_positions = 17;
    return d;
  }
  Weights source, weights;
  Decoder talker;
  PackedLinear head;
  InnerCodes predictor;
};

/// Returns a model; keeps the last one.
const Model& model(WeightType type) {
  static WeightType last;
  static std::unique_ptr<Model> kept;
  if (!kept || last != type) {
    kept.reset();
    kept = std::make_unique<Model>(type);
    last = type;
  }
  return *kept;
}

void step(benchmark::State& state, WeightType type) {
  constexpr int kFirst = 60, kLast = 200;
  const int b = static_cast<int>(state.range(0));
  bench::Machine machine(static_cast<int>(state.range(1)));
  StepContext& ctx = machine.ctx;
  const Model& m = model(type);
  const auto pages = static_cast<int>(KvPool::pages_for(kLast));
  const KvPool pool(m.talker.config().kv_spec(), int64_t{b} * pages);
  std::vector<int32_t> begin(b + 1), length(b, kFirst), table(static_cast<size_t>(b) * pages);
  std::iota(begin.begin(), begin.end(), 0);
  std::iota(table.begin(), table.end(), 0);
  Tensor x({b, 1024}, DType::kF32), hidden({b, 1024}, DType::kF32), out({b, 3072}, DType::kF32),
      scratch({static_cast<int64_t>(m.predictor.scratch_bytes(b))}, DType::kU8);
  std::vector<int32_t> codes(static_cast<size_t>(b) * 16);
  std::iota(codes.begin(), codes.end(), 1);
  const View all_codes{codes.data(), DType::kI32, {b, 16}};
  View inner = out.view();
  inner.shape = {b, 2048};
  Best outer_ms, inner_ms;
  for (auto _ : state) {
    machine.arena.reset();
    for (int64_t i = 0; i < b * 1024; ++i)
      x.f32()[i] = static_cast<float>(i * 7919 % 1000) / 500 - 1;
    std::fill(length.begin(), length.end(), length[0] < kLast ? length[0] + 1 : kFirst);
    outer_ms.time([&] {
      m.talker.forward(ctx, x, {begin, length, table, pages}, pool);
      m.talker.norm(ctx, x, hidden);
      linear(ctx, m.head, hidden, out);
    });
    inner_ms.time([&] {
      for (int k = 1; k < 16; ++k) m.predictor.logits(ctx, k, hidden, all_codes, scratch, inner);
    });
  }
  state.counters["talker_ms"] = outer_ms.wall / b;
  state.counters["talker_cpu_ms"] = outer_ms.cpu / b;
  state.counters["predictor_ms"] = inner_ms.wall / b;
  state.counters["predictor_cpu_ms"] = inner_ms.cpu / b;
  state.counters["talker_MB"] = static_cast<double>(m.talker.bytes() + m.head.bytes()) / 1e6;
  state.counters["predictor_MB"] = static_cast<double>(m.predictor.bytes()) / 1e6;
}

void codec(benchmark::State& state) {
  bench::Machine machine(static_cast<int>(state.range(1)));
  static const Qwen3Codec network({}, Weights(dummy_weights()), WeightType::kBF16);
  Qwen3CodecState stream = network.open();
  const auto frames = static_cast<size_t>(state.range(0));
  const std::vector<int32_t> codes(frames * 16, 7);
  std::vector<float> out(frames * static_cast<size_t>(network.config().hop()));
  Best best;
  for (auto _ : state) {
    machine.arena.reset();
    const Qwen3CodecJob job{&stream, codes, out};
    best.time([&] { network.run(machine.ctx, std::span(&job, 1)); });
  }
  state.counters["ms"] = best.wall / static_cast<double>(frames);
  state.counters["cpu_ms"] = best.cpu / static_cast<double>(frames);
}

}  // namespace
}  // namespace syrinx

int main(int argc, char** argv) {
  using syrinx::WeightType;
  for (const WeightType type : {WeightType::kQ8, WeightType::kQ8A8, WeightType::kMixed,
                                WeightType::kQ4, WeightType::kBF16}) {
    const std::string name = std::string("step/") + syrinx::weight_type_name(type);
    benchmark::RegisterBenchmark(name.c_str(), syrinx::step, type)
        ->ArgNames({"B", "threads"})
        ->ArgsProduct({{1, 8}, {1, 2}});
  }
  benchmark::RegisterBenchmark("codec", syrinx::codec)
      ->ArgNames({"frames", "threads"})
      ->ArgsProduct({{1, 4}, {1, 2}});
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
