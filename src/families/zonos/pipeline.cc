#include "families/zonos/pipeline.h"

#include <algorithm>
#include <filesystem>

#include "families/loading/own_codec.h"
#include "io/file.h"
#include "io/hub.h"

namespace syrinx::zonos {
namespace {

constexpr const char* kCodec = "descript/dac_44khz";
constexpr size_t kMostSpeakers = 1000;
constexpr size_t kMostText = 20'000;  // bytes; each segment needs a run of espeak-ng at admission

constexpr ChunkSizes kChunks{4, 8};  // a frame is 12 ms

/// Reads the only tensor of a file. Its shape is [count], apart from dimensions of size 1.
std::vector<double> load_speaker(const std::string& path, int64_t count) {
  const std::unique_ptr<WeightSource> file = open_weights(path);
  const std::vector<std::string> names = file->names();
  if (names.size() != 1) {
    load_fault(path, "", concat("expected one tensor, got ", names.size()));
  }
  const auto shape = file->shape(names[0]);
  if (!shape || shape->count() != count || (*shape)[-1] != count) {
    load_fault(path, "tensor " + shown(names[0]),
               concat("expected ", count, " numbers, got ", file->describe(names[0])));
  }
  const Weights weights{open_weights(path)};
  const Tensor vector = weights.f32(names[0], *shape);
  weights.finish();
  return {vector.f32(), vector.f32() + count};
}

/// Loads the language model. A step makes a code of every codebook with independent heads.
std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Tensor& symbols,
                                 const Weights& weights, WeightType type) {
  CodecLmParts parts = lm_parts(config.lm, weights.scope("backbone"), type, config.max_positions);
  parts.tables = {symbols};
  const int64_t hidden = config.lm.hidden;
  for (int64_t k = 0; k < config.codebooks; ++k) {
    parts.tables.push_back(
        weights.scope("embeddings", k).take("weight", {int64_t{config.mask} + 1, hidden}));
    parts.heads.push_back(
        load_head(weights, concat("heads.", k), int64_t{config.eos} + 1, hidden, type));
  }
  return std::make_unique<CodecLm>(std::move(parts));
}

/// Replaces espeak-ng in measurements with random weights: returns the letters as symbols.
Result<std::string> letters(std::string_view text, std::string_view) { return std::string(text); }

}  // namespace

Zonos::Zonos(const LoadSpec& spec, Phonemize phonemize) {
  const std::string path = join_path(spec.dir, "config.json");
  config_ = load_model_config(Config::load(path));
  auto codec = load_own_codec(spec, spec.dir, kCodec, dac_44khz(), load_dac_config, load_dac);
  const DacCodecConfig& made = codec->config();
  config_.codebooks = made.codebooks;
  if (config_.codebooks > 64 || made.codebook_size != config_.codes()) {
    load_fault(path, "eos_token_id",
               concat("the codec has ", config_.codebooks, " codebooks of ", made.codebook_size,
                      " codes, but the model makes ", config_.codes()));
  }
  weights_ = std::make_unique<Weights>(weights_at(spec, spec.dir));
  std::unique_ptr<CodecLm> lm;
  weights_->build([&] {
    // Always loaded, even if the AR stage is in another process, because its rows give the prefix
    // keys of prompts.
    conditioner_ = std::make_unique<PrefixConditioner>(
        config_, weights_->scope("prefix_conditioner"), spec.weights);
    lm = spec.part(
        "ar", [&] { return load_lm(config_, conditioner_->symbols(), *weights_, spec.weights); });
  });
  move_networks(spec, "ar", *lm, "codec", *codec);
  spoken_ = spoken_model(config_);
  phonemize_ = spec.dummy ? letters : std::move(phonemize);
  load_speakers(spec);
  describe(spec);
  join(std::move(lm), std::move(codec), kChunks);
  info_.parts.push_back({"conditioners",
                         concat(config_.conditioners.size(), " parts of the prefix"),
                         conditioner_->bytes()});
}

void Zonos::load_speakers(const LoadSpec& spec) {
  const auto& all = config_.conditioners;
  const auto speaker = std::find_if(all.begin(), all.end(), [](const ConditionerConfig& c) {
    return c.name == "speaker" && c.kind == ConditionerConfig::kVector;
  });
  if (speaker == all.end()) return;
  speaker_width_ = speaker->inputs;
  find_speaker_encoder(spec);
  std::error_code error;
  for (std::filesystem::directory_iterator each(join_path(spec.dir, "speakers"), error), end;
       !error && each != end; each.increment(error)) {
    const std::filesystem::path& path = each->path();
    if (path.extension() != ".pt" && path.extension() != ".safetensors") continue;
    if (speakers_.size() >= kMostSpeakers) break;
    speakers_[path.stem().string()] = load_speaker(path.string(), speaker->inputs);
  }
}

/// Finds the speaker encoder, whose two files are published separately. Without them, the model
/// speaks but cannot clone voices.
void Zonos::find_speaker_encoder(const LoadSpec& spec) {
  std::string dir;
  if (!spec.dummy) {
    try {
      dir = resolve_part(spec.dir, SpeakerEncoder::kRepository, hub_cache(),
                         SpeakerEncoder::kNetwork);
    } catch (const LoadError& missing) {
      info_.speech.no_cloning = missing.what();
      return;
    }
  }
  const auto load = [dir, dummy = spec.dummy, width = speaker_width_] {
    const auto open = [&](const char* file) {
      return Weights(dummy ? SpeakerEncoder::dummy() : open_weights(join_path(dir, file)));
    };
    const Weights network = open(SpeakerEncoder::kNetwork);
    const Weights projection = open(SpeakerEncoder::kProjection);
    std::unique_ptr<SpeakerEncoder> encoder;
    const auto build = [&] {
      encoder = std::make_unique<SpeakerEncoder>(network, projection, width);
    };
    // The original stores its mel filters. Here they are computed.
    projection.build([&] { network.build(build, {"featCal.*"}); });
    return encoder;
  };
  voices_ = make_voices(load);
}

void Zonos::describe(const LoadSpec& spec) {
  name("zonos", spec, "Apache-2.0; codec MIT");
  info_.speech.voices = {{"none", "no speaker given"}};
  for (const auto& [name, vector] : speakers_) {
    info_.speech.voices.push_back({name, "speaker vector of the checkpoint's folder speakers"});
  }
  info_.speech.default_voice = "none";
  for (const std::string& code : languages()) {
    if (code != "ja") info_.speech.languages.push_back(code);
  }
  info_.speech.phones = true;
  info_.offers.add({{"spell_numbers"}, {"instructions"}});
  info_.speech.mixes = speaker_width_ > 0;
  info_.max_text_bytes = kMostText;
}

Result<Voice> Zonos::voice_of_embedding(std::span<const float> embedding) const {
  if (speaker_width_ == 0) return Pipeline::voice_of_embedding(embedding);
  return voice_of_vector(embedding, speaker_width_);
}

}  // namespace syrinx::zonos
