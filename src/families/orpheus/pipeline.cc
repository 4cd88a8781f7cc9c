#include "families/orpheus/pipeline.h"

#include "families/orpheus/script.h"
#include "families/weight_files.h"
#include "io/file.h"
#include "io/hub.h"
#include "nn/cache_type.h"
#include "text/tokens/byte_tokenizer.h"

namespace syrinx::orpheus {
namespace {

constexpr const char* kCodec = "hubertsiuzdak/snac_24khz";

/// Fresh latent frames of the chunks: 43 ms first, then 85 ms, the audio of one frame of tokens.
constexpr int kInitial = 2, kSteady = 4;

uint64_t seed_of(const Sequence& sequence) {
  return static_cast<const SpokenSequence&>(sequence).seed();
}

/// A Llama whose head makes only the ids that can be spoken.
std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 WeightType type) {
  const int64_t hidden = config.lm.hidden, begin = config.audio_begin();
  const Weights model = weights.scope("model");
  const View table = model.take("embed_tokens.weight", {config.vocab, hidden});
  const View head = config.tied ? table : weights.take("lm_head.weight", {config.vocab, hidden});
  if (config.tied) weights.ignore("lm_head.weight");
  CodecLmParts parts{Decoder(config.lm, model, type),
                     {table},
                     {},
                     config.lm.kv_spec(cache_type(type)),
                     config.max_positions};
  parts.heads.push_back(whole_head(
      PackedLinear::pack(head.slice(begin, begin + config.audio_ids()), at_least_8_bits(type))));
  return std::make_unique<CodecLm>(std::move(parts));
}

}  // namespace

Orpheus::Orpheus(const LoadSpec& spec) {
  const std::string path = join_path(spec.dir, "config.json");
  config_ = load_model_config(Config::load(path));
  const bool no_tokenizer = spec.dummy && !is_file(join_path(spec.dir, "tokenizer.json"));
  tokenizer_ =
      std::make_unique<Tokenizer>(no_tokenizer ? byte_tokenizer({}) : Tokenizer::load(spec.dir));
  config_.ids = no_tokenizer ? published_ids() : load_ids(*tokenizer_);
  load_codec(spec);
  config_.block = codec_->config().codebook_size;
  check_ids(config_, path);
  weights_ = std::make_unique<Weights>(weights_at(spec, spec.dir));
  weights_->build([&] {
    const AbsentTensors part = spec.part("ar");
    lm_ = load_lm(config_, *weights_, spec.weights);
  });
  if (spec.device != Device::kCpu) {
    lm_->move_to(spec.device);
    codec_->move_to(spec.device);
  }
  spoken_ = spoken_model(config_);
  stage_ = std::make_unique<DacStage>(*codec_, seed_of);
  const int lookahead = static_cast<int>(codec_->config().lookahead());
  const Link links[] = {{"codec", stage_.get(), {kInitial, kSteady, 0, lookahead}}};
  graph_ = chain(*lm_, links);
  describe(spec);
}

void Orpheus::load_codec(const LoadSpec& spec) {
  SnacConfig config;
  std::string dir;
  if (!spec.dummy) {
    dir = resolve_part(spec.dir, kCodec);
    config = SnacConfig::load(Config::load(join_path(dir, "config.json")));
  }
  if (config.strides != SnacConfig().strides) {
    load_fault(join_path(dir, "config.json"), "vq_strides",
               "expected 4, 2 and 1, as the tokens of Orpheus are laid out");
  }
  const Weights weights(weights_at(spec, dir));
  // Convolutions have no 8-bit form, and the codec's other matrices are a small part of it.
  const WeightType type = spec.weights == WeightType::kF32 ? WeightType::kF32 : WeightType::kBF16;
  weights.build([&] {
    const AbsentTensors part = spec.part("codec");
    codec_ = std::make_unique<DacCodec>(load_snac(config, weights, type));
  });
}

void Orpheus::describe(const LoadSpec& spec) {
  const DacCodecConfig& codec = codec_->config();
  info_.family = "orpheus";
  info_.model = spec.model;
  info_.licence = "Llama 3.2 Community License (see the checkpoint); codec MIT";
  info_.sample_rate = static_cast<int>(codec.sample_rate);
  info_.frame_rate = static_cast<double>(codec.sample_rate) / static_cast<double>(codec.hop());
  for (const std::string& name : voices()) info_.voices.push_back({name, "named speaker"});
  info_.voices.push_back({"none", "no name before the text"});
  info_.default_voice = voices().front();
  info_.languages = {"english"};
  info_.late_text = LateText::kSentence;
  const DecoderConfig& d = config_.lm;
  info_.parts = {{"language model",
                  std::to_string(d.layers) + " layers, width " + std::to_string(d.hidden) +
                      ", heads " + std::to_string(d.heads) + "/" + std::to_string(d.kv_heads) +
                      " x " + std::to_string(d.head_dim) + ", ffn " + std::to_string(d.ffn) + ", " +
                      std::to_string(config_.audio_ids()) + " ids spoken",
                  lm_->bytes()},
                 {"table", std::to_string(config_.vocab) + " ids x " + std::to_string(d.hidden),
                  lm_->table_bytes()},
                 {"codec",
                  std::to_string(codec.codebooks) + " x " + std::to_string(codec.codebook_size) +
                      " codes, " + std::to_string(codec.hop()) + " samples a latent frame, looks " +
                      std::to_string(codec.lookahead()) + " ahead",
                  codec_->bytes()}};
}

Result<Opened> Orpheus::open(const SpeechRequest& request) const {
  return SpokenSequence::open(spoken_, script_of(config_, *tokenizer_, request), request);
}

std::shared_ptr<const Pipeline> load(const LoadSpec& spec) {
  return std::make_shared<Orpheus>(spec);
}

}  // namespace syrinx::orpheus
