// Measures VoxCPM2 with random weights of its published widths: ms of processor time of one thread
// for a patch (160 ms of audio) of each of B streams, fastest call.
//   voxcpm2_bench --benchmark_filter='tail/q8'
// tail: the local transformer with its solver, guided, and the local encoder of the patch; step:
// the language models with one layer in four (7 of 28 and 2 of 8), and the given number of cached
// positions; vae: chunks of N patches.
#include <limits>
#include <string>

#include "bench.h"
#include "codec/audio_vae.h"
#include "families/voxcpm2/latent_lm.h"
#include "nn/stream_pass.h"

namespace syrinx {
namespace {

using bench::keep_best;

std::unique_ptr<WeightSource> dummy() {
  return dummy_weights([](const std::string& name) { return name.find(".weight_") == name.npos; });
}

voxcpm2::ModelConfig published() {
  voxcpm2::ModelConfig m;
  DecoderConfig& d = m.base;
  d.layers = 28, d.hidden = 2048, d.heads = 16, d.kv_heads = 2, d.head_dim = 128, d.ffn = 6144;
  d.norm_eps = 1e-5f;
  m.residual = m.encoder = d;
  m.residual.layers = 8;
  m.residual.rotary = false;
  m.encoder.layers = 12, m.encoder.hidden = 1024, m.encoder.ffn = 4096;
  m.encoder.causal = false;
  m.dit = m.encoder;
  m.vocab = 1000;
  m.max_positions = 512;
  m.fsq_width = 512;
  return m;
}

void tail(benchmark::State& state, WeightType type) {
  bench::Machine machine(1);
  const voxcpm2::ModelConfig config = published();
  const Weights weights(dummy());
  const voxcpm2::LocalDit dit(config, weights, type);
  const voxcpm2::LocalEncoder encoder(config, weights, type);
  const int64_t count = state.range(0), size = config.patch_width();
  const std::vector<float> noise(static_cast<size_t>(size), 0.5f);
  const std::vector<voxcpm2::PatchJob> jobs(static_cast<size_t>(count), {noise, noise, 2});
  Tensor hidden({count, 2 * config.base.hidden}, DType::kF32);
  const Tensor out({count, size}, DType::kF32), row({count, config.base.hidden}, DType::kF32);
  std::fill_n(hidden.f32(), hidden.view().count(), 0.1f);
  double solver = std::numeric_limits<double>::max(), local = solver;
  for (auto _ : state) {
    machine.arena.reset();
    keep_best(solver, [&] { dit.run(machine.ctx, jobs, hidden, out); });
    keep_best(local, [&] { encoder.run(machine.ctx, out, row); });
  }
  const auto streams = static_cast<double>(count);
  state.counters["solver_ms_each"] = solver / streams;
  state.counters["encoder_ms_each"] = local / streams;
  state.counters["weights_MB"] = static_cast<double>(dit.bytes() + encoder.bytes()) / 1e6;
}

void step(benchmark::State& state, WeightType type) {
  bench::Machine machine(1);
  voxcpm2::ModelConfig config = published();
  config.base.layers /= 4, config.residual.layers /= 4;
  const Weights weights(dummy());
  const Decoder base(config.base, weights.scope("base_lm"), type);
  const Decoder residual(config.residual, weights.scope("residual_lm"), type);
  const int64_t count = state.range(0);
  const auto cached = static_cast<int32_t>(state.range(1));
  const auto pages = static_cast<int>(KvPool::pages_for(cached));
  KvSpec spec = config.base.kv_spec();
  spec.layers += config.residual.layers;
  const KvPool pool(spec, count * pages);
  bench::fill_pages(pool);
  std::vector<int32_t> begin{0}, length, table;
  for (int32_t i = 0; i < count; ++i) {
    begin.push_back(i + 1), length.push_back(cached);
    for (int32_t page = 0; page < pages; ++page) table.push_back(i * pages + page);
  }
  const Tensor x({count, config.base.hidden}, DType::kF32);
  double both = std::numeric_limits<double>::max();
  for (auto _ : state) {
    machine.arena.reset();
    std::fill_n(x.f32(), x.view().count(), 0.1f);
    keep_best(both, [&] {
      base.forward(machine.ctx, x, {begin, length, table, pages}, pool);
      residual.forward(machine.ctx, x, {begin, length, table, pages}, pool, config.base.layers);
    });
  }
  state.counters["of_9_layers_ms_each"] = both / static_cast<double>(count);
  state.counters["weights_MB"] = static_cast<double>(base.bytes() + residual.bytes()) / 1e6;
}

void vae(benchmark::State& state) {
  bench::Machine machine(1);
  const AudioVaeDecoder decoder({}, Weights(dummy()), WeightType::kBF16);
  const int64_t patches = state.range(0), frames = patches * 4;
  const std::vector<float> latents(static_cast<size_t>(frames * decoder.config().latent), 0.3f);
  std::vector<float> out(static_cast<size_t>(frames * decoder.config().decoder_hop()));
  AudioVaeState stream = decoder.open();
  const AudioVaeJob job{&stream, latents, out};
  double best = std::numeric_limits<double>::max();
  for (auto _ : state) {
    machine.arena.reset();
    keep_best(best, [&] { decoder.run(machine.ctx, std::span(&job, 1)); });
  }
  state.counters["ms_a_patch"] = best / static_cast<double>(patches);
  state.counters["weights_MB"] = static_cast<double>(decoder.bytes()) / 1e6;
  state.counters["state_MB"] = static_cast<double>(decoder.state_bytes()) / 1e6;
}

}  // namespace

}  // namespace syrinx

int main(int argc, char** argv) {
  for (const int64_t streams : {1, 8}) {
    benchmark::RegisterBenchmark("tail/q8", syrinx::tail, syrinx::WeightType::kQ8)
        ->Arg(streams)
        ->Iterations(4);
    for (const int64_t cached : {60, 1000, 3000, 6000})
      benchmark::RegisterBenchmark("step/q8", syrinx::step, syrinx::WeightType::kQ8)
          ->Args({streams, cached})
          ->Iterations(6);
  }
  for (const int64_t streams : {1, 8})
    benchmark::RegisterBenchmark("tail/q8a8", syrinx::tail, syrinx::WeightType::kQ8A8)
        ->Arg(streams)
        ->Iterations(4);
  benchmark::RegisterBenchmark("vae/bf16", syrinx::vae)->Arg(1)->Arg(2)->Iterations(4);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
