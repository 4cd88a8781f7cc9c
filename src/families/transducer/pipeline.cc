#include "families/transducer/pipeline.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "families/loading/checkpoint.h"
#include "families/loading/tokenizer.h"
#include "families/transducer/transcription.h"
#include "io/file.h"

namespace syrinx::transducer {
namespace {

// Longest recording that is processed as a whole, because 60 s need 300 MB for attention.
constexpr double kLongestWhole_s = 60;
constexpr size_t kLongestTokenizer = 64 << 20;

/// Opens the tokenizer without its rules for encoding, because the model only decodes ids to text.
Tokenizer open_words(const LoadSpec& spec, int64_t most) {
  const std::string path = join_path(spec.dir, "tokenizer.json");
  if (spec.dummy && !is_file(path)) {
    const std::string blank[] = {"<blank>"};
    return open_tokenizer(spec, blank, most);
  }
  auto json = nlohmann::json::parse(read_file(path, kLongestTokenizer), nullptr, false);
  if (!json.is_object()) throw LoadError(path + ": expected a JSON object");
  for (const char* key : {"normalizer", "pre_tokenizer", "post_processor"}) json.erase(key);
  Tokenizer words = Tokenizer::parse_json(json.dump(), path);
  check_ids(path, words.size(), most);
  return words;
}

}  // namespace

Transducer::Transducer(const LoadSpec& spec) {
  config_ = load_model_config(Config::load(join_path(spec.dir, "config.json")), spec.dir);
  tokenizer_ = open_words(spec, config_.vocab);
  check_vocabulary(spec);
  const Weights weights(weights_at(spec, spec.dir));
  weights.build([&] {
    const WeightType type = at_least_8_bits(spec.weights);
    encoder_ = spec.part("encoder",
                         [&] { return std::make_unique<HearingStage>(config_, weights, type); });
    joint_ =
        spec.part("joint", [&] { return std::make_unique<JointStage>(config_, weights, type); });
  });
  move_networks(spec, "encoder", *encoder_);
  join({.rate = kSampleRate,
        .frame = config_.mel.hop,
        .row_s = config_.frame_s(),
        .longest_s = config_.streams ? 0 : kLongestWhole_s,
        .delay = config_.streams ? config_.default_lookahead : 0,
        .live_delay = config_.streams ? config_.live_lookahead() : 0},
       *encoder_, encoder_->policy(), "joint", *joint_);
  describe(spec);
}

/// Throws LoadError if the blank is the id of an ordinary token with text.
void Transducer::check_vocabulary(const LoadSpec& spec) const {
  if (spec.dummy && !has_tokenizer(spec.dir)) return;
  const std::string text = tokenizer_->bytes(config_.blank);
  if (text.empty() || tokenizer_->is_special(config_.blank)) return;
  throw LoadError(concat(join_path(spec.dir, "config.json"), ": blank_token_id ", config_.blank,
                         " is the ordinary token \"", text,
                         "\"; expected a special token or an id without text"));
}

void Transducer::describe(const LoadSpec& spec) {
  name(config_.streams ? "nemotron_asr" : "parakeet", spec,
       config_.streams ? "see the checkpoint (NVIDIA's are under its open model licences)"
                       : "see the checkpoint (NVIDIA's are CC-BY-4.0)");
  const FastConformerConfig& f = config_.conformer;
  info_.parts = {
      {"encoder",
       concat(f.layers, " layers, width ", f.width, ", heads ", f.heads, " x ", f.width / f.heads,
              ", ffn ", f.ffn, ", ", config_.mel.mels, " mel bands, ", 1000 * config_.frame_s(),
              " ms a row"),
       encoder_->bytes()},
      {"joint",
       concat(
           config_.lstm_layers, " LSTM layers, width ", config_.hidden, ", ", config_.vocab, " ids",
           config_.durations.empty() ? "" : concat(", ", config_.durations.size(), " durations")),
       joint_->bytes()}};
}

Result<SpeechRequest> Transducer::dictation(const Dictation& dictation) const {
  if (config_.streams) return Pipeline::dictation(dictation);
  Hearing task;
  task.recording = dictation.recording;
  return ask(std::move(task));
}

std::unique_ptr<LiveSequence> Transducer::sequence(const Hearing& task) const {
  return std::make_unique<Transcription>(config_, *tokenizer_, task);
}

}  // namespace syrinx::transducer
