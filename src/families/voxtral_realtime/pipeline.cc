#include "families/voxtral_realtime/pipeline.h"

#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "families/voxtral_realtime/transcription.h"
#include "io/file.h"
#include "text/tokens/byte_tokenizer.h"

namespace syrinx::voxtral_realtime {

VoxtralRealtime::VoxtralRealtime(const LoadSpec& spec) {
  config_ = load_model_config(Config::load(join_path(spec.dir, "config.json")));
  open_words(spec);
  weights_ = std::make_unique<Weights>(weights_at(spec, spec.dir));
  weights_->build([&] {
    encoder_ = spec.part("encoder", [&] {
      return std::make_unique<HearingStage>(config_, *weights_, spec.weights);
    });
    lm_ = spec.part("lm", [&] {
      return std::make_unique<TextStage>(config_, weights_->scope("language_model"), spec.weights);
    });
  });
  const FrameType rows = encoder_->out(), text{Flow::kText};
  graph_ = {{{.name = "encoder", .chunk = encoder_.get(), .in = {}, .out = {}},
             {.name = "lm", .ar = lm_.get(), .in = {rows}, .out = {text}}},
            {{.from = {kClient}, .to = {0}, .policy = encoder_->policy()},
             {.from = {0}, .to = {1}},
             {.from = {1}, .to = {kClient}}}};
  describe(spec);
}

/// Opens the tokenizer. Random weights need none.
void VoxtralRealtime::open_words(const LoadSpec& spec) {
  const std::string path = join_path(spec.dir, "tekken.json");
  if (spec.dummy && !is_file(path)) {
    const std::string controls[] = {"<s>", "</s>", "[STREAMING_PAD]"};
    words_ = byte_tokenizer(controls);
    config_.begin = words_->need_id(controls[0]);
    config_.end = words_->need_id(controls[1]);
    config_.pad = words_->need_id(controls[2]);
    return;
  }
  Tekken tekken = read_tekken(path);
  read_tokenizer(tekken, path, config_);
  words_ = std::move(tekken.tokenizer);
}

void VoxtralRealtime::describe(const LoadSpec& spec) {
  name("voxtral_realtime", spec, "see the checkpoint (Mistral's is Apache-2.0)");
  info_.speaks = false;
  info_.writes = true;
  info_.speech.sample_rate = config_.mel.sample_rate;
  info_.speech.frame_rate = 1 / config_.token_s();
  info_.speech.no_cloning = "this model transcribes; it has no voices";
  info_.hearing.frame = config_.mel.hop;
  info_.hearing.rate = config_.mel.sample_rate;
  info_.hearing.tail = static_cast<int>(config_.right_pad(config_.delay) * config_.samples());
  info_.parts = {
      {"encoder",
       concat(describe_decoder(config_.encoder), ", ", config_.encoder.window, " positions, ",
              config_.mel.mels, " mel bands, ", 1000 * config_.token_s(), " ms a row"),
       encoder_->bytes()},
      {"language model",
       concat(describe_decoder(config_.lm), ", ", config_.lm.window, " positions, ", config_.vocab,
              " ids"),
       lm_->bytes()}};
}

Result<SpeechRequest> VoxtralRealtime::listening(const OpenDictation& listening) const {
  auto hearing = std::make_shared<Hearing>();
  hearing->delay = config_.delay;
  hearing->scores = listening.scores;
  SpeechRequest request;
  request.task = std::move(hearing);
  return request;
}

Result<Opened> VoxtralRealtime::open(const SpeechRequest& request) const {
  if (!request.task) {
    return Error{ErrorCode::kUnsupported,
                 "this model only transcribes recordings; it does not accept text or messages",
                 request.writing.chat ? "messages" : "input"};
  }
  const auto hearing = std::dynamic_pointer_cast<Hearing>(request.task);
  if (!hearing) return Error{ErrorCode::kInvalid, "the task belongs to another family", "task"};
  if (hearing->delay < 1 || hearing->delay > ModelConfig::kMostDelay) {
    return Error{
        ErrorCode::kInvalid,
        concat("a delay is 1 to ", ModelConfig::kMostDelay, " tokens, not ", hearing->delay),
        "task"};
  }
  Opened opened(std::make_unique<Transcription>(config_, *words_, lm_->open(),
                                                lm_->norms(hearing->delay), *hearing));
  opened.samples.resize(static_cast<size_t>(config_.left_pad * config_.samples()));
  opened.samples_open = true;
  return opened;
}

}  // namespace syrinx::voxtral_realtime
