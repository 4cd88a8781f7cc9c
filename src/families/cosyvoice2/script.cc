// The prompt of CosyVoice2 and 3 for a request: the voice's text or instructions, a part of the
// text, the voice's speech. A part is a segment.
#include "families/s3/script.h"

#include <algorithm>

#include "families/cosyvoice2/pipeline.h"

namespace syrinx::cosyvoice2 {
namespace {

// Steps per id of the text: the least, before which the end is forbidden, and the most.
constexpr int64_t kLeastPerId = 2, kMostPerId = 20;
// Tokens of silence and breath in the third edition. At most kMostSilent consecutive ones are
// spoken (CosyVoice:cosyvoice/cli/model.py, CosyVoice3Model, llm_job).
constexpr int32_t kSilent[] = {1, 2, 28, 29, 55, 248, 494, 2241, 2242, 2322, 2323};
constexpr int kMostSilent = 5;
enum Table : size_t { kText, kControl, kSpeech, kTables };  // a row is one entry of one table

class Script : public S3Script {
 public:
  /// The request chooses the flow's attention: the authors trained the flow with both kinds.
  Script(const ModelConfig& config, const Frontend& frontend, std::shared_ptr<const Voice> voice,
         const SpeechRequest& request)
      : S3Script(voice->flow, request.sampling.seed, request.terms.flow == FlowMode::kFull,
                 static_cast<int32_t>(config.speech_codes)),
        config_(config),
        frontend_(frontend),
        spell_(request.say.spell_numbers.value_or(true)),
        before_(before(frontend, *voice, request.say.instructions)),
        speech_(request.say.instructions.empty() ? voice->prompt_speech : std::vector<int32_t>()) {}

  TextPlan::Split splitter() override {
    return [this](std::string_view text, int64_t, bool) { return frontend_.parts(text, spell_); };
  }

  Result<std::vector<int32_t>> encode(std::string_view part, int64_t) override {
    std::vector<int32_t> ids = frontend_.ids(part);
    const size_t rows = before_.size() + ids.size() + speech_.size() + 2;
    if (static_cast<int64_t>(rows) + 2 > config_.max_positions) {
      return Error{ErrorCode::kInvalid,
                   concat("text, voice and instructions take ", rows,
                          " positions, but the model has only ", config_.max_positions),
                   "input"};
    }
    return ids;
  }

  void prompt(std::deque<SpokenSegment>& past, const SpokenSegment& now, Prompt& out) override {
    past.clear();
    text_ids_ = std::ssize(now.ids);
    const auto add = [&](Table table, int32_t id) { out.add_row(id)[table] = id; };
    add(kControl, config_.begin_row());
    // A text that has a prompt of its own needs no system sentence.
    if (before_ != frontend_.system() || !frontend_.ends_prompt(now.ids)) out.add(before_);
    out.add(now.ids);
    add(kControl, config_.task_row());
    for (const int32_t token : speech_) add(kSpeech, token);
  }

  void step_row(int, std::span<const int32_t> codes, std::span<int32_t> ids) const override {
    ids[kSpeech] = codes[0];
  }

  SampleRule rule(const DelayedStreams& steps, int) const override {
    SampleRule rule;
    const auto codes = static_cast<int32_t>(config_.speech_codes);
    if (steps.steps() >= kMostPerId * text_ids_) {
      rule.forced = config_.end_id();
    } else if (steps.steps() < kLeastPerId * text_ids_) {
      // As in the authors' code, only the first of the ids that end speech is excluded. In the
      // third edition, this is not the id of the end.
      rule.allowed[rule.ranges++] = {0, codes};
      rule.allowed[rule.ranges++] = {codes + 1, static_cast<int32_t>(config_.speech_vocab())};
    }
    return rule;
  }

  bool ends(DelayedStreams&, std::span<const int32_t> codes) const override {
    return codes[0] >= config_.speech_codes;
  }

  /// Omits tokens of silence after kMostSilent consecutive ones, as the authors' code does.
  int emit(const DelayedStreams& steps, std::span<int32_t> frame, StepOutput& out) override {
    if (steps.steps() == 1) silent_ = 0;
    const bool silent = config_.edition.third && std::ranges::binary_search(kSilent, frame[0]);
    silent_ = silent ? silent_ + 1 : 0;
    return silent_ > kMostSilent ? 0 : S3Script::emit(steps, frame, out);
  }

 private:
  /// Returns the ids before the text.
  static std::vector<int32_t> before(const Frontend& frontend, const Voice& voice,
                                     std::string_view instructions) {
    if (!instructions.empty()) return frontend.instructions(instructions);
    if (frontend.system().empty() || frontend.ends_prompt(voice.prompt_text))
      return voice.prompt_text;
    std::vector<int32_t> ids = frontend.system();
    ids.insert(ids.end(), voice.prompt_text.begin(), voice.prompt_text.end());
    return ids;
  }

  const ModelConfig& config_;
  const Frontend& frontend_;
  const bool spell_;
  const std::vector<int32_t> before_, speech_;  // ids before the text, and speech tokens after it
  int64_t text_ids_ = 0;                        // number of text ids of the segment
  int silent_ = 0;                              // number of consecutive tokens of silence
};

}  // namespace

SpokenModel spoken_model(const ModelConfig& config) {
  return {.tables = kTables,
          .pattern = DelayPattern::none(1),
          .max_positions = config.max_positions,
          .sampling = config.sampling,
          .spare_steps = 1,  // the last step ends the part and makes no token
          .steps_per_id = kMostPerId,
          .unspoken = {static_cast<int32_t>(config.speech_codes),
                       static_cast<int32_t>(config.speech_vocab())}};
}

Result<std::unique_ptr<SpokenScript>> CosyVoice2::script(const SpeechRequest& request) const {
  Result<std::shared_ptr<const Voice>> speaker = voice(request);
  if (!speaker) return speaker.error();
  return std::unique_ptr<SpokenScript>(
      std::make_unique<Script>(config_, *frontend_, speaker.take(), request));
}

}  // namespace syrinx::cosyvoice2
