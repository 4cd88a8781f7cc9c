#include <algorithm>

#include "base/ascii.h"
#include "families/higgs/pipeline.h"
#include "families/higgs/tags.h"
#include "families/loading/recorded_voice.h"
#include "families/past.h"

namespace syrinx::higgs {
namespace {

constexpr int64_t kSpareFrames = 250;  // extra frames, besides those per id: ten seconds
constexpr int64_t kFramesPerId = 30;   // frames of one id in slow speech: 1.2 s
constexpr int64_t kMostSteps = 2048;   // most steps of a segment: 82 s, the authors' bound
constexpr int64_t kMostIds = 2000;     // most ids of a segment, or of the words of a voice
constexpr int64_t kMostPast = 1536;    // most rows of earlier segments: a minute

int64_t most_ids(const ModelConfig& config) { return std::min(kMostIds, config.max_positions / 8); }

/// Higgs Audio's prompt for a request: the voice, then the earlier segments with their audio, then
/// the text of the segment. If the earlier segments have more than kMostPast rows, only the first
/// ones stay (families/past.h). C: codebooks.
class Script : public SpokenScript {
 public:
  Script(const ModelConfig& config, const Tokenizer& tokenizer)
      : config_(config), tokenizer_(tokenizer), delays_(config.delays()) {}

  Status set_voice(const Voice& voice, double frame_rate) {
    const auto most =
        std::min(static_cast<int64_t>(kMostSeconds * frame_rate) + 1, config_.max_positions / 4);
    Result<std::vector<int32_t>> codes =
        voice_codes(voice, config_.codebooks, most, config_.real_codes(), config_.real_codes());
    if (!codes) return codes.error();
    reference_frames_ = codes.take();
    if (is_blank(voice.text) || !tokenizer_.id(kRefText)) return ok_status();
    Result<std::vector<int32_t>> words = text_ids(tokenizer_, voice.text, "voice");
    if (!words) return words.error();
    const int64_t bound = most_ids(config_);
    if (std::ssize(words.value()) > bound) {
      return Error{ErrorCode::kInvalid,
                   concat("the words of the voice have ", words.value().size(), " ids; at most ",
                          bound, " fit"),
                   "voice"};
    }
    reference_ = words.take();
    return ok_status();
  }

  /// Returns the ids of a segment. Tags of delivery at the text's beginning also precede each later
  /// segment that begins without such tags. Blanks are kept, as in the authors' program.
  Result<std::vector<int32_t>> encode(std::string_view segment, int64_t) override {
    const std::string_view tags = leading_tags(trimmed(segment));
    std::string text(segment);
    if (!begun_) {
      lead_ = tags;
    } else if (tags.empty()) {
      text = lead_ + text;
    }
    begun_ = true;
    return text_ids(tokenizer_, text, "input");
  }

  void prompt(std::deque<SpokenSegment>& past, const SpokenSegment& now, Prompt& out) override {
    back_to_the_beginning(past, std::min(kMostPast, config_.max_positions / 4),
                          [&](const SpokenSegment& segment) { return rows_of(segment); });
    add(kTts, out);
    if (!reference_frames_.empty()) {
      if (!reference_.empty()) {
        add(kRefText, out);
        out.add(reference_);
      }
      add(kRefAudio, out);
      add_frames(reference_frames_, out);
    }
    for (const SpokenSegment& segment : past) add_segment(segment, out);
    add_segment(now, out);
  }

  int emit(const DelayedStreams&, std::span<int32_t> frame, StepOutput& out) override {
    for (int32_t& code : frame) {
      if (code >= config_.real_codes()) code = 0;  // replaces a mark
    }
    out.frame(frame);
    return 1;
  }

 private:
  void add(const char* word, Prompt& out) const { out.add(tokenizer_.need_id(word)); }

  /// Adds frames in the form of the steps that would make them.
  void add_frames(std::span<const int32_t> frames, Prompt& out) const {
    const std::vector<int32_t> steps = delays_.interleave(frames);
    const auto width = static_cast<size_t>(config_.codebooks);
    for (size_t at = 0; at < steps.size(); at += width) {
      step_row(0, std::span(steps).subspan(at, width), out.add_row(kHeard));
    }
  }

  void add_segment(const SpokenSegment& segment, Prompt& out) const {
    add(kText, out);
    out.add(segment.ids);
    add(kAudio, out);
    if (!segment.frames.empty()) add_frames(segment.frames, out);
  }

  int64_t rows_of(const SpokenSegment& segment) const {
    return std::ssize(segment.ids) + std::ssize(segment.frames) / config_.codebooks +
           delays_.tail() + 2;
  }

  const ModelConfig& config_;
  const Tokenizer& tokenizer_;
  const DelayPattern delays_;
  std::vector<int32_t> reference_;         // words of the voice's recording
  std::vector<int32_t> reference_frames_;  // [T, C]; empty: no voice
  bool begun_ = false;                     // whether a segment of the text was cut already
  std::string lead_;                       // tags of delivery at the beginning of the text
};

}  // namespace

SpokenModel spoken_model(const ModelConfig& config) {
  return {.tables = static_cast<int>(config.codebooks) + 1,
          .pattern = config.delays(),
          .max_positions = config.max_positions,
          // Sampling of speech in the authors' program
          // (sglang-omni:sglang_omni/models/higgs_tts/stages.py, SPEECH_SAMPLING_DEFAULTS).
          .sampling = {.temperature = 0.8f, .top_k = 30, .top_p = 0.8f},
          .text = {.most_ids = most_ids(config)},
          .spare_steps = kSpareFrames,
          .steps_per_id = kFramesPerId,
          .most_steps = kMostSteps - config.delays().tail(),
          .end = config.end(),
          // As in the authors' code, the end counts only after all codebooks have begun.
          .end_from = config.codebooks};
}

Result<std::unique_ptr<SpokenScript>> Higgs::script(const SpeechRequest& request) const {
  if (const Status known = check_voice(info_, request.voice); !known) return known.error();
  auto script = std::make_unique<Script>(config_, *tokenizer_);
  if (request.voice.data) {
    const Status voice = script->set_voice(*request.voice.data, info_.speech.frame_rate);
    if (!voice) return voice.error();
  }
  return std::unique_ptr<SpokenScript>(std::move(script));
}

}  // namespace syrinx::higgs
