#include "families/chatterbox/pipeline.h"

#include "families/chatterbox/sound.h"
#include "families/loading/checkpoint.h"
#include "io/file.h"

namespace syrinx::chatterbox {

namespace {

/// Returns the safetensors file, or the older PyTorch file (used by the multilingual package).
std::string codec_file(const LoadSpec& spec) {
  const std::string name = "s3gen.safetensors", older = "s3gen.pt";
  const bool is_older = !is_file(join_path(spec.dir, name)) && is_file(join_path(spec.dir, older));
  return is_older ? older : name;
}

}  // namespace

Chatterbox::Chatterbox(const LoadSpec& spec, const Edition& edition) {
  const std::string tokenizer = join_path(spec.dir, edition.tokenizer);
  tokenizer_ = spec.dummy && !is_file(tokenizer) ? std::make_unique<TextTokenizer>()
                                                 : std::make_unique<TextTokenizer>(tokenizer);
  weights_ = std::make_unique<Weights>(weights_at(spec, join_path(spec.dir, edition.marker)));
  const std::string codec_name = codec_file(spec);
  const Weights codec(weights_at(spec, join_path(spec.dir, codec_name)));
  config_ = read_config(*weights_, codec);
  config_.edition = edition;
  if (edition.multilingual) {
    multilingual_ = std::make_unique<MultilingualText>(*tokenizer_, tokenizer,
                                                       join_path(spec.dir, "Cangjie5_TC.json"));
  }
  spoken_ = spoken_model(config_);
  if (tokenizer_->size() > config_.text_vocab) {
    throw LoadError(tokenizer + ": has " + std::to_string(tokenizer_->size()) +
                    " ids, but the model's text table has " + std::to_string(config_.text_vocab) +
                    " rows");
  }
  nets_ = load_part(spec, "ar", *weights_,
                    [&] { return load_speech(config_, *weights_, spec.weights); });
  move_networks(spec, "ar", *nets_.lm);
  Sound sound = load_sound(codec, config_, spec);
  flow_ = std::move(sound.flow);
  hift_ = std::move(sound.vocoder);
  stored_ = load_voices(spec.dir, config_, *flow_);
  if (spec.dummy && stored_.empty()) stored_ = dummy_voices(config_, *flow_);
  for (auto& [name, voice] : stored_) {
    nets_.voice_rows->prepare(voice);
    voice.key = std::hash<std::string>()(name);
  }
  const bool older =
      !is_file(join_path(spec.dir, "ve.safetensors")) && is_file(join_path(spec.dir, "ve.pt"));
  const CloningPlan plan{
      .family = edition.family, .codec = codec_name, .speaker = older ? "ve.pt" : "ve.safetensors"};
  info_.speech.no_cloning = missing_for_cloning(spec, codec, plan);
  if (info_.speech.no_cloning.empty()) voices_ = std::make_unique<Cloning>(spec, config_, plan);
  const int64_t rate = config_.hift.source.sample_rate;
  join(std::move(nets_.lm), config_.flow, rate, S3Noise::kSeeded, fade_in(rate));
  describe(spec);
}

Result<std::shared_ptr<const Voice>> Chatterbox::voice(const SpeechRequest& request) const {
  return voice_of(request, "conds.pt", [this](const syrinx::Voice& data) {
    Result<Voice> made = chatterbox::voice_of(data, config_, *flow_);
    if (made) nets_.voice_rows->prepare(made.value());
    return made;
  });
}

}  // namespace syrinx::chatterbox
