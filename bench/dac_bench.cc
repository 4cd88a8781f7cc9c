// Measures DAC at 44.1 kHz (Zonos) at its published size with random weights: seconds of one
// thread's processor time for one second of audio of each of `streams` streams, in steps of 8
// frames.
//   dac_bench --benchmark_filter='dac/bf16'
#include <time.h>

#include <limits>
#include <string>

#include "bench.h"
#include "codec/dac.h"

namespace syrinx {
namespace {

double processor_s() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void dac(benchmark::State& state, WeightType type) {
  bench::Machine machine(1);
  const DacCodec codec = load_dac(dac_44khz(), Weights(dummy_weights()), type);
  const auto streams = static_cast<size_t>(state.range(0));
  const int64_t ahead = codec.config().lookahead(), fresh = 8, steps = 11;
  const std::vector<int32_t> codes(static_cast<size_t>((fresh + ahead) * codec.config().codebooks),
                                   7);
  std::vector<float> out(static_cast<size_t>(fresh * codec.config().hop()));
  std::vector<DacCodecState> open;
  for (size_t i = 0; i < streams; ++i) open.push_back(codec.open());
  double best = std::numeric_limits<double>::max();
  for (auto _ : state) {
    const double began = processor_s();
    for (int64_t s = 0; s < steps; ++s) {
      machine.arena.reset();
      std::vector<DacCodecJob> jobs;
      for (DacCodecState& one : open) jobs.push_back({&one, codes, fresh, false, out});
      codec.run(machine.ctx, jobs);
    }
    best = std::min(best, processor_s() - began);
  }
  const double seconds = static_cast<double>(steps * fresh * codec.config().hop()) /
                         static_cast<double>(codec.config().sample_rate);
  state.counters["cpu_s_per_audio_s"] = best / seconds / static_cast<double>(streams);
  state.counters["weights_MB"] = static_cast<double>(codec.bytes()) / 1e6;
}

}  // namespace
}  // namespace syrinx

int main(int argc, char** argv) {
  using syrinx::WeightType;
  for (const WeightType type : {WeightType::kF32, WeightType::kBF16}) {
    benchmark::RegisterBenchmark((std::string("dac/") + syrinx::weight_type_name(type)).c_str(),
                                 syrinx::dac, type)
        ->ArgName("streams")
        ->Arg(1)
        ->Arg(4)
        ->Unit(benchmark::kMillisecond)
        ->Iterations(2);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
