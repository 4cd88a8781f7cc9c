// CSM's prompt for a request: the earlier turns (including the recording of its voice), the
// previous segment, and the text to speak. A turn is its text, then its frames and an end frame.
#include <algorithm>

#include "base/ascii.h"
#include "base/check.h"
#include "families/csm/pipeline.h"
#include "families/loading/describe.h"
#include "families/spoken/heard_turns.h"

namespace syrinx::csm {
namespace {

constexpr int64_t kSpareFrames = 125;  // extra frames, besides those per id: ten seconds
constexpr int64_t kFramesPerId = 15;   // frames of one id in slow speech: 1.2 s
constexpr int64_t kMostFrames = 1125;  // 90 s: limit in the authors' code
constexpr int64_t kLikelyPerId = 6;    // frames for which positions stay free, per id of a segment
constexpr int64_t kLikelySpare = 25;
constexpr int64_t kControlIds = 2;     // ids of a turn that do not belong to its text
constexpr int64_t kLeastFrames = 125;  // frames for which a context must leave positions

class Script : public SpokenScript {
 public:
  Script(const Csm& model, int speaker, bool ignore_stop)
      : model_(model), config_(model.config()), speaker_(speaker), ignore_stop_(ignore_stop) {}

  /// Stores the context. The recording of the request's voice is its first turn.
  Status take_context(const SpeechRequest& request) {
    Result<std::vector<HeardTurn>> turns = heard_turns(
        request, config_.codebooks, config_.audio_codes(), config_.max_positions - kLeastFrames);
    if (!turns) return turns.error();
    int64_t rows = 0;
    for (HeardTurn& turn : turns.value()) {
      const Result<int> speaker =
          turn.own ? Result<int>(speaker_) : speaker_number(turn.voice, kMaxSpeaker, 0);
      if (!speaker) return turn.refused(speaker.error().message);
      context_.push_back({model_.turn(speaker.value(), turn.text), std::move(turn.codes)});
      rows += rows_of(context_.back());
      if (rows > config_.max_positions) {
        return turn.refused(concat("the turns so far take ", rows,
                                   " positions, but the model has only ", config_.max_positions));
      }
    }
    return ok_status();
  }

  Result<std::vector<int32_t>> encode(std::string_view segment, int64_t) override {
    return model_.turn(speaker_, trimmed(segment));
  }

  /// Each prompt contains the previous segment. Otherwise each segment would have a new voice.
  void prompt(std::deque<SpokenSegment>& past, const SpokenSegment& now, Prompt& out) override {
    if (past.size() > 1) past.erase(past.begin(), past.end() - 1);
    int64_t rows = std::ssize(now.ids);
    for (const SpokenSegment& turn : context_) {
      add_turn(turn, out);
      rows += rows_of(turn);
    }
    const int64_t likely = kLikelyPerId * std::ssize(now.ids) + kLikelySpare;
    if (!past.empty() && rows + rows_of(past.back()) + likely <= config_.max_positions) {
      add_turn(past.back(), out);
    }
    add_turn(now, out);
  }

  SampleRule rule(const DelayedStreams&, int) const override {
    SampleRule rule;
    rule.allowed[rule.ranges++] = {0, static_cast<int32_t>(config_.audio_codes())};
    return rule;
  }

  bool ends(DelayedStreams&, std::span<const int32_t> codes) const override {
    return !ignore_stop_ &&
           std::ranges::all_of(codes, [&](int32_t code) { return code == config_.end_code; });
  }

 private:
  int64_t rows_of(const SpokenSegment& turn) const {
    const auto frames = static_cast<int64_t>(turn.frames.size()) / config_.codebooks;
    return static_cast<int64_t>(turn.ids.size()) + (frames > 0 ? frames + 1 : 0);
  }

  void add_turn(const SpokenSegment& turn, Prompt& out) const {
    out.add(turn.ids);
    const auto width = static_cast<size_t>(config_.codebooks);
    for (size_t at = 0; at < turn.frames.size(); at += width) {
      step_row(0, std::span(turn.frames).subspan(at, width), out.add_row(config_.audio_token));
    }
    if (turn.frames.empty()) return;
    std::ranges::fill(out.add_row(config_.audio_end_token).subspan(1), config_.end_code);
  }

  const Csm& model_;
  const ModelConfig& config_;
  const int speaker_;
  const bool ignore_stop_;
  std::vector<SpokenSegment> context_;  // turns of the context; the first is the voice's recording
};

}  // namespace

std::vector<int32_t> Csm::turn(int speaker, std::string_view text) const {
  std::vector<int32_t> ids = tokenizer_->encode(concat("[", speaker, "]", text), false);
  ids.insert(ids.begin(), tokenizer_->need_id(kBegin));
  ids.push_back(tokenizer_->need_id(kEnd));
  return ids;
}

SpokenModel spoken_model(const ModelConfig& config, const Defaults& defaults) {
  return {.tables = static_cast<int>(config.codebooks) + 1,
          .pattern = DelayPattern::none(config.codebooks),
          .max_positions = config.max_positions,
          .sampling = defaults.outer,
          .inner_sampling = defaults.inner,
          .text = {.short_chars = 0},
          .spare_steps = kSpareFrames - kFramesPerId * kControlIds,
          .steps_per_id = kFramesPerId,
          .most_steps = kMostFrames,
          .least_steps = kLeastFrames};
}

Result<std::unique_ptr<SpokenScript>> Csm::script(const SpeechRequest& request) const {
  const Result<int> named = speaker_number(request.voice.name, kMaxSpeaker, 0);
  // The name of a voice given as data may be anything. If it is a number, it names the speaker.
  if (!named && !request.voice.data) return named.error();
  const int speaker = request.voice.speaker >= 0 ? request.voice.speaker
                      : named                    ? named.value()
                                                 : 0;
  auto script = std::make_unique<Script>(*this, speaker, request.terms.ignore_stop);
  if (const Status context = script->take_context(request); !context) return context.error();
  return std::unique_ptr<SpokenScript>(std::move(script));
}

}  // namespace syrinx::csm
