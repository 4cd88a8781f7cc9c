// Measures the codec of CosyVoice2 and Chatterbox at its published size with random weights: the S3
// flow and the HiFT vocoder, one stream, in seconds of processor time a second of audio.
//   s3_bench --benchmark_filter='flow/q8'
// flow: chunks of one second after `seconds` seconds of prompt and speech; step: the same of
// Step-Audio 2, with a prompt of four seconds; glm: a block of 16 s of GLM-4-Voice after `seconds`
// seconds of the answer, with one step of the solver, ten times (the encoder, which runs once, is a
// five-hundredth); vocoder: one second.
#include <time.h>

#include <limits>
#include <string>

#include "bench.h"
#include "codec/glm_flow.h"
#include "codec/hift.h"
#include "codec/s3_flow.h"

namespace syrinx {
namespace {

double processor_s() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Returns the time of the fastest call.
template <typename F>
void time_calls(benchmark::State& state, F f) {
  double best = std::numeric_limits<double>::max();
  for (auto _ : state) {
    const double began = processor_s();
    f();
    best = std::min(best, processor_s() - began);
  }
  state.counters["cpu_s_per_audio_s"] = best;
}

constexpr auto kQuiet = [](int64_t, std::span<float> out) {
  std::fill(out.begin(), out.end(), 0.1f);
};

void flow(benchmark::State& state, const S3FlowConfig& config, WeightType type) {
  bench::Machine machine(1);
  const S3Flow flow(config, Weights(dummy_weights()), type);
  const auto prompt = config.whole_prompt ? std::vector<int32_t>(100, 7) : std::vector<int32_t>();
  const Tensor heard = bench::filled({std::ssize(prompt) * config.ratio, config.mel}, 2);
  const auto voice = flow.voice(prompt, heard.clone(), std::vector<float>(192, 1.f));
  const std::vector<int32_t> tokens(25, 7);
  std::vector<float> mel;
  const auto begin = [&](int64_t seconds) {
    S3FlowState stream = flow.open(machine.ctx, voice, kQuiet);
    flow.run(machine.ctx, std::span(tokens).first(3), false, kQuiet, stream, mel);  // the lookahead
    for (int64_t i = 0; i < seconds; ++i) {
      flow.run(machine.ctx, tokens, false, kQuiet, stream, mel);
    }
    return stream;
  };
  // For the first stream the system clears the pages; later streams use them again.
  begin(std::min<int64_t>(state.range(0), 15) + static_cast<int64_t>(state.max_iterations));
  S3FlowState stream = begin(state.range(0));
  time_calls(state, [&] {
    machine.arena.reset();
    flow.run(machine.ctx, tokens, false, kQuiet, stream, mel);
    mel.clear();
  });
  state.counters["weights_MB"] = static_cast<double>(flow.bytes()) / 1e6;
  state.counters["MB_per_stream_s"] = static_cast<double>(flow.bytes_per_second()) / 1e6;
}

void glm(benchmark::State& state, WeightType type) {
  constexpr int64_t kBlock = 200, kBlockSeconds = 16;  // codes of a block
  bench::Machine machine(1);
  GlmFlowConfig config;
  const auto steps = static_cast<double>(config.steps);
  config.steps = 1;
  const GlmFlow flow(config, Weights(dummy_weights()), type);
  const int64_t before = state.range(0) * kBlock / kBlockSeconds;
  const std::vector<int32_t> codes(static_cast<size_t>(before + kBlock), 7);
  const std::vector<float> told(static_cast<size_t>(config.frames(before) * config.mel), 0.1f);
  double best = std::numeric_limits<double>::max();
  for (auto _ : state) {
    const double began = processor_s();
    machine.arena.reset();
    flow.run(machine.ctx, codes, told);
    best = std::min(best, processor_s() - began);
  }
  state.counters["cpu_s_per_audio_s"] = best * steps / kBlockSeconds;
}

void vocoder(benchmark::State& state, WeightType type) {
  bench::Machine machine(1);
  const Hift hift({}, Weights(dummy_weights()), type);
  HiftState stream = hift.open();
  const Tensor mel = bench::filled({50, 80}, 1);
  std::vector<float> samples;
  time_calls(state, [&] {
    machine.arena.reset();
    hift.run(machine.ctx, mel, false, kQuiet, stream, samples);
    samples.clear();
  });
  state.counters["weights_MB"] = static_cast<double>(hift.bytes()) / 1e6;
}

}  // namespace
}  // namespace syrinx

int main(int argc, char** argv) {
  using syrinx::WeightType;
  const syrinx::S3FlowConfig cosyvoice;
  for (const WeightType type : {WeightType::kF32, WeightType::kBF16, WeightType::kQ8}) {
    const std::string name = syrinx::weight_type_name(type);
    const auto positions = [](benchmark::internal::Benchmark* b, std::initializer_list<int> args) {
      b->ArgName("seconds")->Unit(benchmark::kMillisecond)->Iterations(2);
      for (const int seconds : args) b->Arg(seconds);
      return b;
    };
    syrinx::S3FlowConfig step;
    step.dit.emplace(), step.whole_prompt = true, step.recent = 100;
    positions(benchmark::RegisterBenchmark(("flow/" + name).c_str(), syrinx::flow, cosyvoice, type),
              {0, 5, 15});
    positions(benchmark::RegisterBenchmark(("step/" + name).c_str(), syrinx::flow, step, type),
              {0, 5, 15, 30, 60, 120});
    positions(benchmark::RegisterBenchmark(("glm/" + name).c_str(), syrinx::glm, type),
              {0, 5, 30, 60, 120})
        ->Iterations(1);
    benchmark::RegisterBenchmark(("vocoder/" + name).c_str(), syrinx::vocoder, type)
        ->Unit(benchmark::kMillisecond)
        ->Iterations(5);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
