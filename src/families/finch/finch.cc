#include "families/finch/finch.h"

#include <algorithm>

#include "families/finch/config.h"
#include "families/finch/frontend.h"
#include "families/finch/speakers.h"
#include "families/finch/speech_lm.h"
#include "families/finch/state.h"
#include "families/finch/vocoder.h"
#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "families/loading/loaded_pipeline.h"

namespace syrinx::finch {
namespace {

constexpr float kMostPitch = 6;  // semitones; a larger change sounds unnatural

class FinchPipeline : public LoadedPipeline {
 public:
  FinchPipeline(const FinchConfig& config, const Weights& weights, const LoadSpec& spec)
      : config_(config),
        frontend_(std::make_shared<const Frontend>()),
        lm_(load_lm(config, weights.scope("lm"), spec.weights)),
        vocoder_(config, weights.scope("decoder"), at_least_8_bits(spec.weights)),
        speakers_(config, weights) {
    // The first chunk is one frame, which is complete after four steps. The vocoder's first layer
    // reads one more frame on each side.
    const Link vocoder{
        "vocoder", &vocoder_, {.initial = 1, .steady = 4, .left = 1, .lookahead = 1}};
    graph_ = chain(*lm_, {&vocoder, 1});
    name("finch", spec, config.licence.c_str());
    info_.speech.sample_rate = config.sample_rate;
    info_.speech.frame_rate = static_cast<double>(kStepsASecond) / kStepsPerFrame;
    for (const Speaker& speaker : config.speakers) {
      info_.speech.voices.push_back({speaker.name, speaker.description});
    }
    if (info_.speech.voices.empty()) info_.speech.voices = {{config.voice, config.description}};
    info_.speech.default_voice = config.voice;
    info_.speech.mixes = info_.speech.voices.size() > 1;
    info_.offers.add(
        {{"speed", {config.slowest, config.fastest}}, {"pitch", {-kMostPitch, kMostPitch}}});
    if (config.by_word) info_.offers.add("text_in_prompt");
    info_.speech.phones = info_.speech.accents = true;
    info_.speech.languages = {"en"};
    info_.speech.late_text = config.by_word ? LateText::kToken : LateText::kSentence;
    info_.speech.word_times = info_.speech.phone_times = true;
    info_.parts = {{"speech LM", concat(config.layers, " layers of ", config.hidden),
                    lm_->bytes() + lm_->table_bytes()},
                   {"decoder",
                    concat(config.low_layers, " layers of ", config.low_width, ", ",
                           config.high_layers, " of ", config.high_width),
                    vocoder_.bytes()}};
  }

  Result<Opened> open(const SpeechRequest& request) const override {
    const Result<std::vector<float>> shares = voice_shares(info_, request.voice);
    if (!shares.ok()) return shares.error();
    auto state = std::make_unique<FinchState>(
        request, config_, frontend_,
        speakers_.manner(shares.value(), request.voice.speed, request.voice.pitch));
    if (const Status begun = state->begin(request); !begun.ok()) return begun.error();
    return Opened(std::move(state));
  }

 private:
  FinchConfig config_;
  std::shared_ptr<const Frontend> frontend_;
  std::unique_ptr<CodecLm> lm_;
  Vocoder vocoder_;
  Speakers speakers_;
};

}  // namespace

bool claims(const Config& config) { return config.opt_s("model_type", "") == "finch"; }

std::shared_ptr<const Pipeline> load(const LoadSpec& spec) {
  const FinchConfig config = FinchConfig::from(Config::load(spec.dir + "/config.json"));
  Weights weights(weights_at(spec, spec.dir));
  std::shared_ptr<const Pipeline> pipeline;
  weights.build([&] { pipeline = std::make_shared<const FinchPipeline>(config, weights, spec); });
  return pipeline;
}

}  // namespace syrinx::finch
