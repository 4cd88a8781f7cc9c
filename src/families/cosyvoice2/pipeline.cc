#include "families/cosyvoice2/pipeline.h"

#include "families/loading/checkpoint.h"
#include "io/file.h"
#include "text/tokens/byte_tokenizer.h"

namespace syrinx::cosyvoice2 {
namespace {

Tokenizer tokenizer(const LoadSpec& spec, const Edition& edition) {
  const std::string dir = join_path(spec.dir, kTokenizerFolder);
  if (spec.dummy && !is_file(join_path(dir, "vocab.json"))) return byte_tokenizer({});
  return Tokenizer::load(dir, markup(edition));
}

/// Loads the vocoder. Its tensors were published with and without the prefix of their training.
std::unique_ptr<Hift> load_hift(const HiftConfig& config, const LoadSpec& spec) {
  const Weights weights(weights_at(spec, join_path(spec.dir, "hift.pt")));
  const Weights scope = weights.scope(weights.count("generator.resblocks") > 0 ? "generator" : "");
  auto hift = load_part(spec, "vocoder", weights,
                        [&] { return std::make_unique<Hift>(config, scope, spec.weights); },
                        {"discriminator.*"});
  move_networks(spec, "vocoder", *hift);
  return hift;
}

}  // namespace

CosyVoice2::CosyVoice2(const LoadSpec& spec, const Edition& edition)
    : config_(load_config(spec.dir, edition)) {
  spoken_ = spoken_model(config_);
  frontend_ = std::make_unique<Frontend>(tokenizer(spec, edition), edition);
  weights_ = std::make_unique<Weights>(weights_at(spec, join_path(spec.dir, "llm.pt")));
  auto lm =
      load_part(spec, "ar", *weights_, [&] { return load_lm(config_, *weights_, spec.weights); });
  move_networks(spec, "ar", *lm);
  const Weights flow(weights_at(spec, join_path(spec.dir, "flow.pt")));
  flow_ = load_part(spec, "flow", flow, [&] {
    return std::make_unique<S3Flow>(config_.flow, flow, at_least_8_bits(spec.weights));
  });
  move_networks(spec, "flow", *flow_);
  hift_ = load_hift(config_.hift, spec);
  stored_ = load_voices(spec.dir, config_, *flow_);
  if (spec.dummy && stored_.empty()) stored_ = dummy_voices(config_, *flow_);
  info_.speech.no_cloning = missing_for_cloning(spec, edition);
  if (info_.speech.no_cloning.empty()) voices_ = make_cloning(spec, config_);
  join(std::move(lm), config_.flow, config_.hift.source.sample_rate, S3Noise::kFixed);
  describe(spec);
}

void CosyVoice2::describe(const LoadSpec& spec) {
  name(config_.edition.family, spec, "Apache-2.0");
  for (const auto& [name, voice] : stored_) {
    info_.speech.voices.push_back(
        {name, voice.prompt_speech.empty() ? "stored speaker" : "stored zero-shot voice"});
  }
  if (!stored_.empty()) info_.speech.default_voice = stored_.begin()->first;
  info_.speech.languages = {"auto"};
  info_.offers.add({{"instructions"}, {"spell_numbers"}});
}

Result<std::shared_ptr<const Voice>> CosyVoice2::voice(const SpeechRequest& request) const {
  return voice_of(request, "spk2info.pt", [this](const syrinx::Voice& data) {
    return cosyvoice2::voice_of(data, config_, *frontend_, *flow_);
  });
}

Result<syrinx::Voice> CosyVoice2::voice_of_embedding(std::span<const float> embedding) const {
  return speaker_voice(embedding, config_);
}

}  // namespace syrinx::cosyvoice2
