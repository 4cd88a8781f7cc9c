// Measures models with several streams of codes (OpusLM 7B, OpusLM-Dialogue, Bagpiper, Higgs Audio)
// with random weights of their published widths: ms of processor time of one thread for the fastest
// call. The decoder has one in four of its layers; all of them with --whole as the first argument,
// which takes up to 12 GB and a minute or two to load.
//   streams_bench --benchmark_filter='step/opuslm/q8'
// step: a step of speech of each of B streams, its decoder and its heads apart; words: the same of
// words; prompt: a row of a prompt of one stream, 300 at once; codec: a second of audio, in the
// chunks that the model's own policy makes, in bf16.
#include <limits>
#include <string>

#include "bench.h"
#include "families/bagpiper/pipeline.h"
#include "families/higgs/pipeline.h"
#include "families/opuslm/pipeline.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

using bench::keep_best;

constexpr double kNone = std::numeric_limits<double>::max();

struct Model {
  const char* name;
  std::shared_ptr<const Pipeline> (*load)(const LoadSpec&);
  int layers;          // published layers of the decoder
  const char* config;  // the published config, except for the layers
  bool writes = false;
  int share = 4;  ///< published layers for each loaded layer
};

constexpr const char* kOpusIds =
    R"("rms_norm_eps": 1e-5, "max_position_embeddings": 8192, "ssl_token_start": 256,
    "ssl_token_end": 5256, "codec_token_start": 5256, "codec_token_end": 13448,
    "text_token_start": 13448, "nq": 9, "pad_token_id": 0, "eos_token_id": 5,
    "system_prompt_token_id": 8, "user_input_token_id": 9, "assistant_output_token_id": 10,
    "codec_ssl_start_end_token_id": 34, "text_bpe_start_end_token_id": 35,
    "spk_start_end_token_id": 37, "codec_ssl_asr_task_token_id": 80,
    "codec_ssl_tts_task_token_id": 81, "codec_ssl_plain_tts_task_token_id": 82,
    "text_dialogue_task_token_id": 88, "audio_dialogue_task_token_id": 89, )";

constexpr Model kModels[] = {
    {"opuslm", opuslm::load, 32,
     R"("model_type": "opuslm", "vocab_size": 113870, "text_token_end": 113800, "hidden_size": 4096,
     "intermediate_size": 11008, "num_hidden_layers": @, "num_attention_heads": 32,
     "num_key_value_heads": 32, "rope_theta": 5e5})",
     true},
    {"dialogue", opuslm::load, 24,
     R"("model_type": "opuslm_dialogue", "vocab_size": 62670, "text_token_end": 62600,
     "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": @,
     "num_attention_heads": 32, "num_key_value_heads": 32, "rope_theta": 130000})",
     true},
    {"bagpiper", bagpiper::load, 36,
     R"({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "hidden_size": 4096,
     "intermediate_size": 12288, "num_hidden_layers": @, "num_attention_heads": 32,
     "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 32768,
     "rms_norm_eps": 1e-6, "rope_theta": 1e6, "vocab_size": 151936})",
     true},
    {"higgs", higgs::load, 36,
     R"({"model_type": "higgs_multimodal_qwen3", "audio_encoder_config": {"encoder_type": "discrete",
     "num_codebooks": 8, "vocab_size": 1026, "out_dim": 2560, "tie_word_embeddings": true,
     "use_delay_pattern": true}, "text_config": {"model_type": "qwen3", "hidden_size": 2560,
     "intermediate_size": 9728, "num_hidden_layers": @, "num_attention_heads": 32,
     "num_key_value_heads": 8, "head_dim": 128, "rms_norm_eps": 1e-6, "rope_theta": null,
     "max_position_embeddings": 40960, "vocab_size": 151936, "tie_word_embeddings": true}})"},
};

std::shared_ptr<const Pipeline> dummy(const Model& model, WeightType type) {
  const TestDir dir;
  std::string config = model.config;
  config.replace(config.find('@'), 1, std::to_string(model.layers / model.share));
  dir.write("config.json", config.front() == '{' ? config : std::string("{") + kOpusIds + config);
  if (std::string(model.name) == "bagpiper") dir.write(bagpiper::kMarker, "");
  return model.load({.dir = dir.path(), .model = "x", .weights = type, .dummy = true});
}

/// Requests of one model whose prompts have run, stepped together.
class Streams {
 public:
  Streams(const Pipeline& model, int count, bool words, size_t bytes = 1)
      : ar_(model.graph().ar()), width_(ar_.traits().vocab.size()) {
    SpeechRequest request;
    request.terms.ignore_stop = true;
    request.sampling.guidance = 1.f;
    if (words) {
      request.writing.chat =
          std::make_shared<Chat>(Chat{R"([{"role": "user", "content": "a"}])", "", {}});
      request.writing.text_only = true;
    } else {
      request.say.text = std::string(bytes, 'a');
      request.writing.max_tokens = 1;  // tokens of the text before the speech
    }
    // the model has no guidance, not even 1
    if (!model.open(request).ok()) request.sampling.guidance.reset();
    for (int i = 0; i < count; ++i) states_.push_back(model.open(request).take().only());
    pages_ = static_cast<int>(KvPool::pages_for(states_[0]->prompt_rows() + kMostSteps));
    kv_ = KvPool(ar_.traits().kv[0], int64_t{count} * pages_);
    bench::fill_pages(kv_);
    for (int32_t i = 0; i < count * pages_; ++i) table_.push_back(i);
  }

  int prompt_rows() const { return states_[0]->prompt_rows(); }

  /// Runs the due rows, then the codes of a step.
  void step(StepContext& ctx, double& decoder_ms, double& heads_ms) {
    const int rows = cached_ == 0 ? states_[0]->prompt_rows() : 1;
    const int count = static_cast<int>(states_.size());
    std::vector<ArSeq> seqs;
    std::vector<int32_t> begin{0}, length;
    for (const auto& state : states_) {
      seqs.push_back({state.get(), cached_, rows, 1});
      begin.push_back(begin.back() + rows);
      length.push_back(cached_ + rows);
    }
    cached_ += rows;
    const Ragged ragged{begin, length, table_, pages_};
    const ArBatch batch{seqs, begin.back(), count, ragged, std::span(&kv_, 1), {}};
    const View hidden = ctx.arena.take({count, ar_.traits().hidden}, DType::kF32);
    std::vector<View> logits;
    for (const int vocab : ar_.traits().vocab)
      logits.push_back(ctx.arena.take({count, vocab}, DType::kF32));
    keep_best(decoder_ms, [&] { ar_.forward(ctx, batch, hidden); });
    keep_best(heads_ms, [&] {
      for (size_t k = 0; k < width_; ++k)
        ar_.logits(ctx, static_cast<int>(k), batch, hidden, {}, logits[k]);
    });
    for (const auto& state : states_) {
      std::vector<int32_t> codes, frames;
      std::vector<WordMark> words;
      StepOutput output(frames, words);
      for (size_t k = 0; k < width_; ++k)
        codes.push_back(some_choice(state->rule(static_cast<int>(k))));
      state->advance(codes, output);
    }
  }

 private:
  static constexpr int kMostSteps = 64;

  static int32_t some_choice(const SampleRule& rule) {
    if (rule.forced >= 0) return rule.forced;
    return 5 + (rule.ranges > 0 ? rule.allowed[static_cast<size_t>(rule.ranges - 1)].begin : 0);
  }

  const ArStage& ar_;
  const size_t width_;
  std::vector<std::unique_ptr<Sequence>> states_;
  KvPool kv_;
  std::vector<int32_t> table_;
  int cached_ = 0, pages_ = 0;
};

void step(benchmark::State& state, const Model& model, WeightType type, bool words) {
  constexpr int kUntilSpeech = 12;  // steps of words, the turn, and streams that have not begun
  bench::Machine machine(1);
  const auto pipeline = dummy(model, type);
  const auto count = static_cast<int>(state.range(0));
  Streams streams(*pipeline, count, words);
  double unheard = kNone, decoder = kNone, heads = kNone;
  for (int i = 0; i < kUntilSpeech; ++i) {
    machine.arena.reset();
    streams.step(machine.ctx, unheard, unheard);
  }
  for (auto _ : state) {
    machine.arena.reset();
    streams.step(machine.ctx, decoder, heads);
  }
  state.counters["layers"] = model.layers / model.share;
  state.counters["decoder_ms_each"] = decoder / count;
  state.counters["heads_ms_each"] = heads / count;
  state.counters["whole_ms_each"] = (model.share * decoder + heads) / count;
  for (const PartInfo& part : pipeline->info().parts)
    if (part.name == "language model")
      state.counters["lm_MB"] = static_cast<double>(part.bytes) / 1e6;
}

void prompt(benchmark::State& state, const Model& model) {
  constexpr size_t kBytes = 300;  // each byte is an id
  bench::Machine machine(1);
  const auto pipeline = dummy(model, WeightType::kQ8);
  double decoder = kNone, heads = kNone;
  int rows = 0;
  for (auto _ : state) {
    machine.arena.reset();
    Streams streams(*pipeline, 1, false, kBytes);
    rows = streams.prompt_rows();
    streams.step(machine.ctx, decoder, heads);
  }
  state.counters["rows"] = rows;
  state.counters["layers"] = model.layers / model.share;
  state.counters["whole_ms_a_row"] = model.share * decoder / rows;
}

void codec(benchmark::State& state, const Model& model) {
  bench::Machine machine(1);
  const auto pipeline = dummy(model, WeightType::kQ8);
  const Link link = pipeline->graph().links().back();
  const ChunkStage& stage = *link.stage;
  const int fresh = link.policy.steady, ahead = link.policy.lookahead, width = stage.in_width();
  const std::vector<int32_t> codes(static_cast<size_t>((fresh + ahead) * width), 7);
  std::vector<float> out(static_cast<size_t>(fresh * stage.out_width()));
  const auto stream = stage.open({});
  double best = kNone;
  for (auto _ : state) {
    machine.arena.reset();
    ChunkJob job;
    job.state = stream.get();
    job.codes = codes;
    job.fresh = fresh, job.ahead = ahead;
    job.out = out;
    keep_best(best, [&] { stage.run(machine.ctx, std::span(&job, 1)); });
  }
  const PipelineInfo& info = pipeline->info();
  state.counters["cpu_s_per_audio_s"] = 1e-3 * best * info.speech.frame_rate / fresh;
  for (const PartInfo& part : info.parts)
    if (part.name == "codec") state.counters["weights_MB"] = static_cast<double>(part.bytes) / 1e6;
}

}  // namespace
}  // namespace syrinx

int main(int argc, char** argv) {
  using syrinx::WeightType;
  const bool whole = argc > 1 && std::string(argv[1]) == "--whole";
  if (whole) --argc, ++argv;
  for (syrinx::Model model : syrinx::kModels) {
    if (whole) model.share = 1;
    const std::string name = model.name;
    for (const WeightType type : {WeightType::kQ8, WeightType::kQ4}) {
      const std::string what = name + "/" + syrinx::weight_type_name(type);
      for (const int64_t streams : {1, 8}) {
        benchmark::RegisterBenchmark(("step/" + what).c_str(), syrinx::step, model, type, false)
            ->Arg(streams)
            ->Iterations(12);
        if (model.writes && type == WeightType::kQ8)
          benchmark::RegisterBenchmark(("words/" + what).c_str(), syrinx::step, model, type, true)
              ->Arg(streams)
              ->Iterations(12);
      }
    }
    benchmark::RegisterBenchmark(("prompt/" + name).c_str(), syrinx::prompt, model)->Iterations(3);
    benchmark::RegisterBenchmark(("codec/" + name).c_str(), syrinx::codec, model)->Iterations(8);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
