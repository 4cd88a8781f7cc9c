// Measures CSM-1B at its published size with random weights: ms of processor time of one thread for
// a frame (80 ms of audio) of each of B streams.
//   csm_bench --benchmark_filter='step/q8'
// step: the backbone and the 31 steps of the depth decoder, ~60 cached positions; mimi/decoder:
// chunks of N frames; mimi/encoder: one second of audio.
#include <limits>
#include <string>

#include "bench.h"
#include "codec/mimi_encoder.h"
#include "families/csm/backbone.h"
#include "families/csm/script.h"
#include "text/tokens/byte_tokenizer.h"

namespace syrinx {
namespace {

using bench::keep_best;

csm::ModelConfig published() {
  csm::ModelConfig c;
  const auto decoder = [](int layers, int hidden, int heads, int kv_heads) {
    DecoderConfig d;
    d.layers = layers, d.hidden = hidden, d.heads = heads, d.kv_heads = kv_heads;
    d.head_dim = hidden / heads;
    d.ffn = 8192;
    d.rope.theta = 500000;
    return d;
  };
  c.backbone = decoder(16, 2048, 32, 8);
  c.depth = decoder(4, 1024, 8, 2);
  c.code_vocab = 2051;
  c.text_vocab = 128256;
  c.audio_token = 128002;
  c.audio_end_token = 128003;
  return c;
}

/// B requests whose prompts have run.
class Streams {
 public:
  Streams(const CodecLm& backbone, const csm::Frontend& frontend, const csm::ModelConfig& config,
          int count)
      : backbone_(backbone),
        spoken_(csm::spoken_model(config, {})),
        kv_(backbone.traits().kv[0], int64_t{count} * kPages),
        table_(static_cast<size_t>(count) * kPages),
        codes_(static_cast<size_t>(count * config.codebooks), 5) {
    SpeechRequest request;
    request.say.text = std::string(57, 'a');
    for (int i = 0; i < count; ++i) {
      auto opened =
          SpokenSequence::open(spoken_, csm::script_of(config, frontend, request), request);
      states_.push_back(opened.take().only());
    }
    for (size_t i = 0; i < table_.size(); ++i) table_[i] = static_cast<int32_t>(i);
  }

  int rows_due() const { return cached_ == 0 ? states_[0]->prompt_rows() : 1; }
  /// Runs the due rows, then the codes of a frame; keeps the best time of each part.
  void step(StepContext& ctx, double& backbone_ms, double& depth_ms) {
    const int rows = rows_due(), count = static_cast<int>(states_.size());
    std::vector<ArSeq> seqs;
    std::vector<int32_t> begin{0}, length;
    for (const auto& state : states_) {
      seqs.push_back({state.get(), cached_, rows, true});
      begin.push_back(begin.back() + rows);
      length.push_back(cached_ + rows);
    }
    const size_t width = backbone_.traits().vocab.size();
    const View codes{codes_.data(), DType::kI32, {count, static_cast<int64_t>(width)}};
    const auto bytes = static_cast<int64_t>(backbone_.scratch_bytes(count));
    const ArBatch batch{seqs,
                        begin.back(),
                        count,
                        {begin, length, table_, kPages},
                        std::span(&kv_, 1),
                        ctx.arena.take({bytes}, DType::kU8)};
    const View hidden = ctx.arena.take({count, backbone_.traits().hidden}, DType::kF32);
    const View out = ctx.arena.take({count, backbone_.traits().vocab[0]}, DType::kF32);
    keep_best(backbone_ms, [&] {
      backbone_.forward(ctx, batch, hidden);
      backbone_.logits(ctx, 0, batch, hidden, codes, out);
    });
    keep_best(depth_ms, [&] {
      for (size_t k = 1; k < width; ++k) {
        backbone_.logits(ctx, static_cast<int>(k), batch, hidden, codes, out);
      }
    });
    cached_ += rows;
    std::vector<int32_t> frames;
    std::vector<WordMark> words;
    StepOutput output(frames, words);
    for (const auto& state : states_) state->advance(std::span(codes_).first(width), output);
  }

 private:
  static constexpr int kPages = 8;
  const CodecLm& backbone_;
  const SpokenModel spoken_;
  std::vector<std::unique_ptr<Sequence>> states_;
  KvPool kv_;
  std::vector<int32_t> table_, codes_;
  int cached_ = 0;
};

void step(benchmark::State& state, WeightType type) {
  bench::Machine machine(1);
  const csm::ModelConfig config = published();
  const std::string words[] = {csm::Frontend::kBegin, csm::Frontend::kEnd};
  const csm::Frontend frontend(byte_tokenizer(words));
  const Weights weights(dummy_weights([](const std::string&) { return true; }));
  const auto loaded = csm::load_backbone(config, weights, type);
  const CodecLm& backbone = *loaded;
  const auto count = static_cast<int>(state.range(0));
  Streams streams(backbone, frontend, config, count);
  double prompt = std::numeric_limits<double>::max(), first = prompt, outer = prompt,
         inner = prompt;
  streams.step(machine.ctx, prompt, first);
  for (auto _ : state) {
    machine.arena.reset();
    streams.step(machine.ctx, outer, inner);
  }
  state.counters["backbone_ms"] = outer;
  state.counters["depth_ms"] = inner;
  state.counters["prompt_ms"] = prompt;
  state.counters["weights_MB"] =
      static_cast<double>(backbone.bytes() + backbone.inner_bytes()) / 1e6;
  state.counters["audio_s_per_cpu_s"] = 80.0 * count / (outer + inner);
}

void decoder(benchmark::State& state, WeightType type) {
  bench::Machine machine(1);
  const MimiDecoder codec({}, Weights(dummy_weights()), type);
  MimiState stream = codec.open();
  const std::vector<int32_t> codes(static_cast<size_t>(state.range(0)) * 32, 7);
  std::vector<float> out(static_cast<size_t>(state.range(0)) * 1920);
  double best = std::numeric_limits<double>::max();
  for (auto _ : state) {
    machine.arena.reset();
    const MimiJob job{&stream, codes, out};
    keep_best(best, [&] { codec.run(machine.ctx, std::span(&job, 1)); });
  }
  state.counters["ms_per_frame"] = best / static_cast<double>(state.range(0));
  state.counters["weights_MB"] = static_cast<double>(codec.bytes()) / 1e6;
  state.counters["MB_per_stream"] = static_cast<double>(codec.state_bytes()) / 1e6;
}

void encoder(benchmark::State& state) {
  bench::Machine machine(1);
  const MimiEncoder codec({}, Weights(dummy_weights()));
  bench::encode_once(state, machine, codec, 24000);
}

}  // namespace
}  // namespace syrinx

int main(int argc, char** argv) {
  using syrinx::WeightType;
  for (const WeightType type : {WeightType::kBF16, WeightType::kQ8}) {
    const std::string name = syrinx::weight_type_name(type);
    benchmark::RegisterBenchmark(("step/" + name).c_str(), syrinx::step, type)
        ->Arg(1)
        ->Arg(8)
        ->Iterations(10);
  }
  benchmark::RegisterBenchmark("mimi/decoder/bf16", syrinx::decoder, WeightType::kBF16)
      ->Arg(1)
      ->Arg(4)
      ->Arg(8)
      ->Iterations(20);
  benchmark::RegisterBenchmark("mimi/encoder/f32", syrinx::encoder)->Iterations(5);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
