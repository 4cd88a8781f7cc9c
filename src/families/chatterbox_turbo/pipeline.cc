#include "families/chatterbox_turbo/pipeline.h"

#include "families/chatterbox/sound.h"
#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "families/s3/speaking.h"
#include "io/file.h"

namespace syrinx::chatterbox_turbo {
namespace {

constexpr const char *kFamily = "chatterbox_turbo", *kCodecFile = "s3gen_meanflow.safetensors";
/// Returns the values of the authors' prepare_conditionals().
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
  weights_->build([&] {
    const AbsentTensors part = spec.part("ar");
    nets_ = load_speech(config_, *weights_, spec.weights);
  });
  move_networks(spec, *nets_.lm);
  chatterbox::Sound sound = chatterbox::load_sound(codec, config_, spec);
  flow_ = std::move(sound.flow);
  hift_ = std::move(sound.vocoder);
  prepare_voices(spec);
  info_.speech.no_cloning = chatterbox::missing_for_cloning(spec, codec, plan());
  if (info_.speech.no_cloning.empty()) {
    cloning_ = std::make_unique<chatterbox::Cloning>(spec, config_, plan());
  }
  flow_stage_ = std::make_unique<S3FlowStage>(*flow_, S3Noise::kSeeded);
  vocoder_stage_ = std::make_unique<S3VocoderStage>(
      *hift_, config_.flow.ratio, chatterbox::fade_in(config_.hift.source.sample_rate));
  graph_ = s3_graph(*nets_.lm, config_.flow, *flow_stage_, *vocoder_stage_);
  describe(spec);
}

void ChatterboxTurbo::prepare_voices(const LoadSpec& spec) {
  voices_ = chatterbox::load_voices(spec.dir, config_, *flow_);
  if (spec.dummy && voices_.empty()) voices_ = chatterbox::dummy_voices(config_, *flow_);
  for (auto& [name, voice] : voices_) {
    prepare(nets_, voice);
    voice.key = std::hash<std::string>()(name);
  }
}

void ChatterboxTurbo::describe(const LoadSpec& spec) {
  info_.family = kFamily;
  info_.model = spec.model;
  info_.licence = "MIT";
  info_.speech.sample_rate = static_cast<int>(config_.hift.source.sample_rate);
  info_.speech.frame_rate =
      static_cast<double>(info_.speech.sample_rate) / vocoder_stage_->samples_per_token();
  for (const auto& [name, voice] : voices_) info_.speech.voices.push_back({name, "stored voice"});
  if (!voices_.empty()) {
    const bool usual = voices_.contains(chatterbox::kDefaultVoice);
    info_.speech.default_voice = usual ? chatterbox::kDefaultVoice : voices_.begin()->first;
  }
  info_.speech.languages = {"english"};
  info_.offers.add("flow");
  info_.parts = {
      {"language model", describe_decoder(config_.decoder), nets_.lm->bytes()},
      {"tables", concat(config_.text_vocab, " texts, ", config_.speech_vocab, " codes"),
       nets_.lm->table_bytes()},
      {"flow", shape_text(config_.flow, flow_->bytes_per_second()), flow_->bytes()},
      {"vocoder", concat(vocoder_stage_->samples_per_token(), " samples a code"), hift_->bytes()}};
}

Result<Opened> ChatterboxTurbo::open(const SpeechRequest& request) const {
  Result<std::shared_ptr<const Voice>> voice =
      who_speaks(request, voices_, info_.speech.default_voice, "conds.pt", recent_,
                 [this](const syrinx::Voice& data) {
                   Result<Voice> made = chatterbox::voice_of(data, config_, *flow_);
                   if (made) prepare(nets_, made.value());
                   return made;
                 });
  return SpokenSequence::open(spoken_, script_of(config_, *tokenizer_, std::move(voice), request),
                              request);
}

std::shared_ptr<const Pipeline> load(const LoadSpec& spec) {
  return std::make_shared<ChatterboxTurbo>(spec);
}

}  // namespace syrinx::chatterbox_turbo
