#include "families/kokoro/pipeline.h"

#include <algorithm>
#include <array>

#include "families/kokoro/prosody_stage.h"
#include "families/kokoro/speech_stage.h"
#include "families/kokoro/state.h"
#include "families/kokoro/weights.h"
#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "families/loading/loaded_pipeline.h"
#include "io/file.h"

namespace syrinx::kokoro {
namespace {

constexpr float kSlowest = 0.5f, kFastest = 2;
constexpr size_t kMostEspeakText = 20'000;  // bytes; espeak-ng has to run for each sentence
// A letter that only Chinese has in the alphabet of version 1.0.
constexpr std::string_view kChineseLetter = "ꭧ";
constexpr int kWindow = 4096;  // frames that may wait in the edge; more than an utterance has

/// Opens the checkpoint's weights, or makes random weights, which have no weight normalisation and
/// no optional affine norms.
std::unique_ptr<WeightSource> weights_of(const LoadSpec& spec) {
  if (!spec.dummy) return open_kokoro_weights(spec.dir);
  return dummy_weights([](const std::string& name) {
    return name.find(".weight_") == name.npos && name.find("parametrizations") == name.npos &&
           name.find(".norm.") == name.npos;
  });
}

Voices voices_at(const LoadSpec& spec, const KokoroConfig& config) {
  Voices voices = load_voices(spec.dir, config);
  if (!voices.empty()) return voices;
  if (!spec.dummy) {
    throw LoadError(concat(join_path(spec.dir, "voices"), ": expected voices, NAME.pt; got none"));
  }
  const auto size = static_cast<size_t>(config.most_phonemes() * 2 * config.style);
  return {{"af_random", std::make_shared<const VoicePack>(size, 0.1f)}};
}

class KokoroPipeline : public LoadedPipeline {
 public:
  explicit KokoroPipeline(const LoadSpec& spec)
      : config_(load_config(Config::load(join_path(spec.dir, "config.json")))),
        reader_(std::make_shared<const EnglishReader>()) {
    const Weights weights(weights_of(spec));
    const WeightType type = at_least_8_bits(spec.weights);
    weights.build([&] {
      prosody_ = spec.part("ar", [&] { return Prosody(config_, weights, type); });
      voder_ = spec.part("speech", [&] { return Voder(config_, weights, type); });
    });
    move_networks(spec, "speech", voder_);
    packs_ = voices_at(spec, config_);
    prosody_stage_ = std::make_unique<ProsodyStage>(config_, prosody_);
    speech_stage_ = std::make_unique<SpeechStage>(config_, voder_);
    graph_ = Graph({{.name = "ar",
                     .ar = prosody_stage_.get(),
                     .in = {{Flow::kText, 1}},
                     .out = {speech_stage_->in()}},
                    {.name = "speech",
                     .chunk = speech_stage_.get(),
                     .in = {speech_stage_->in()},
                     .out = {speech_stage_->out()}}},
                   {{.from = {kClient, 0}, .to = {0, 0}},
                    {.from = {0, 0},
                     .to = {1, 0},
                     .policy = {.initial = 1, .steady = kMostFrames},
                     .window = kWindow},
                    {.from = {1, 0}, .to = {kClient, 0}}});
    describe(spec);
  }

  Result<Opened> open(const SpeechRequest& request) const override {
    const auto shares = voice_shares(info_, request.voice);
    if (!shares.ok()) return shares.error();
    const Result<std::string> language = language_asked(request);
    if (!language.ok()) return language.error();
    if (language.value() != "en-us" && request.say.text.size() > kMostEspeakText) {
      return Error{ErrorCode::kInvalid,
                   concat("the text has ", request.say.text.size(), " bytes, but the limit in '",
                          language.value(), "' is ", kMostEspeakText),
                   "input"};
    }
    auto state = std::make_unique<KokoroState>(request, config_,
                                               Script(config_, reader_, language.value(), request),
                                               mixed(packs_, shares.value()));
    if (Status fault = state->begin(request); !fault.ok()) return fault.error();
    return Opened(std::move(state));
  }

 private:
  /// Returns the language that the request names, or else the voice's language.
  Result<std::string> language_asked(const SpeechRequest& request) const {
    const std::string& named =
        request.voice.mix.empty() ? request.voice.name : request.voice.mix.front().voice;
    const std::string& voice = named.empty() ? info_.speech.default_voice : named;
    std::string language = request.say.language.empty() ? language_of(voice) : request.say.language;
    if (language.empty()) language = "en-us";
    const auto& known = info_.speech.languages;
    if (std::find(known.begin(), known.end(), language) == known.end()) {
      return Error{ErrorCode::kUnsupported,
                   concat("the voice '", voice, "' speaks '", language,
                          "', which this program cannot read; request another language, such as "
                          "'en-us'"),
                   "language"};
    }
    if (language == "zh" && !config_.has_bopomofo() &&
        !config_.vocabulary.contains(std::string(kChineseLetter))) {
      return Error{ErrorCode::kUnsupported,
                   "this checkpoint's alphabet has no letters of Chinese: neither those of "
                   "Kokoro-82M v1.0 nor the bopomofo of v1.1-zh",
                   "language"};
    }
    return language;
  }

  /// Returns the first Chinese voice of v1.1-zh, or else af_heart or the first voice.
  std::string usual_voice() const {
    const auto chinese = packs_.lower_bound("z");
    if (config_.has_bopomofo() && chinese != packs_.end()) return chinese->first;
    return packs_.contains("af_heart") ? "af_heart" : packs_.begin()->first;
  }

  void describe(const LoadSpec& spec) {
    name("kokoro", spec, "Apache-2.0");
    info_.speech.sample_rate = KokoroConfig::kSampleRate;
    info_.speech.frame_rate =
        static_cast<double>(KokoroConfig::kSampleRate) / static_cast<double>(config_.hop());
    for (const auto& [name, pack] : packs_) {
      const std::string language = language_of(name);
      info_.speech.voices.push_back(
          {name, language.empty() ? "voice" : concat("voice of ", language)});
    }
    info_.speech.default_voice = usual_voice();
    info_.speech.mixes = packs_.size() > 1;
    info_.speech.languages = {"en-us", "en-gb", "es", "fr-fr", "hi", "it", "ja", "pt-br", "zh"};
    info_.speech.late_text = LateText::kSentence;
    info_.speech.word_times = info_.speech.phone_times = info_.speech.phones = true;
    info_.offers.add("speed", {kSlowest, kFastest});
    const AlbertSizes& bert = config_.bert;
    info_.parts = {
        {"phonemes", concat("ALBERT, ", bert.layers, " times a layer of ", bert.hidden),
         prosody_.bytes()},
        {"speech", concat("iSTFTNet, ", config_.hop(), " samples a frame"), voder_.bytes()}};
  }

  KokoroConfig config_;
  std::shared_ptr<const EnglishReader> reader_;
  Prosody prosody_;
  Voder voder_;
  Voices packs_;
  std::unique_ptr<ProsodyStage> prosody_stage_;
  std::unique_ptr<SpeechStage> speech_stage_;
};

}  // namespace

std::shared_ptr<const Pipeline> load(const LoadSpec& spec) {
  return std::make_shared<const KokoroPipeline>(spec);
}

}  // namespace syrinx::kokoro
