#include "families/transducer/pipeline.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "audio/resampler.h"
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
  if (words.size() <= most) return words;
  throw LoadError(concat(path, ": the tokenizer has ids up to ", words.size() - 1,
                         ", but the model has only ", most));
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
  const FrameType rows = encoder_->out(), text{Flow::kText};
  graph_ = {{{.name = "encoder", .chunk = encoder_.get(), .in = {}, .out = {}},
             {.name = "joint", .ar = joint_.get(), .in = {rows}, .out = {text}}},
            {{.from = {kClient}, .to = {0}, .policy = encoder_->policy()},
             {.from = {0}, .to = {1}},
             {.from = {1}, .to = {kClient}}}};
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
  info_.speaks = false;
  info_.writes = true;
  info_.speech.sample_rate = kSampleRate;
  info_.speech.frame_rate = 1 / config_.frame_s();
  info_.speech.no_cloning = "this model transcribes; it has no voices";
  if (config_.streams) {
    info_.hearing.frame = config_.mel.hop;
  } else {
    info_.hearing.dictates_s = kLongestWhole_s;
  }
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

Result<SpeechRequest> Transducer::listening(const OpenDictation& listening) const {
  if (!config_.streams) return Pipeline::listening(listening);
  auto hearing = std::make_shared<Hearing>();
  hearing->lookahead = listening.live ? config_.live_lookahead() : config_.default_lookahead;
  hearing->scores = listening.scores;
  SpeechRequest request;
  request.task = std::move(hearing);
  return request;
}

Result<SpeechRequest> Transducer::dictation(const Dictation& dictation) const {
  if (config_.streams) return Pipeline::dictation(dictation);
  auto hearing = std::make_shared<Hearing>();
  hearing->recording = dictation.recording;
  SpeechRequest request;
  request.task = std::move(hearing);
  return request;
}

Result<Opened> Transducer::open(const SpeechRequest& request) const {
  if (!request.task) {
    return Error{ErrorCode::kUnsupported,
                 "this model only transcribes recordings; it does not accept text or messages",
                 request.writing.chat ? "messages" : "input"};
  }
  const auto hearing = std::dynamic_pointer_cast<Hearing>(request.task);
  if (!hearing || config_.streams == (hearing->recording != nullptr)) {
    return Error{ErrorCode::kInvalid, "the task belongs to another family", "task"};
  }
  if (hearing->lookahead < 0 || hearing->lookahead >= config_.conformer.chunk) {
    return Error{ErrorCode::kInvalid,
                 concat("the lookahead must be 0 to ", config_.conformer.chunk - 1, " rows, got ",
                        hearing->lookahead),
                 "task"};
  }
  Opened opened(
      std::make_unique<Transcription>(config_, *tokenizer_, hearing->lookahead, hearing->scores));
  opened.samples_open = config_.streams;
  if (config_.streams) return opened;
  const Recording& recording = *hearing->recording;
  opened.samples = resampled(recording.samples, recording.sample_rate, kSampleRate);
  const auto hop = static_cast<size_t>(config_.mel.hop);
  opened.samples.resize((opened.samples.size() + hop - 1) / hop * hop);
  if (static_cast<double>(opened.samples.size()) <= kLongestWhole_s * kSampleRate) return opened;
  return Error{ErrorCode::kInvalid, concat("the recording exceeds ", kLongestWhole_s, " s"),
               "file"};
}

}  // namespace syrinx::transducer
