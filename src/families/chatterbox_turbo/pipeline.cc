#include "families/chatterbox_turbo/pipeline.h"

#include "families/chatterbox/sound.h"
#include "families/loading/checkpoint.h"
#include "families/loading/tokenizer.h"
#include "io/file.h"

namespace syrinx::chatterbox_turbo {
namespace {

constexpr const char *kFamily = "chatterbox_turbo", *kCodecFile = "s3gen_meanflow.safetensors";
/// Returns the settings of the authors' prepare_conditionals().
chatterbox::CloningPlan plan() {
  return {.family = kFamily, .codec = kCodecFile, .least_s = 5, .prompt_s = 15, .loudness = -27};
}

}  // namespace

ChatterboxTurbo::ChatterboxTurbo(const LoadSpec& spec) {
  weights_ = std::make_unique<Weights>(weights_at(spec, join_path(spec.dir, kMarker)));
  const Weights codec(weights_at(spec, join_path(spec.dir, kCodecFile)));
  config_ = read_config(*weights_, codec);
  if (spec.dummy) config_.flow.mean_flow = true, config_.flow.steps = 2;
  if (!config_.flow.mean_flow) {
    codec.fault("flow.decoder.estimator.time_embed_mixer.weight", "is missing");
  }
  spoken_ = spoken_model(config_);
  tokenizer_ = std::make_unique<Tokenizer>(open_tokenizer(spec, {}, config_.text_vocab));
  nets_ = load_part(spec, "ar", *weights_,
                    [&] { return load_speech(config_, *weights_, spec.weights); });
  move_networks(spec, "ar", *nets_.lm);
  chatterbox::Sound sound = chatterbox::load_sound(codec, config_, spec);
  flow_ = std::move(sound.flow);
  hift_ = std::move(sound.vocoder);
  prepare_voices(spec);
  info_.speech.no_cloning = chatterbox::missing_for_cloning(spec, codec, plan());
  if (info_.speech.no_cloning.empty()) {
    voices_ = std::make_unique<chatterbox::Cloning>(spec, config_, plan());
  }
  const int64_t rate = config_.hift.source.sample_rate;
  join(std::move(nets_.lm), config_.flow, rate, S3Noise::kSeeded, chatterbox::fade_in(rate));
  name(kFamily, spec, "MIT");
  chatterbox::add_voices(info_, stored_);
  info_.speech.languages = {"english"};
}

void ChatterboxTurbo::prepare_voices(const LoadSpec& spec) {
  stored_ = chatterbox::load_voices(spec.dir, config_, *flow_);
  if (spec.dummy && stored_.empty()) stored_ = chatterbox::dummy_voices(config_, *flow_);
  for (auto& [name, voice] : stored_) {
    prepare(nets_, voice);
    voice.key = std::hash<std::string>()(name);
  }
}

Result<std::unique_ptr<SpokenScript>> ChatterboxTurbo::script(const SpeechRequest& request) const {
  auto voice = voice_of(request, "conds.pt", [this](const syrinx::Voice& data) {
    Result<Voice> made = chatterbox::voice_of(data, config_, *flow_);
    if (made) prepare(nets_, made.value());
    return made;
  });
  return script_of(config_, *tokenizer_, std::move(voice), request);
}

}  // namespace syrinx::chatterbox_turbo
