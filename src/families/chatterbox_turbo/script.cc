#include "families/chatterbox_turbo/script.h"

#include <algorithm>

#include "families/chatterbox/text.h"
#include "families/s3/script.h"

namespace syrinx::chatterbox_turbo {
namespace {

constexpr size_t kPartBytes = 300;    // bytes of about 20 s; the authors allow 40 s per call
constexpr int64_t kMostSteps = 1001;  // one step more than max_gen_len
enum Table { kText, kSpeech, kTables };

/// Returns whether the flow attends to whole segments. The authors' package does so.
bool attends_to_all(const SpeechRequest& request) {
  return request.terms.flow == FlowMode::kFull ||
         (request.terms.flow == FlowMode::kAuto && request.terms.offline);
}

class Script : public S3Script {
 public:
  Script(const ModelConfig& config, const Tokenizer& tokenizer, std::shared_ptr<const Voice> voice,
         const SpeechRequest& request)
      : S3Script(voice->flow, request.sampling.seed, attends_to_all(request), kSpeechCodes),
        config_(config),
        tokenizer_(tokenizer),
        voice_(std::move(voice)) {}

  Result<std::vector<int32_t>> encode(std::string_view part, int64_t) override {
    std::vector<int32_t> ids = text_ids(tokenizer_, part);
    const int64_t room = config_.text_positions - std::ssize(voice_->prompt_speech) - 2;
    const int64_t most = room - std::min(kMostSteps, room / 2);
    if (std::ssize(ids) > most) {
      return Error{ErrorCode::kInvalid,
                   concat("a part of the text has ", ids.size(),
                          " ids, but the model accepts at most ", most),
                   "input"};
    }
    return ids;
  }

  void prompt(std::deque<SpokenSegment>& past, const SpokenSegment& now, Prompt& out) override {
    past.clear();
    const View row = voice_->rows;
    out.add_vector(std::span<const float>(row.f32(), static_cast<size_t>(row.count())));
    for (const int32_t token : voice_->prompt_speech) out.add_row()[kSpeech] = token;
    out.add(now.ids);
    out.add_row()[kSpeech] = kStartSpeech;
  }

  int64_t step_limit() const override { return std::min(S3Script::step_limit(), kMostSteps); }

  void step_row(int, std::span<const int32_t> codes, std::span<int32_t> ids) const override {
    ids[kSpeech] = codes[0];
  }

  /// The repetition penalty counts the start of speech only in the first step.
  std::span<const int32_t> history(const DelayedStreams& steps, int) const override {
    const std::span<const int32_t> column = steps.column(0);
    return column.size() > 1 ? column.subspan(1) : column;
  }

  int close(const DelayedStreams& steps, int64_t most, StepOutput& out) override {
    if (steps.steps() == 0) return 0;
    const int count = static_cast<int>(std::min<int64_t>(kSilences, most));
    for (int i = 0; i < count; ++i) speak(kSilence, out);
    return count;
  }

 private:
  const ModelConfig& config_;
  const Tokenizer& tokenizer_;
  const std::shared_ptr<const Voice> voice_;
};

}  // namespace

std::vector<int32_t> text_ids(const Tokenizer& tokenizer, std::string_view raw) {
  const std::string text = chatterbox::clean(raw, chatterbox::Punctuation::kTurbo);
  std::vector<Section> tags = tokenizer.specials_in(text);
  std::erase_if(tags, [&](const Section& special) { return text[special.begin] != '['; });
  return tokenizer.encode_around(text, tags);
}

SpokenModel spoken_model(const ModelConfig& config) {
  const SampleParams sampling{.temperature = 0.8f,
                              .top_k = 1000,
                              .top_p = 0.95f,
                              .repetition_penalty = 1.2f,
                              .penalty_last = true};
  return {.tables = kTables,
          .pattern = {.delays = {0}, .marks = {.before = kStartSpeech}, .drain = DelayDrain::kFree},
          .max_positions = config.text_positions,
          .sampling = sampling,
          .text = {.segment_bytes = kPartBytes},
          .spare_steps = kMostSteps,
          .end = kStopSpeech,
          .unspoken = {kSpeechCodes, static_cast<int32_t>(config.speech_vocab)}};
}

Result<std::unique_ptr<SpokenScript>> script_of(const ModelConfig& config,
                                                const Tokenizer& tokenizer,
                                                Result<std::shared_ptr<const Voice>> voice,
                                                const SpeechRequest& request) {
  if (!voice) return voice.error();
  return std::unique_ptr<SpokenScript>(
      std::make_unique<Script>(config, tokenizer, voice.take(), request));
}

}  // namespace syrinx::chatterbox_turbo
