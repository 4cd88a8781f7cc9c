#include "families/orpheus/pipeline.h"

#include "families/dac_stage.h"
#include "families/loading/checkpoint.h"
#include "io/file.h"
#include "io/hub.h"
#include "nn/cache_type.h"

namespace syrinx::orpheus {
namespace {

constexpr const char* kCodec = "hubertsiuzdak/snac_24khz";
// The voices of the published English checkpoints, the default first.
constexpr const char* kVoices[] = {"tara", "leah", "jess", "leo",  "dan",
                                   "mia",  "zac",  "zoe",  "julia"};

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

std::unique_ptr<DacCodec> load_codec(const LoadSpec& spec) {
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
  std::unique_ptr<DacCodec> codec;
  weights.build([&] {
    const AbsentTensors part = spec.part("codec");
    codec = std::make_unique<DacCodec>(load_snac(config, weights, codec_weights(spec.weights)));
  });
  return codec;
}

}  // namespace

Orpheus::Orpheus(const LoadSpec& spec) : codec_(load_codec(spec)) {
  const std::string path = join_path(spec.dir, "config.json");
  config_ = load_model_config(Config::load(path));
  tokenizer_ = std::make_unique<Tokenizer>(open_tokenizer(spec));
  const bool published = spec.dummy && !has_tokenizer(spec.dir);
  config_.ids = published ? published_ids() : load_ids(*tokenizer_);
  config_.block = codec_->config().codebook_size;
  check_ids(config_, path);
  weights_ = std::make_unique<Weights>(weights_at(spec, spec.dir));
  std::unique_ptr<CodecLm> lm;
  weights_->build([&] {
    const AbsentTensors part = spec.part("ar");
    lm = load_lm(config_, *weights_, spec.weights);
  });
  if (spec.device != Device::kCpu) {
    lm->move_to(spec.device);
    codec_->move_to(spec.device);
  }
  spoken_ = spoken_model(config_);
  name("orpheus", spec, "Llama 3.2 Community License (see the checkpoint); codec MIT");
  for (const char* name : kVoices) info_.speech.voices.push_back({name, "named speaker"});
  info_.speech.voices.push_back({"none", "no name before the text"});
  info_.speech.default_voice = kVoices[0];
  info_.speech.languages = {"english"};
  join(std::move(lm), std::make_unique<DacStage>(*codec_, seed_of), codec_info(*codec_),
       {kInitial, kSteady, 0, static_cast<int>(codec_->config().lookahead())});
}

Result<std::unique_ptr<SpokenScript>> Orpheus::script(const SpeechRequest& request) const {
  if (const Status known = check_voice(info_, request.voice.name); !known.ok())
    return known.error();
  const std::string& voice =
      request.voice.name.empty() ? info_.speech.default_voice : request.voice.name;
  return script_of(config_, *tokenizer_, voice, request.terms.ignore_stop);
}

}  // namespace syrinx::orpheus
