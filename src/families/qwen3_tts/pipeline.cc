#include "families/qwen3_tts/pipeline.h"

#include "families/qwen3_tts/state.h"
#include "io/file.h"
#include "text/byte_tokenizer.h"

namespace syrinx::qwen3_tts {
namespace {

/// Convolutions of a chunk cost the same per frame whatever its size; a step of the talker is worth
/// 80 ms of audio, so a second chunk of 4 frames leaves the executor to the talker most of the
/// time.
constexpr ChunkPolicy kPolicy{1, 4, 0, 0};

struct CodecStream : StreamState {
  explicit CodecStream(Qwen3CodecState fresh) : state(std::move(fresh)) {}
  Qwen3CodecState state;
};

std::unique_ptr<WeightSource> source(const LoadSpec& spec, const std::string& dir) {
  return spec.dummy ? dummy_weights() : open_weights(dir);
}

Tokenizer tokenizer(const LoadSpec& spec, const ModelConfig& config) {
  const bool none = !is_file(join_path(spec.dir, "vocab.json")) &&
                    !is_file(join_path(spec.dir, "tokenizer.json"));
  const std::string role[] = {"assistant"};
  if (spec.dummy && none && config.text_vocab >= byte_ids(role)) return byte_tokenizer(role);
  return Tokenizer::load(spec.dir);
}

/// Of the published size when random weights are measured and there is no config.
Qwen3CodecConfig codec_config(const LoadSpec& spec, const std::string& dir) {
  const std::string path = join_path(dir, "config.json");
  if (spec.dummy && !is_file(path)) return {};
  return Qwen3CodecConfig::load(Config::load(path));
}

std::string shape_of(const DecoderConfig& d) {
  return std::to_string(d.layers) + " layers, width " + std::to_string(d.hidden) + ", heads " +
         std::to_string(d.heads) + "/" + std::to_string(d.kv_heads) + " x " +
         std::to_string(d.head_dim) + ", ffn " + std::to_string(d.ffn);
}

}  // namespace

std::unique_ptr<StreamState> CodecStage::open(const RequestState&) const {
  return std::make_unique<CodecStream>(codec_.open());
}

void CodecStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  Arena::Mark mark(ctx.arena);
  const auto count = static_cast<int64_t>(jobs.size() * sizeof(Qwen3CodecJob));
  auto* first = static_cast<Qwen3CodecJob*>(ctx.arena.take({count}, DType::kU8).data);
  const size_t width = static_cast<size_t>(in_width());
  for (size_t i = 0; i < jobs.size(); ++i) {
    const ChunkJob& job = jobs[i];
    new (first + i) Qwen3CodecJob{&static_cast<CodecStream*>(job.state)->state,
                                  job.codes.subspan(job.left * width, job.fresh * width), job.out};
  }
  codec_.run(ctx, {first, jobs.size()});
}

Qwen3Tts::Qwen3Tts(const LoadSpec& spec) {
  config_ = load_model_config(Config::load(join_path(spec.dir, "config.json")));
  config_.defaults = load_defaults(join_path(spec.dir, "generation_config.json"));
  frontend_ = std::make_unique<Frontend>(config_, tokenizer(spec, config_));
  const std::string codec_dir = join_path(spec.dir, "speech_tokenizer");
  const Qwen3CodecConfig codec = codec_config(spec, codec_dir);
  if (codec.codebooks != config_.codebooks || codec.codebook_size < config_.audio_codes() ||
      codec.codebook_size < config_.code_vocab) {
    throw LoadError(
        join_path(codec_dir, "config.json") + ": the codec has " + std::to_string(codec.codebooks) +
        " codebooks of " + std::to_string(codec.codebook_size) + " codes, the talker makes " +
        std::to_string(config_.codebooks) + " of " + std::to_string(config_.audio_codes()));
  }
  weights_ = std::make_unique<Weights>(source(spec, spec.dir));
  talker_ = std::make_unique<Talker>(config_, weights_->scope("talker"), spec.weights);
  weights_->ignore("speaker_encoder.");
  weights_->finish();
  {
    const Weights codec_weights(source(spec, codec_dir));
    // Convolutions have no 8-bit form; the codec's other layers are a small part of it.
    codec_ = std::make_unique<Qwen3Codec>(
        codec, codec_weights,
        spec.weights == WeightType::kF32 ? WeightType::kF32 : WeightType::kBF16);
    codec_weights.ignore("encoder.");
    codec_weights.finish();
  }
  stage_ = std::make_unique<CodecStage>(*codec_);
  links_ = {{"codec", stage_.get(), kPolicy}};
  describe(spec);
}

void Qwen3Tts::describe(const LoadSpec& spec) {
  const Qwen3CodecConfig& codec = codec_->config();
  info_.family = "qwen3_tts";
  info_.model = spec.model;
  info_.licence = "Apache-2.0";
  info_.sample_rate = static_cast<int>(codec.sample_rate);
  info_.frame_rate = static_cast<double>(codec.sample_rate) / static_cast<double>(codec.hop());
  for (const auto& [name, id] : config_.speakers) {
    const auto dialect = config_.dialects.find(name);
    info_.voices.push_back({name, dialect == config_.dialects.end()
                                      ? "named speaker"
                                      : "named speaker of " + dialect->second});
  }
  info_.default_voice = frontend_->default_voice();
  info_.languages = {"auto"};
  for (const auto& [name, id] : config_.languages) info_.languages.push_back(name);
  info_.late_text = LateText::kToken;
  info_.instructions = config_.instructions();
  const DecoderConfig& t = config_.talker;
  const std::string tables =
      std::to_string(config_.text_vocab) + " texts x " + std::to_string(config_.text_hidden) +
      ", " + std::to_string(config_.codebooks) + " codebooks x " + std::to_string(t.hidden);
  info_.parts = {{"talker", shape_of(t), talker_->bytes()},
                 {"code predictor", shape_of(config_.predictor), talker_->predictor().bytes()},
                 {"tables", tables, talker_->table_bytes()},
                 {"codec",
                  std::to_string(codec.codebooks) + " x " + std::to_string(codec.codebook_size) +
                      " codes, " + std::to_string(codec.layers) + " layers, " +
                      std::to_string(codec.hop()) + " samples a frame",
                  codec_->bytes()}};
}

Result<std::unique_ptr<RequestState>> Qwen3Tts::open(const SpeechRequest& request) const {
  return State::open(config_, *frontend_, talker_->traits().max_positions, request);
}

std::shared_ptr<const Pipeline> load(const LoadSpec& spec) {
  return std::make_shared<Qwen3Tts>(spec);
}

}  // namespace syrinx::qwen3_tts
