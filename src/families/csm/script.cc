#include "families/csm/script.h"

#include <algorithm>

#include "base/ascii.h"
#include "families/loading/recorded_voice.h"

namespace syrinx::csm {
namespace {

constexpr int64_t kSpareFrames = 125;  // ten seconds beyond what the text needs
constexpr int64_t kFramesPerId = 15;   // slow speech: 1.2 s for one id
constexpr int64_t kMostFrames = 1125;  // the authors' bound: 90 s
constexpr int64_t kLikelyPerId = 6;    // what is kept free for the frames of a segment
constexpr int64_t kLikelySpare = 25;
constexpr int64_t kLeastFrames = 125;  // context must leave so many

class Script : public SpokenScript {
 public:
  Script(const ModelConfig& config, const Frontend& frontend, int speaker, bool ignore_stop)
      : config_(config), frontend_(frontend), speaker_(speaker), ignore_stop_(ignore_stop) {}

  /// The recording of a voice is heard as the first of the earlier turns.
  Status take_context(const SpeechRequest& request) {
    const int64_t most = config_.max_positions - kLeastFrames;
    if (request.voice_data) {
      const Result<std::vector<int32_t>> codes =
          voice_codes(*request.voice_data, config_.codebooks, most);
      if (!codes) return codes.error();
      const Status heard = hear({frontend_.turn(speaker_, request.voice_data->text), codes.value()},
                                "the voice", "voice");
      if (!heard.ok()) return heard;
    }
    for (size_t i = 0; i < request.context.size(); ++i) {
      const ContextTurn& turn = request.context[i];
      const std::string what = "context turn " + std::to_string(i);
      const Result<int> speaker = frontend_.speaker(turn.voice);
      if (!speaker) {
        return Error{ErrorCode::kInvalid, what + ": " + speaker.error().message, "context"};
      }
      std::vector<int32_t> codes = turn.codes;
      if (turn.recording) {
        Result<std::vector<int32_t>> recorded =
            voice_codes(*turn.recording, config_.codebooks, most);
        if (!recorded) {
          return Error{ErrorCode::kInvalid, what + ": " + recorded.error().message, "context"};
        }
        codes = recorded.take();
      }
      const Status heard =
          hear({frontend_.turn(speaker.value(), turn.text), std::move(codes)}, what, "context");
      if (!heard.ok()) return heard;
    }
    return ok_status();
  }

  Result<std::vector<int32_t>> encode(std::string_view segment, int64_t) override {
    return frontend_.turn(speaker_, trimmed(segment));
  }

  /// Without the segment before it each would find a voice of its own.
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

  void step_row(int, std::span<const int32_t> codes, std::span<int32_t> ids) const override {
    std::ranges::copy(codes, ids.begin() + 1);
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
  /// Checks a turn, which `what` names, and keeps it.
  Status hear(const SpokenSegment& turn, const std::string& what, const char* param) {
    const auto refuse = [&](const std::string& why) {
      return Error{ErrorCode::kInvalid, what + ": " + why, param};
    };
    const auto c = static_cast<size_t>(config_.codebooks);
    if (turn.frames.size() % c != 0) {
      return refuse(std::to_string(turn.frames.size()) + " codes are no frames of " +
                    std::to_string(c));
    }
    for (const int32_t code : turn.frames) {
      if (code < 0 || code >= config_.audio_codes()) {
        return refuse("code " + std::to_string(code) + " of " +
                      std::to_string(config_.audio_codes()));
      }
    }
    int64_t rows = rows_of(turn);
    for (const SpokenSegment& earlier : context_) rows += rows_of(earlier);
    if (rows > config_.max_positions) {
      return refuse("the turns so far take " + std::to_string(rows) + " positions, the model has " +
                    std::to_string(config_.max_positions));
    }
    context_.push_back(turn);
    return ok_status();
  }

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

  const ModelConfig& config_;
  const Frontend& frontend_;
  const int speaker_;
  const bool ignore_stop_;
  std::vector<SpokenSegment> context_;  // as given, the voice's recording first
};

}  // namespace

SpokenModel spoken_model(const ModelConfig& config, const Defaults& defaults) {
  const auto streams = static_cast<size_t>(config.codebooks);
  return {.tables = static_cast<int>(config.codebooks) + 1,
          .pattern = {.delays = std::vector<int>(streams), .marks = {}, .drain = DelayDrain::kFree},
          .max_positions = config.max_positions,
          .sampling = defaults.outer,
          .inner_sampling = defaults.inner,
          .text = {.short_chars = 0},
          .spare_steps = kSpareFrames - kFramesPerId * Frontend::kControlIds,
          .steps_per_id = kFramesPerId,
          .most_steps = kMostFrames,
          .least_steps = kLeastFrames};
}

Result<std::unique_ptr<SpokenScript>> script_of(const ModelConfig& config, const Frontend& frontend,
                                                const SpeechRequest& request) {
  const Result<int> named = frontend.speaker(request.voice);
  // A voice given as data may have any name; where that is a number, it is the speaker's.
  if (!named && !request.voice_data) return named.error();
  const int speaker = request.speaker >= 0 ? request.speaker : named ? named.value() : 0;
  auto script = std::make_unique<Script>(config, frontend, speaker, request.ignore_stop);
  if (const Status context = script->take_context(request); !context.ok()) return context.error();
  return std::unique_ptr<SpokenScript>(std::move(script));
}

}  // namespace syrinx::csm
