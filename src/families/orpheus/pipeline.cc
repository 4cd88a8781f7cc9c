#include "families/orpheus/pipeline.h"

#include <filesystem>

#include "base/check.h"
#include "codec/snac.h"
#include "families/llm/checkpoint.h"
#include "families/llm/gguf.h"
#include "families/loading/checkpoint.h"
#include "families/loading/tokenizer.h"
#include "io/file.h"
#include "io/hub.h"

namespace syrinx::orpheus {
namespace {

constexpr const char* kCodec = "hubertsiuzdak/snac_24khz";

/// Latent frames, of 21 ms each. A later chunk is a frame of tokens.
constexpr ChunkSizes kChunks{2, 4};

/// Loads a Llama whose head has only the ids of speech.
std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 WeightType type) {
  const int64_t hidden = config.lm.hidden, begin = config.end_of_speech;
  const Weights model = weights.scope("model");
  const View table = model.take("embed_tokens.weight", {config.vocab, hidden});
  const View head = config.tied ? table : weights.take("lm_head.weight", {config.vocab, hidden});
  if (config.tied) weights.ignore("lm_head.weight");
  CodecLmParts parts = lm_parts(config.lm, model, type, config.max_positions);
  parts.tables = {table};
  parts.heads.push_back(tied_head(head.slice(begin, begin + config.audio_ids()), type));
  return std::make_unique<CodecLm>(std::move(parts));
}

/// Loads the codec. `place`: folder of the language model, which may contain the codec.
std::unique_ptr<DacCodec> load_codec(const LoadSpec& spec, const std::string& place) {
  SnacConfig config;
  std::string dir;
  if (!spec.dummy) {
    dir = resolve_part(place, kCodec);
    config = SnacConfig::load(Config::load(join_path(dir, "config.json")));
  }
  if (config.strides != SnacConfig().strides) {
    load_fault(join_path(dir, "config.json"), "vq_strides",
               "expected 4, 2 and 1, which the order of Orpheus' tokens requires");
  }
  const Weights weights(weights_at(spec, dir));
  return load_part(spec, "codec", weights, [&] {
    return std::make_unique<DacCodec>(load_snac(config, weights, codec_weights(spec.weights)));
  });
}

}  // namespace

Orpheus::Orpheus(const LoadSpec& spec) {
  llm::StoredModel files = llm::open_model(spec);
  const bool one_file = spec.dir.ends_with(llm::kGgufEnd);
  const std::string path = one_file ? spec.dir : join_path(spec.dir, "config.json");
  auto codec = load_codec(spec, std::filesystem::path(path).parent_path().string());
  const bool has_ids = !spec.dummy || one_file || has_tokenizer(spec.dir);
  const std::string words[] = {kBegin, kTurnEnd,  kSpeech,    kHuman,
                               kAi,    kHumanEnd, kSpeechEnd, kFirstCode};
  tokenizer_ =
      std::make_unique<Tokenizer>(has_ids ? std::move(files.tokenizer) : byte_tokenizer(words));
  config_ = config_of(files.config);
  config_.block = codec->config().codebook_size;
  edition_ =
      has_ids ? &edition_of(*tokenizer_, concat(spec.model, " ", spec.dir)) : &first_edition();
  load_ids(*tokenizer_, edition_->before, edition_->behind, path, config_);
  weights_ = std::make_unique<Weights>(std::move(files.weights));
  auto lm =
      load_part(spec, "ar", *weights_, [&] { return load_lm(config_, *weights_, spec.weights); });
  move_networks(spec, "ar", *lm, "codec", *codec);
  check_voices(path);
  spoken_ = spoken_model(config_, *edition_);
  name("orpheus", spec, edition_->licence);
  for (const std::string& name : edition_->voices)
    info_.speech.voices.push_back({name, concat("a voice of ", edition_->name)});
  if (edition_->cleaned) {
    info_.speech.voices.push_back({kNoVoice, "no voice name before the text"});
  }
  if (edition_->description) info_.offers.add("instructions");
  info_.speech.default_voice = edition_->voices.front();
  info_.speech.languages = {edition_->language};
  join(std::move(lm), std::move(codec), kChunks);
}

void Orpheus::check_voices(const std::string& path) const {
  if (!edition_->voice_is_token) return;
  for (const std::string& voice : edition_->voices) {
    const std::string token = concat(edition_->voice_begin, voice, ">");
    if (tokenizer_->id(token).value_or(static_cast<int32_t>(config_.vocab)) < config_.vocab)
      continue;
    load_fault(path, "vocab_size",
               concat("a checkpoint of ", edition_->name, " must have the token ", token));
  }
}

}  // namespace syrinx::orpheus
