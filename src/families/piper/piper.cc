#include "families/piper/piper.h"

#include <algorithm>

#include "base/check.h"
#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "families/loading/loaded_pipeline.h"
#include "families/piper/stages.h"
#include "families/piper/state.h"
#include "io/file.h"

namespace syrinx::piper {
namespace {

// In bytes. espeak-ng needs a second of CPU time for 9,000, and reads all before the first sound.
constexpr size_t kMostEspeakText = 20'000;
constexpr float kSlowest = 0.25f, kFastest = 4;
/// New frames in the first chunk and in each later one. A frame is 11.6 ms at 22.05 kHz.
constexpr int kInitial = 8, kSteady = 32;

void check_fit(const PiperConfig& config, const Network& network, const std::string& path) {
  if (config.symbols() > network.symbols()) {
    load_fault(path, "phoneme_id_map",
               concat("expected ids below ", network.symbols(), ", got ", config.symbols() - 1));
  }
  if (std::ssize(config.speakers) != network.speakers()) {
    load_fault(path, "num_speakers",
               concat("expected ", network.speakers(), ", got ", config.speakers.size()));
  }
}

/// Returns the facts about a voice, except the facts about its network.
PipelineInfo facts_of_voice(const LoadSpec& spec, const PiperConfig& config) {
  PipelineInfo info;
  info.family = "piper";
  info.model = spec.model;
  info.speech.sample_rate = config.sample_rate;
  const auto count = config.speakers.size();
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = config.speakers[i];
    info.speech.voices.push_back({count == 1     ? spec.model
                                  : name.empty() ? std::to_string(i)
                                                 : name,
                                  count == 1 ? config.dataset : concat("speaker ", i)});
  }
  info.speech.default_voice = info.speech.voices[static_cast<size_t>(config.default_speaker)].id;
  info.speech.voices_are_speakers = count > 1;
  info.speech.mixes = count > 1;
  info.offers.add("speed", {kSlowest, kFastest});
  info.offers.add({{"noise_scale"}, {"noise_w"}, {"length_scale"}});
  if (!config.language.empty()) info.speech.languages = {config.language};
  info.speech.late_text = LateText::kSentence;
  info.speech.word_times = true;
  info.speech.phones = config.espeak;
  if (config.espeak) info.max_text_bytes = kMostEspeakText;
  return info;
}

class PiperPipeline : public LoadedPipeline {
 public:
  PiperPipeline(const LoadSpec& spec, SayClauses say)
      : config_(PiperConfig::from(Config::load(spec.dir + ".json"))),
        say_(std::move(say)),
        network_(spec.dir, spec.weights),
        reader_(network_),
        speaker_(network_) {
    info_ = facts_of_voice(spec, config_);
    check_fit(config_, network_, spec.dir + ".json");
    move_networks(spec, "speaker", network_);
    const int lookahead = static_cast<int>(network_.lookahead());
    const Link link{"speaker", &speaker_, {kInitial, kSteady, 0, lookahead}};
    graph_ = chain(reader_, {&link, 1});
    info_.speech.frame_rate = config_.sample_rate / static_cast<double>(network_.hop());
    const Network::Bytes bytes = network_.bytes();
    info_.parts = {{"text encoder", concat(network_.symbols(), " phonemes"), bytes.encoder},
                   {"durations", "splines", bytes.durations},
                   {"flow", concat(network_.latent(), " channels"), bytes.flow},
                   {"generator", concat(network_.hop(), " samples a frame"), bytes.generator}};
  }

  Result<Opened> open(const SpeechRequest& request) const override {
    if (const Status fault = check(request); !fault.ok()) return fault.error();
    Result<std::vector<float>> shares = voice_shares(info_, request.voice);
    if (!shares.ok()) return shares.error();
    Manner manner;
    manner.embedding = network_.embedding(shares.value());
    manner.condition = network_.text_condition(manner.embedding);
    const RequestSampling& sampling = request.sampling;
    manner.noise_scale =
        sampling.noise_scale.value_or(sampling.temperature.value_or(config_.noise_scale));
    manner.noise_w = sampling.noise_w.value_or(config_.noise_w);
    manner.length_scale =
        request.voice.length_scale.value_or(config_.length_scale) / request.voice.speed;
    auto state = std::make_unique<State>(request, config_, say_, std::move(manner));
    if (const Status fault = state->begin(request); !fault.ok()) return fault.error();
    return Opened(std::move(state));
  }

 private:
  static Status check(const SpeechRequest& request) {
    if (request.sampling.noise_scale && request.sampling.temperature) {
      return Error{
          ErrorCode::kInvalid,
          "'temperature' and 'noise_scale' are the same option for this model; set only one",
          "noise_scale"};
    }
    return ok_status();
  }

  PiperConfig config_;
  SayClauses say_;
  Network network_;
  Reader reader_;
  Speaker speaker_;
};

}  // namespace

std::shared_ptr<const Pipeline> load_with(const LoadSpec& spec, const SayClauses& say) {
  if (spec.dummy) {
    throw LoadError(
        spec.dir +
        ": --load-format dummy is not supported: only the weights state a Piper voice's sizes");
  }
  return load_together({spec.dir, spec.dir + ".json"}, [&]() -> std::shared_ptr<const Pipeline> {
    return std::make_shared<const PiperPipeline>(spec, say);
  });
}

std::shared_ptr<const Pipeline> load(const LoadSpec& spec) {
  return load_with(spec, say_by_espeak);
}

std::shared_ptr<const PipelineInfo> facts(const LoadSpec& spec) {
  const PiperConfig config = PiperConfig::from(Config::load(spec.dir + ".json"));
  return std::make_shared<const PipelineInfo>(facts_of_voice(spec, config));
}

}  // namespace syrinx::piper
