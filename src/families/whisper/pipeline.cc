#include "families/whisper/pipeline.h"

#include <algorithm>
#include <cmath>

#include "audio/resampler.h"
#include "base/check.h"
#include "families/loading/checkpoint.h"
#include "families/loading/tokenizer.h"
#include "families/whisper/ctranslate2.h"
#include "families/whisper/dictation.h"
#include "families/whisper/openai.h"
#include "io/file.h"

namespace syrinx::whisper {

Whisper::Whisper(const LoadSpec& spec) {
  const Weights weights(open_files(spec));
  weights.build([&] {
    // With 4 bits the decoder would drop sentences.
    const WeightType type = at_least_8_bits(spec.weights);
    encoder_ = spec.part("encoder", [&] {
      return std::make_unique<EncoderStage>(config_.encoder, weights.scope("model.encoder"), type);
    });
    decoder_ = spec.part("decoder", [&] {
      return std::make_unique<WhisperDecoder>(config_, generation_.alignment_heads, weights, type);
    });
  });
  move_networks(spec, "encoder", *encoder_, "decoder", *decoder_);
  const FrameType rows = encoder_->out(), text{Flow::kText};
  graph_ = {{{.name = "encoder", .chunk = encoder_.get(), .in = {}, .out = {}},
             {.name = "decoder", .ar = decoder_.get(), .in = {rows}, .out = {text}}},
            {{.from = {kClient}, .to = {0}, .policy = EncoderStage::kPolicy},
             {.from = {0}, .to = {1}},
             {.from = {1}, .to = {kClient}}}};
  describe(spec);
}

std::unique_ptr<WeightSource> Whisper::open_files(const LoadSpec& spec) {
  if (!is_directory(spec.dir) && (spec.dir.ends_with(kTorchEnd) || spec.dir.ends_with(kGgmlEnd))) {
    OpenAiModel stored = open_openai(spec.dir);
    config_ = stored.config;
    generation_ = std::move(stored.generation);
    tokenizer_ = std::move(stored.tokenizer);
    return spec.dummy ? dummy_weights() : std::move(stored.weights);
  }
  const Config root = Config::load(join_path(spec.dir, "config.json"));
  tokenizer_ = open_tokenizer(spec);
  if (claims_ct2(root)) {
    Ct2Model stored = open_ct2(spec.dir);
    config_ = stored.config;
    generation_ = load_ct2_generation(root, config_, *tokenizer_);
    return std::move(stored.weights);
  }
  config_ = load_model_config(root);
  const std::string file = join_path(spec.dir, "generation_config.json");
  generation_ = load_generation(Config::load(file), config_);
  if (!spec.dummy || has_tokenizer(spec.dir)) check_vocabulary(file);
  return weights_at(spec, spec.dir);
}

/// Checks that the vocabulary has the languages of generation_config.json, with the same ids.
void Whisper::check_vocabulary(const std::string& file) const {
  for (const auto& [language, id] : generation_.languages) {
    const std::string token = "<|" + language + "|>";
    const auto found = tokenizer_->id(token);
    if (found == id) continue;
    throw LoadError(concat(file, ": lang_to_id states that ", token, " is the id ", id,
                           ", but the vocabulary ",
                           found ? concat("has it at ", *found) : std::string("lacks it")));
  }
}

void Whisper::describe(const LoadSpec& spec) {
  name("whisper", spec, "see the checkpoint (the authors' are MIT or Apache-2.0)");
  info_.speaks = false;
  info_.writes = true;
  info_.speech.sample_rate = WhisperWindow::kSampleRate;
  info_.speech.frame_rate = 50;
  info_.speech.no_cloning = "this model transcribes; it has no voices";
  for (const auto& [language, id] : generation_.languages)
    info_.speech.languages.push_back(language);
  if (!generation_.multilingual()) info_.speech.languages = {"en"};
  const WhisperEncoderConfig& e = config_.encoder;
  const auto shape = [&](int64_t layers, int64_t heads, int64_t ffn) {
    return concat(layers, " layers, width ", e.width, ", heads ", heads, " x ", e.width / heads,
                  ", ffn ", ffn);
  };
  info_.parts = {
      {"encoder", concat(shape(e.layers, e.heads, e.ffn), ", ", e.mels, " mel bands, 30 s"),
       encoder_->encoder().bytes()},
      {"decoder",
       concat(shape(config_.layers, config_.heads, config_.ffn), ", ", config_.max_ids,
              " positions behind ", int{WhisperEncoder::kRows}, " of memory"),
       decoder_->bytes()},
      {"head", concat(config_.vocab, " ids, ", info_.speech.languages.size(), " languages"),
       decoder_->head_bytes()}};
}

Result<std::shared_ptr<Window>> Whisper::window_of(const SpeechRequest& request) const {
  if (request.task) {
    auto window = std::dynamic_pointer_cast<Window>(request.task);
    if (!window) return Error{ErrorCode::kInvalid, "this model has no such task", "task"};
    return window;
  }
  if (request.writing.chat || !request.say.text.empty() || request.say.open) {
    return Error{ErrorCode::kUnsupported,
                 "this model only transcribes recordings; it does not accept text or messages",
                 request.writing.chat ? "messages" : "input"};
  }
  if (request.writing.recordings.size() != 1) {
    return Error{ErrorCode::kInvalid, "a recording is needed", "file"};
  }
  const Recording& recording = *request.writing.recordings.front();
  auto samples = resampled(recording.samples, recording.sample_rate, WhisperWindow::kSampleRate);
  constexpr size_t kMost = size_t{WhisperWindow::kFrames} * WhisperWindow::kHop;
  samples.resize(std::min(samples.size(), kMost));
  WhisperRecording heard(static_cast<int>(config_.encoder.mels));
  heard.push(samples, true);
  auto window = std::make_shared<Window>();
  window->audio = heard.window(0);
  window->language = request.say.language;
  window->timestamps = false;
  window->temperature = request.sampling.temperature.value_or(0);
  return window;
}

Status Whisper::check_language(const std::string& language, bool given) const {
  const Generation& g = generation_;
  if (g.multilingual() && (given || !language.empty()) && !g.languages.contains(language)) {
    return Error{ErrorCode::kInvalid, "this model does not support the language " + language,
                 "language"};
  }
  if (!g.multilingual() && !language.empty() && language != "en") {
    return Error{ErrorCode::kUnsupported, "this model supports only English", "language"};
  }
  return ok_status();
}

bool Whisper::whole(const std::vector<float>& values, int rows) const {
  return values.size() == static_cast<size_t>(rows) * size_t(config_.width());
}

Status Whisper::check(const Alignment& a) const {
  if (Status fault = check_language(a.language, true); !fault) return fault;
  const auto most = size_t(config_.max_ids) - 5;  // start, language, task, no timestamps, end
  if (!a.rows || !whole(*a.rows, WhisperEncoder::kRows) || a.columns() < 1 ||
      a.frames > WhisperWindow::kFrames) {
    return Error{ErrorCode::kInvalid, "an alignment needs the rows of its window", "task"};
  }
  if (a.text.empty() || a.text.size() > most) {
    return Error{ErrorCode::kInvalid,
                 concat("an alignment needs 1 to ", most, " ids, got ", a.text.size()), "task"};
  }
  for (const int32_t id : a.text) {
    if (id < 0 || id >= generation_.end)
      return Error{ErrorCode::kInvalid, concat("id ", id, " is not an id of text"), "task"};
  }
  return ok_status();
}

Status Whisper::check(const Window& window) const {
  if (!generation_.multilingual() && (window.translate || window.only_language)) {
    return Error{ErrorCode::kUnsupported, "this model supports only English", "model"};
  }
  if (Status fault = check_language(window.language, false); !fault) return fault;
  const WhisperWindow& audio = window.audio;
  if (audio.rows < 1 || audio.rows > WhisperEncoder::kRows || audio.frames > 2 * audio.rows) {
    return Error{ErrorCode::kInvalid, "a window has too few rows for its frames", "task"};
  }
  if (window.rows && !whole(*window.rows, audio.rows)) {
    return Error{ErrorCode::kInvalid, "the rows must cover the whole window", "task"};
  }
  for (const int32_t id : window.before) {
    if (id < 0 || id >= config_.vocab) {
      return Error{ErrorCode::kInvalid, concat("unknown id ", id), "prompt"};
    }
  }
  if (!(window.temperature >= 0 && window.temperature <= 100)) {
    return Error{ErrorCode::kInvalid, "the temperature must be 0 to 100", "temperature"};
  }
  return ok_status();
}

Result<Opened> Whisper::open(const SpeechRequest& request) const {
  if (auto alignment = std::dynamic_pointer_cast<Alignment>(request.task)) {
    if (Status fault = check(*alignment); !fault) return fault.error();
    return Opened(std::make_unique<AlignedText>(config_, generation_, std::move(alignment)));
  }
  auto window = window_of(request);
  if (!window.ok()) return window.error();
  if (Status fault = check(*window.value()); !fault) return fault.error();
  Opened opened;
  if (!window.value()->rows) opened.samples = window.value()->audio.samples;
  const int most =
      request.writing.max_tokens > 0 ? request.writing.max_tokens : request.terms.max_frames;
  opened.sequences.push_back(std::make_unique<Dictation>(
      config_, generation_, *tokenizer_, window.take(), static_cast<uint64_t>(std::max(most, 0))));
  return opened;
}

}  // namespace syrinx::whisper
