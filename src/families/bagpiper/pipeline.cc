#include "families/bagpiper/pipeline.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "audio/resampler.h"
#include "base/check.h"
#include "families/bagpiper/speech_lm.h"
#include "families/bagpiper/state.h"
#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "families/loading/tokenizer.h"
#include "families/voice_chat/asked_about.h"
#include "families/voice_chat/chat_graph.h"
#include "io/file.h"

namespace syrinx::bagpiper {
namespace {

constexpr ChunkSizes kChunks{4, 16};  // a frame is 20 ms
constexpr double kHearsSeconds = 30;  // longest recording; the model was trained with 30 s
// The authors' system message for questions about recordings.
constexpr const char* kUnderstands = "You are an audio understanding assistant.";
constexpr std::string_view kThoughts = "<think>", kThoughtsEnd = "</think>";

/// Checks for the two files that ESPnet does not publish. Random weights need no tokenizer.
void check_files(const LoadSpec& spec) {
  std::string missing;
  if (!is_file(join_path(spec.dir, "config.json"))) missing = "config.json";
  if (!spec.dummy && !has_tokenizer(spec.dir)) {
    missing += std::string(missing.empty() ? "" : " and ") +
               "tokenizer.json (or vocab.json, merges.txt and tokenizer_config.json)";
  }
  if (missing.empty()) return;
  throw LoadError(concat(spec.dir, ": ", missing, " of Qwen/Qwen3-8B-Base must be put beside ",
                         kMarker, ": ESPnet publishes Bagpiper's weights alone"));
}

}  // namespace

std::vector<float> prepared(std::vector<float> recording) {
  double sum = 0, squares = 0;
  for (const float x : recording) sum += x;
  const double count = std::max<double>(1, static_cast<double>(recording.size()));
  const double mean = sum / count;
  for (const float x : recording) squares += (x - mean) * (x - mean);
  const double scale = 1 / std::sqrt(squares / count + 1e-7);
  for (float& x : recording) x = static_cast<float>((x - mean) * scale);
  return recording;
}

Bagpiper::Bagpiper(const LoadSpec& spec) {
  check_files(spec);
  weights_ = std::make_unique<Weights>(weights_at(spec, join_path(spec.dir, kMarker)));
  // DeepSpeed adds one level to the names of tensors. A plain state dict is accepted, too.
  const bool plain = spec.dummy || weights_->count("model.layers") > 0;
  const Weights root = plain ? *weights_ : weights_->scope("module");
  config_ = load_model_config(Config::load(join_path(spec.dir, "config.json")), root);
  spoken_ = spoken_model(config_);
  prompter_ = std::make_unique<Prompter>(open_tokenizer(spec, {}, config_.words));
  root.ignore("vocab_weight");  // only training uses this tensor
  const Weights codec = root.scope(kCodecScope);
  XCodecConfig sizes = XCodecConfig::of(codec, XCodecConfig::general());
  sizes.codec.codebooks = config_.streams;  // so that the tensors of another codec do not fit
  sizes.codec.codebook_size = config_.codes;
  std::unique_ptr<DacCodec> decoder;
  root.build([&] {
    spec.part("tower", [&] {
      tower_ = std::make_unique<Qwen3AudioTower>(config_.audio, root.scope(kTowerScope),
                                                 at_least_8_bits(spec.weights));
      adaptor_ = load_linear(root, "adaptor.continuous_audio", config_.lm.hidden, config_.audio.out,
                             true, at_least_8_bits(spec.weights));
    });
    lm_ = spec.part("lm", [&] { return load_lm(config_, root, spec); });
    decoder = spec.part("codec", [&] {
      return std::make_unique<DacCodec>(load_xcodec(sizes, codec, codec_weights(spec.weights)));
    });
  });
  move_networks(spec, "tower", *tower_, "lm", *lm_, "codec", *decoder);
  if (tower_->device() != Device::kCpu) move_to(tower_->device(), adaptor_);
  hearing_ = std::make_unique<TowerStage>(*tower_, &adaptor_);
  stage_ = std::make_unique<CodecStage<DacCodec>>(std::move(decoder));
  const Link decoding = stage_->link(kChunks);
  graph_ = chat_graph({"tower", hearing_.get(), TowerStage::kPolicy}, "lm", *lm_, {&decoding, 1});
  describe(spec);
}

void Bagpiper::describe(const LoadSpec& spec) {
  name("bagpiper", spec, "see the checkpoint");
  info_.writes = true;
  set_rates(info_, codec().config().sample_rate, codec().config().hop());
  set_voices(info_, {{"default", "a voice that the model makes up, another for each seed"}});
  info_.speech.languages = {"auto"};
  info_.speech.late_text = LateText::kSentence;
  info_.offers.add({{"instructions"}, {"guidance"}});
  info_.hearing.seconds = info_.hearing.dictates_s = kHearsSeconds;
  info_.hearing.first_channel = true;
  info_.speech.no_cloning = "this model's voices are described in words";
  const Qwen3AudioConfig& a = config_.audio;
  info_.parts = {
      {"audio tower",
       concat(a.layers, " layers, width ", a.width, ", windows of ", a.window / a.chunk,
              " s, and a linear to ", lm_->decoder().hidden),
       tower_->bytes() + adaptor_.bytes()},
  };
  std::ranges::move(describe_lm(*lm_, "qwen3, "), std::back_inserter(info_.parts));
  info_.parts.push_back(stage_->part());
}

Result<Opened> Bagpiper::open(const SpeechRequest& request) const {
  Opened opened;
  std::vector<Heard> heard;
  for (const auto& each : request.writing.recordings) {
    const std::vector<float> samples = prepared(resampled(
        each->samples, each->sample_rate, Qwen3AudioTower::kSampleRate, Resampling::kHann));
    const int64_t rows = tower_->count(std::ssize(samples));
    if (rows == 0) {
      return Error{ErrorCode::kInvalid,
                   concat("recording ", heard.size() + 1, " is ",
                          samples.empty() ? "empty" : "too short for this model"),
                   "messages"};
    }
    const MelExtremes extremes = tower_->extremes(samples);
    heard.push_back({std::ssize(samples), rows, extremes.loudest, tower_->keys(samples, extremes)});
    append_frames(samples, hearing_->in_width(), opened.samples);
  }
  auto state = State::open(config_, spoken_, *prompter_, request, std::move(heard));
  if (!state.ok()) return state.error();
  opened.sequences.push_back(state.take());
  return opened;
}

Result<SpeechRequest> Bagpiper::dictation(const Dictation& dictation) const {
  const std::string of = dictation.language.empty() ? "" : dictation.language + " ";
  SpeechRequest request =
      asked_about(dictation, kUnderstands, concat("Transcribe the ", of, "speech in this audio."));
  request.writing.max_tokens = State::kMostWords;
  return request;
}

Dictated Bagpiper::dictated(const Dictation&, std::string_view answer, bool whole) const {
  const size_t end = answer.rfind(kThoughtsEnd);
  if (end != std::string_view::npos) return {std::string(answer.substr(end + kThoughtsEnd.size()))};
  // An answer has no text until its thoughts end. In an incomplete answer, they may still begin.
  const bool thinks = !whole || answer.find(kThoughts) != std::string_view::npos;
  return {thinks ? std::string() : std::string(answer)};
}

}  // namespace syrinx::bagpiper
