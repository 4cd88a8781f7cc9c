#include "families/step_audio2/pipeline.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "families/s3/speaking.h"
#include "families/step_audio2/answer.h"
#include "families/voice_chat/asked_about.h"
#include "families/voice_chat/chat_graph.h"
#include "io/file.h"

namespace syrinx::step_audio2 {
namespace {

// The authors' bound of the ids of an answer with audio.
constexpr int kMostAnswerIds = 4096;
constexpr double kHearsSeconds = 300;
constexpr double kDictatesSeconds = 25;  // seconds of the encoder's longest input
constexpr int kMostDictated = 1024;      // most ids of a transcript
// The system message of the authors' recognition example. It means: "Please write down the speech
// that you hear."
constexpr const char* kRecognises = "请记录下你所听到的语音内容。";
// Sampling of the authors' code; top-k is the default of transformers.
constexpr float kTemperature = 0.7f, kTopP = 0.9f, kPenalty = 1.05f;
constexpr int kTopK = 50;
constexpr const char* kDefaultVoice = "default_female";

}  // namespace

StepAudio2::StepAudio2(const LoadSpec& spec) {
  const Config root = Config::load(join_path(spec.dir, "config.json"));
  config_ = load_config(root);
  load_networks(spec, root);
  tokenizer_ = std::make_unique<Tokenizer>(load_tokenizer(spec.dir, config_.flow.vocab));
  generation_ = llm::load_generation(spec.dir, root, *tokenizer_);
  generation_.sampling.temperature = kTemperature;
  generation_.sampling.top_p = kTopP;
  generation_.sampling.top_k = kTopK;
  generation_.sampling.repetition_penalty = kPenalty;
  ids_ = load_ids(*tokenizer_, config_.flow.vocab);
  root.check("text_config.vocab_size", ids_.code_end <= config_.lm.vocab,
             "is too small for the audio tokens");
  std::vector<int32_t>& ends = generation_.ends;
  ends.insert(std::lower_bound(ends.begin(), ends.end(), ids_.turn_end), ids_.turn_end);
  prompter_ = std::make_unique<Prompter>(*tokenizer_, ids_, config_.lm.max_positions - 1);
  voices_ = make_cloning(spec, config_.flow, info_.speech.no_cloning);
  stored_ = load_voices(spec, *flow_, voices_.get());
  auto nobody = std::make_shared<S3FlowVoice>();
  nobody->speaker = Tensor({config_.flow.mel}, DType::kF32);
  nobody_ = std::move(nobody);
  hearing_ = std::make_unique<HearingStage>(*encoder_);
  flow_stage_ = std::make_unique<S3FlowStage>(*flow_, S3Noise::kSeeded);
  vocoder_ = std::make_unique<S3VocoderStage>(*hift_, config_.flow.ratio);
  graph_ = chat_graph({"hearing", hearing_.get(), HearingStage::kPolicy}, "lm", *lm_,
                      s3_links(config_.flow, *flow_stage_, *vocoder_));
  describe(spec);
}

void StepAudio2::load_networks(const LoadSpec& spec, const Config& root) {
  weights_ = std::make_unique<Weights>(weights_at(spec, spec.dir));
  // No file states the adapter's inner width, so it is read from a tensor's shape.
  if (const auto inner = weights_->shape("adapter.linear1.bias");
      !spec.dummy && inner && inner->dims() == 1) {
    config_.hearing.hidden = (*inner)[0];
  }
  weights_->build([&] {
    lm_ = spec.part("lm",
                    [&] { return llm::load_language_model(config_.lm, *weights_, spec.weights); });
    encoder_ = spec.part("hearing", [&] {
      return std::make_unique<StepAudioEncoder>(config_.hearing, weights_->scope("encoder"),
                                                weights_->scope("adapter"), spec.weights);
    });
  });
  move_networks(spec, "lm", *lm_, "hearing", *encoder_);
  const std::string decoder = join_path(spec.dir, kDecoderFolder);
  const std::string yaml = join_path(decoder, "flow.yaml");
  // With random weights, the folder may be missing; then sizes are those of the published model.
  if (!spec.dummy || is_file(yaml)) {
    config_.flow = load_flow_config(yaml);
  } else {
    config_.flow.dit.emplace();
    config_.flow.whole_prompt = true;
    config_.flow.recent = 100;
  }
  const Weights flow(weights_at(spec, join_path(decoder, "flow.pt")));
  flow_ = load_part(spec, "flow", flow, [&] {
    return std::make_unique<S3Flow>(config_.flow, flow, at_least_8_bits(spec.weights));
  });
  // Some published vocoders have the prefix "generator." in their tensor names.
  const Weights weights(plain_weights_at(spec, join_path(decoder, "hift.pt")));
  const bool prefixed = !spec.dummy && weights.count("generator.resblocks") > 0;
  const Weights scope = weights.scope(prefixed ? "generator" : "");
  config_.hift = HiftConfig();
  if (!spec.dummy) config_.hift = load_hift_sizes(scope, config_.flow);
  hift_ = load_part(spec, "vocoder", weights,
                    [&] { return std::make_unique<Hift>(config_.hift, scope, spec.weights); });
  move_networks(spec, "flow", *flow_, "vocoder", *hift_);
  root.check("", config_.flow.mel == config_.hift.mel,
             concat(yaml, ": flow.output_size differs from the vocoder's mel"));
}

void StepAudio2::describe(const LoadSpec& spec) {
  name(kFamily, spec, "Apache-2.0");
  info_.writes = true;
  info_.speech.sample_rate = static_cast<int>(config_.hift.source.sample_rate);
  info_.speech.frame_rate =
      static_cast<double>(info_.speech.sample_rate) / vocoder_->samples_per_token();
  for (const auto& [name, voice] : stored_)
    info_.speech.voices.push_back({name, "a recording's voice"});
  if (stored_.contains(kDefaultVoice)) {
    info_.speech.default_voice = kDefaultVoice;
  } else if (!stored_.empty()) {
    info_.speech.default_voice = stored_.begin()->first;
  }
  info_.speech.languages = {"chinese", "english"};
  info_.hearing.seconds = kHearsSeconds;
  info_.writing.positions = config_.lm.max_positions;
  info_.hearing.first_channel = true;
  const double piece_s =
      static_cast<double>(StepAudioEncoder::kPiece) / StepAudioEncoder::kSampleRate;
  info_.hearing.ahead = {piece_s, piece_s};
  info_.writing.recalls = true;
  info_.hearing.dictates_s = kDictatesSeconds;
  info_.offers.add("flow");
  const StepAudioEncoderConfig& e = config_.hearing;
  const S3FlowConfig& f = config_.flow;
  info_.parts = {{"audio encoder", concat(e.layers, " layers, width ", e.width, ", pieces of 25 s"),
                  encoder_->bytes()}};
  std::ranges::move(describe_lm(*lm_), std::back_inserter(info_.parts));
  info_.parts.push_back(
      {"flow",
       concat(f.layers, " + ", f.up_layers, " encoder layers x ", f.width, ", ", f.dit->depth,
              " estimator blocks x ", f.dit->width, ", ", f.steps, " steps; ",
              flow_->bytes_per_second() >> 20, " MB a second of a prompt"),
       flow_->bytes()});
  info_.parts.push_back(
      {"vocoder", concat(vocoder_->samples_per_token(), " samples a code"), hift_->bytes()});
}

/// Returns the prompt of a request. Writes the samples for the hearing stage: whole frames for
/// every piece of every recording.
Result<ChatPrompt> StepAudio2::prompt_of(const SpeechRequest& request,
                                         std::vector<float>& samples) const {
  if (!request.writing.chat && request.writing.text_only)
    return prompter_->of_text(request.say.text);
  if (!request.writing.chat) return prompter_->reading_aloud(request.say.text);
  auto recordings =
      recordings_at(request, static_cast<int>(StepAudioEncoder::kSampleRate), Resampling::kHann);
  if (!recordings.ok()) return recordings.error();
  std::vector<int64_t> lengths;
  std::vector<Heard> pieces;
  std::vector<uint64_t> keys;
  for (const std::vector<float>& all : recordings.value()) {
    lengths.push_back(std::ssize(all));
    for (int64_t at = 0; at < std::ssize(all); at += StepAudioEncoder::kPiece) {
      const auto piece = std::span(all).subspan(
          static_cast<size_t>(at),
          static_cast<size_t>(std::min(StepAudioEncoder::kPiece, std::ssize(all) - at)));
      const int64_t rows = StepAudioEncoder::count(std::ssize(piece));
      pieces.push_back({std::ssize(piece), rows, 0, {StepAudioEncoder::key(piece)}});
      append_row_keys(pieces.back().keys[0], rows, keys);
      append_frames(piece, HearingStage::kFrameSamples, samples);
    }
  }
  auto made = prompter_->of_chat(*request.writing.chat, lengths, request.writing.answers,
                                 !request.writing.text_only);
  if (!made.ok()) return made;
  ChatPrompt prompt = made.take();
  prompt.heard = std::move(pieces);
  prompt.keys = std::move(keys);
  return prompt;
}

Result<std::shared_ptr<const S3FlowVoice>> StepAudio2::voice(const SpeechRequest& request) const {
  if (request.voice.data) {
    return recent_.of(*request.voice.data,
                      [&](const Voice& data) { return voice_of(data, *flow_); });
  }
  if (stored_.empty()) {
    return Error{ErrorCode::kUnsupported,
                 concat("this checkpoint has no voices (assets/default_female.wav, and the files "
                        "that encode it",
                        info_.speech.no_cloning.empty() ? "" : ": " + info_.speech.no_cloning,
                        "); give a recording or a voice made from a recording"),
                 "voice"};
  }
  const Result<std::string> name = voice_name(info_, request.voice);
  if (!name) return name.error();
  return stored_.at(name.value());
}

Result<SpeechRequest> StepAudio2::dictation(const Dictation& dictation) const {
  SpeechRequest request = asked_about(dictation, kRecognises, "");
  request.writing.max_tokens = kMostDictated;
  return request;
}

Result<Opened> StepAudio2::open(const SpeechRequest& request) const {
  const bool speaks = !request.writing.text_only;
  std::shared_ptr<const S3FlowVoice> speaker = nobody_;
  if (speaks) {
    auto found = voice(request);
    if (!found.ok()) return found.error();
    speaker = found.take();
  }
  Opened opened;
  Result<ChatPrompt> prompt = prompt_of(request, opened.samples);
  if (!prompt.ok()) return prompt.error();
  SpeechRequest answer = request;
  if (speaks) {
    constexpr int kRun = Answer::kRuns.codes;
    const bool full = request.terms.flow == FlowMode::kFull;
    const int64_t said = std::ssize(prompt.value().said);
    if (full && said > kMostFullTokens / kRun) {
      return Error{
          ErrorCode::kInvalid,
          concat("the text has ", said, " tokens; with the full flow this model reads at most ",
                 kMostFullTokens / kRun, " aloud at once"),
          "input"};
    }
    const int64_t most_full = kMostFullTokens + std::min<int64_t>(said, kMostFullTokens / kRun);
    answer.writing.max_tokens =
        most_ids(request, said, Answer::kRuns, full ? most_full : kMostAnswerIds);
  }
  opened.sequences.push_back(std::make_unique<Answer>(ids_, config_.lm, generation_, *tokenizer_,
                                                      answer, prompt.take(), std::move(speaker),
                                                      speaks));
  return opened;
}

}  // namespace syrinx::step_audio2
