// Measures Fish Speech S2 Pro with random weights of its published widths: ms of processor time of
// one thread for a frame (46 ms of audio) of each of B streams.
//   fish_bench --benchmark_filter='step/q8'
// step: the slow network with one layer in six (6 of 36), and the nine steps of the whole fast one,
// with the given number of cached positions; codec: chunks of N frames; encoder: one second of
// audio.
#include <limits>
#include <string>

#include "bench.h"
#include "codec/fish_codec.h"
#include "codec/fish_encoder.h"
#include "families/fish_speech/dual_ar.h"
#include "families/fish_speech/script.h"
#include "text/tokens/byte_tokenizer.h"

namespace syrinx {
namespace {

using bench::keep_best;

std::unique_ptr<WeightSource> dummy() {
  return dummy_weights([](const std::string& name) {
    return name.find(".weight_") == name.npos && name.find("parametrizations") == name.npos;
  });
}

fish_speech::ModelConfig scaled() {
  return fish_speech::load_model_config(Config::parse(
      R"({"semantic_start_token_id": 151678, "semantic_end_token_id": 155773, "eos_token_id": 151645,
      "text_config": {"vocab_size": 155776, "n_layer": 6, "n_head": 32, "n_local_heads": 8,
        "head_dim": 128, "dim": 2560, "intermediate_size": 9728, "rope_base": 1000000,
        "norm_eps": 1e-6, "max_seq_len": 32768, "attention_qk_norm": true},
      "audio_decoder_config": {"vocab_size": 4096, "num_codebooks": 10, "n_layer": 4, "n_head": 32,
        "n_local_heads": 8, "head_dim": 128, "dim": 2560, "intermediate_size": 9728,
        "attention_qk_norm": false}})",
      "published"));
}

/// B requests whose prompts have run.
class Streams {
 public:
  Streams(const CodecLm& model, const SpokenModel& spoken, const fish_speech::Prompter& prompter,
          const fish_speech::ModelConfig& config, int count, int64_t past)
      : model_(model), codes_(static_cast<size_t>(count * config.codebooks), 5) {
    SpeechRequest request;
    request.say.text = "a";
    request.terms.ignore_stop = true;
    if (past > 0) {
      const auto codes = static_cast<size_t>(past * config.codebooks);
      request.say.context = {{"0", "a", std::vector<int32_t>(codes, 5)}};
    }
    for (int i = 0; i < count; ++i) {
      auto script = fish_speech::script_of(config, prompter, request);
      states_.push_back(SpokenSequence::open(spoken, std::move(script), request).take().only());
    }
    // Only the last row of a long prompt is run; the cached values of other rows do not matter
    // here.
    if (past > 0) cached_ = states_[0]->prompt_rows() - 1;
    pages_ = static_cast<int>(KvPool::pages_for(states_[0]->prompt_rows() + kMostSteps));
    kv_ = KvPool(model.traits().kv[0], int64_t{count} * pages_);
    bench::fill_pages(kv_);
    table_.resize(static_cast<size_t>(count * pages_));
    for (size_t i = 0; i < table_.size(); ++i) table_[i] = static_cast<int32_t>(i);
  }

  /// Runs the due rows, then the codes of a frame; keeps the best time of each part.
  void step(StepContext& ctx, double& slow_ms, double& fast_ms) {
    const int rows = cached_ == 0 ? states_[0]->prompt_rows() : 1;
    const int count = static_cast<int>(states_.size());
    std::vector<ArSeq> seqs;
    std::vector<int32_t> begin{0}, length;
    for (const auto& state : states_) {
      seqs.push_back({state.get(), cached_, rows, true});
      begin.push_back(begin.back() + rows);
      length.push_back(cached_ + rows);
    }
    const size_t width = model_.traits().vocab.size();
    const View codes{codes_.data(), DType::kI32, {count, static_cast<int64_t>(width)}};
    const auto bytes = static_cast<int64_t>(model_.scratch_bytes(count));
    const ArBatch batch{seqs,
                        begin.back(),
                        count,
                        {begin, length, table_, pages_},
                        std::span(&kv_, 1),
                        ctx.arena.take({bytes}, DType::kU8)};
    const View hidden = ctx.arena.take({count, model_.traits().hidden}, DType::kF32);
    const View first = ctx.arena.take({count, model_.traits().vocab[0]}, DType::kF32);
    const View out = ctx.arena.take({count, model_.traits().vocab[1]}, DType::kF32);
    keep_best(slow_ms, [&] {
      model_.forward(ctx, batch, hidden);
      model_.logits(ctx, 0, batch, hidden, codes, first);
    });
    keep_best(fast_ms, [&] {
      for (size_t k = 1; k < width; ++k)
        model_.logits(ctx, static_cast<int>(k), batch, hidden, codes, out);
    });
    cached_ += rows;
    std::vector<int32_t> frames;
    std::vector<WordMark> words;
    StepOutput output(frames, words);
    for (const auto& state : states_) state->advance(std::span(codes_).first(width), output);
  }

 private:
  static constexpr int kMostSteps = 64;
  const CodecLm& model_;
  std::vector<std::unique_ptr<Sequence>> states_;
  KvPool kv_;
  std::vector<int32_t> table_, codes_;
  int cached_ = 0, pages_ = 0;
};

void step(benchmark::State& state, WeightType type) {
  bench::Machine machine(1);
  fish_speech::ModelConfig config = scaled();
  Tokenizer tokenizer = byte_tokenizer(fish_speech::Prompter::control_words());
  config.end_token = *tokenizer.id("<|im_end|>");
  const fish_speech::Prompter prompter(config, std::move(tokenizer));
  const Weights weights(dummy());
  const auto loaded = fish_speech::load_dual_ar(config, weights, type);
  const CodecLm& model = *loaded;
  const auto count = static_cast<int>(state.range(0));
  const SpokenModel spoken = fish_speech::spoken_model(config);
  Streams streams(model, spoken, prompter, config, count, state.range(1));
  double prompt = std::numeric_limits<double>::max(), first = prompt, slow = prompt, fast = prompt;
  streams.step(machine.ctx, prompt, first);
  for (auto _ : state) {
    machine.arena.reset();
    streams.step(machine.ctx, slow, fast);
  }
  state.counters["slow_of_6_layers_ms"] = slow;
  state.counters["fast_ms"] = fast;
  state.counters["weights_MB"] = static_cast<double>(model.bytes() + model.inner_bytes()) / 1e6;
}

void decoder(benchmark::State& state) {
  bench::Machine machine(1);
  const FishCodec codec({}, Weights(dummy()), WeightType::kBF16);
  FishCodecState stream = codec.open();
  const std::vector<int32_t> codes(static_cast<size_t>(state.range(0)) * 10, 7);
  std::vector<float> out(static_cast<size_t>(state.range(0)) * 2048);
  double best = std::numeric_limits<double>::max();
  for (auto _ : state) {
    machine.arena.reset();
    const FishCodecJob job{&stream, codes, out};
    keep_best(best, [&] { codec.run(machine.ctx, std::span(&job, 1)); });
  }
  state.counters["ms_per_frame"] = best / static_cast<double>(state.range(0));
  state.counters["weights_MB"] = static_cast<double>(codec.bytes()) / 1e6;
  state.counters["MB_per_stream"] = static_cast<double>(codec.state_bytes()) / 1e6;
}

void encoder(benchmark::State& state) {
  bench::Machine machine(1);
  const FishEncoder codec({}, Weights(dummy()));
  bench::encode_once(state, machine, codec, 44100);
}

}  // namespace
}  // namespace syrinx

int main(int argc, char** argv) {
  using syrinx::WeightType;
  for (const WeightType type : {WeightType::kBF16, WeightType::kQ8}) {
    const std::string name = syrinx::weight_type_name(type);
    benchmark::RegisterBenchmark(("step/" + name).c_str(), syrinx::step, type)
        ->Args({1, 0})
        ->Args({8, 0})
        ->Args({1, 1000})
        ->Args({1, 4000})
        ->Args({1, 7000})
        ->Iterations(8);
  }
  benchmark::RegisterBenchmark("codec/bf16", syrinx::decoder)->Arg(1)->Arg(4)->Iterations(10);
  benchmark::RegisterBenchmark("encoder/f32", syrinx::encoder)->Iterations(3);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
