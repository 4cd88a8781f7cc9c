// Fish Speech's prompt for a request: a conversation of its references, the earlier messages and
// the message to speak. A message is a segment. If the earlier messages have more than kMostPast
// rows, only the first of them stay in the prompt (families/past.h).
#include <algorithm>

#include "base/ascii.h"
#include "families/fish_speech/pipeline.h"
#include "families/loading/describe.h"
#include "families/loading/recorded_voice.h"
#include "families/past.h"
#include "families/spoken/heard_turns.h"

namespace syrinx::fish_speech {
namespace {

constexpr int64_t kSpareFrames = 215;  // extra frames, besides those per id: ten seconds
constexpr int64_t kFramesPerId = 26;   // frames of one id in slow speech: 1.2 s

/// Returns the number of steps for which a prompt must leave positions: the authors' bound, but at
/// most half of the model's positions.
int64_t least_steps(const ModelConfig& config) {
  return std::min<int64_t>(2048, config.max_positions / 2);
}

class Script : public SpokenScript {
 public:
  Script(const ModelConfig& config, const Prompter& prompter, const SpeechRequest& request)
      : config_(config),
        prompter_(prompter),
        sayings_(request.say.sayings),
        lexicon_(request.say.lexicon) {}

  Status take_speaker(const SpeechRequest& request) {
    if (request.voice.speaker >= 0) {
      tag_ = speaker_tag(request.voice.speaker);
    } else if (!request.voice.data) {  // a voice with data may have any name
      const Result<int> speaker = speaker_number(request.voice.name, Prompter::kMaxSpeaker, 0);
      if (!speaker) return speaker.error();
      if (speaker.value() > 0) tag_ = speaker_tag(speaker.value());
    }
    return ok_status();
  }

  /// Stores the references: the recording of the voice, then the turns of the context. Numbers
  /// their speakers in order, unless a turn names its speaker.
  Status take_references(const SpeechRequest& request) {
    const Result<std::vector<HeardTurn>> turns = heard_turns(
        request, config_.codebooks, config_.codes, config_.max_positions - least_steps(config_));
    if (!turns) return turns.error();
    int next = 0;
    for (const HeardTurn& turn : turns.value()) {
      const Result<int> speaker = turn.own
                                      ? Result<int>(std::max(0, request.voice.speaker))
                                      : speaker_number(turn.voice, Prompter::kMaxSpeaker, next);
      if (!speaker) return turn.refused(speaker.error().message);
      if (const Status added = add_reference(turn, speaker.value()); !added.ok()) return added;
      ++next;
    }
    return ok_status();
  }

  /// Joins turns of speakers into messages. Each sentence of late text is one message or several. A
  /// speaker tag is valid until the next tag.
  TextPlan::Split splitter() override {
    return [this](std::string_view text, int64_t begin, bool whole) {
      const std::string said = as_said(text, begin);
      std::vector<SpokenTurn> turns = spoken_turns(whole ? said : trimmed(said));
      if (whole && !tag_.empty() && turns.front().tag.empty()) turns = spoken_turns(tag_ + said);
      for (SpokenTurn& turn : turns) {
        if (turn.tag.empty()) {
          turn.text = tag_ + turn.text;
        } else {
          tag_ = turn.tag;
        }
      }
      return messages_of(turns);
    };
  }

  Result<std::vector<int32_t>> encode(std::string_view message, int64_t) override {
    return prompter_.text(message);
  }

  void prompt(std::deque<SpokenSegment>& past, const SpokenSegment& now, Prompt& out) override {
    const Prompter& p = prompter_;
    if (reference_frames_.empty()) {
      out.add(p.system());
    } else {
      out.add(p.references());
      out.add(p.text(reference_text_));
      out.add(p.speech());
      add_frames(reference_frames_, out);
      out.add(p.end());
    }
    const auto question = std::ssize(p.user()) + std::ssize(p.end()) + std::ssize(p.answer());
    const int64_t room =
        config_.max_positions - least_steps(config_) - out.size() - question - std::ssize(now.ids);
    back_to_the_beginning(past, std::min(kMostPast, room), [&](const SpokenSegment& message) {
      return question + std::ssize(message.ids) + std::ssize(message.frames) / config_.codebooks +
             std::ssize(p.end());
    });
    for (const SpokenSegment& message : past) {
      add_question(message, out);
      add_frames(message.frames, out);
      out.add(p.end());
    }
    add_question(now, out);
  }

  void step_row(int, std::span<const int32_t> codes, std::span<int32_t> ids) const override {
    ids[0] = config_.semantic_begin + codes[0];
    std::ranges::copy(codes, ids.begin() + 1);
  }

  /// As in the authors' code, the penalty does not count the first frame of a message.
  std::span<const int32_t> history(const DelayedStreams& steps, int k) const override {
    return SpokenScript::history(steps, k).subspan(std::min(1, steps.steps()));
  }

 private:
  Status add_reference(const HeardTurn& turn, int speaker) {
    if (is_blank(turn.text)) {
      return turn.refused("has no text; the model needs the words of the recording");
    }
    if (turn.codes.empty()) return turn.refused("has no codes");
    const auto most = static_cast<size_t>(config_.max_positions * config_.codebooks);
    if (reference_frames_.size() + turn.codes.size() > most) {
      return turn.refused(concat("the references have more frames than the model's ",
                                 config_.max_positions, " positions; use shorter ones"));
    }
    if (!reference_text_.empty()) reference_text_ += "\n";
    const std::vector<SpokenTurn> turns = spoken_turns(turn.text);
    const bool tagged =
        std::ranges::any_of(turns, [](const SpokenTurn& spoken) { return !spoken.tag.empty(); });
    reference_text_ += (tagged ? "" : speaker_tag(speaker)) + turn.text;
    reference_frames_.insert(reference_frames_.end(), turn.codes.begin(), turn.codes.end());
    return ok_status();
  }

  /// Returns a part of the request's text that begins at byte `begin`, with the pronunciations that
  /// the request and its lexicon state.
  std::string as_said(std::string_view part, int64_t begin) const {
    if (!prompter_.says_phones()) return std::string(part);
    return with_phones(part, sayings_in(part, begin, sayings_, lexicon_.get()));
  }

  void add_question(const SpokenSegment& message, Prompt& out) const {
    out.add(prompter_.user());
    out.add(message.ids);
    out.add(prompter_.end());
    out.add(prompter_.answer());
  }

  void add_frames(std::span<const int32_t> frames, Prompt& out) const {
    const auto width = static_cast<size_t>(config_.codebooks);
    for (size_t at = 0; at < frames.size(); at += width) {
      step_row(0, frames.subspan(at, width), out.add_row(config_.semantic_begin + frames[at]));
    }
  }

  const ModelConfig& config_;
  const Prompter& prompter_;
  const std::vector<Saying> sayings_;
  const std::shared_ptr<const Lexicon> lexicon_;
  std::string tag_;  // speaker tag for text that has no tag
  std::string reference_text_;
  std::vector<int32_t> reference_frames_;  // [T, C]
};

}  // namespace

SpokenModel spoken_model(const ModelConfig& config) {
  // Values of the authors' code (fish-speech:fish_speech/models/text2semantic/inference.py).
  SampleParams fast{.temperature = 1, .top_k = 30, .top_p = 0.9f, .filter_first = true};
  SampleParams slow = fast;
  slow.ras_window = 10;
  slow.ras_temperature = 1, slow.ras_top_p = 0.9f;
  return {.tables = static_cast<int>(config.codebooks) + 1,
          .pattern = DelayPattern::none(config.codebooks),
          .max_positions = config.max_positions,
          .sampling = slow,
          .inner_sampling = fast,
          .text = {.short_chars = 0},
          .spare_steps = kSpareFrames,
          .steps_per_id = kFramesPerId,
          .least_steps = least_steps(config),
          .end = config.end_code()};
}

Result<std::unique_ptr<SpokenScript>> FishSpeech::script(const SpeechRequest& request) const {
  auto script = std::make_unique<Script>(config_, *prompter_, request);
  if (const Status speaker = script->take_speaker(request); !speaker) return speaker.error();
  if (const Status turns = script->take_references(request); !turns) return turns.error();
  return std::unique_ptr<SpokenScript>(std::move(script));
}

}  // namespace syrinx::fish_speech
