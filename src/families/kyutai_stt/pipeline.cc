#include "families/kyutai_stt/pipeline.h"

#include "families/kyutai_stt/transcription.h"
#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "io/file.h"

namespace syrinx::kyutai_stt {
namespace {

/// Opens the vocabulary. Random weights need none.
Unigram open_words(const LoadSpec& spec, const ModelConfig& config) {
  const std::string path = join_path(spec.dir, config.files.tokenizer);
  if (spec.dummy && !is_file(path)) return Unigram::characters();
  Unigram words = Unigram::from_model(path);
  if (words.size() <= config.text_out) return words;
  throw LoadError(concat(path, ": the tokenizer has ids up to ", words.size() - 1,
                         ", but the model has only ", config.text_out));
}

}  // namespace

KyutaiStt::KyutaiStt(const LoadSpec& spec) {
  config_ = load_model_config(Config::load(join_path(spec.dir, "config.json")), spec.dir);
  words_ = open_words(spec, config_);
  const auto open = [&](auto&& stored, const auto& config, const std::string& name) {
    return spec.dummy ? dummy_weights({}) : stored(config, join_path(spec.dir, name));
  };
  const Weights mimi(open(moshi::open_mimi, config_.mimi, config_.files.codec));
  weights_ = std::make_unique<Weights>(open(open_lm, config_, config_.files.weights));
  mimi.build(
      [&] {
        encoder_ = spec.part(
            "encoder", [&] { return std::make_unique<HearingStage>(config_, *weights_, mimi); });
      },
      {"decoder.*", "decoder_transformer.*", "upsample.*", "quantizer.*.output_proj.weight",
       "quantizer.rvq_rest.vq.layers.*"});
  weights_->build(
      [&] {
        lm_ = spec.part(
            "lm", [&] { return std::make_unique<TextStage>(config_, *weights_, spec.weights); });
      },
      {"extra_heads.*"});
  const FrameType rows = encoder_->out(), text{Flow::kText};
  graph_ = {{{.name = "encoder", .chunk = encoder_.get(), .in = {}, .out = {}},
             {.name = "lm", .ar = lm_.get(), .in = {rows}, .out = {text}}},
            {{.from = {kClient}, .to = {0}, .policy = encoder_->policy()},
             {.from = {0}, .to = {1}},
             {.from = {1}, .to = {kClient}}}};
  describe(spec);
}

void KyutaiStt::describe(const LoadSpec& spec) {
  name("kyutai_stt", spec, "see the checkpoint (Kyutai's are CC-BY-4.0)");
  info_.speaks = false;
  info_.writes = true;
  set_rates(info_, config_.mimi);
  info_.speech.no_cloning = "this model transcribes; it has no voices";
  info_.hearing.frame = static_cast<int>(config_.mimi.hop());
  info_.hearing.rate = static_cast<int>(config_.mimi.sample_rate);
  info_.hearing.tail = static_cast<int>(config_.frames_after() * config_.mimi.hop());
  info_.parts = {{"encoder", "Mimi, " + describe_codec(config_.mimi), encoder_->bytes()},
                 {"language model",
                  concat(describe_decoder(config_.lm), ", ", config_.lm.window, " positions, ",
                         config_.text_out, " ids"),
                  lm_->bytes()}};
}

Result<SpeechRequest> KyutaiStt::listening(const OpenDictation& listening) const {
  auto hearing = std::make_shared<Hearing>();
  hearing->scores = listening.scores;
  SpeechRequest request;
  request.task = std::move(hearing);
  return request;
}

Result<Opened> KyutaiStt::open(const SpeechRequest& request) const {
  if (!request.task) {
    return Error{ErrorCode::kUnsupported,
                 "this model only transcribes recordings; it does not accept text or messages",
                 request.writing.chat ? "messages" : "input"};
  }
  const auto hearing = std::dynamic_pointer_cast<Hearing>(request.task);
  if (!hearing) return Error{ErrorCode::kInvalid, "the task belongs to another family", "task"};
  Opened opened(std::make_unique<Transcription>(config_, *words_, lm_->open(), hearing->scores));
  opened.samples.resize(static_cast<size_t>(config_.frames_before() * config_.mimi.hop()));
  opened.samples_open = true;
  return opened;
}

}  // namespace syrinx::kyutai_stt
