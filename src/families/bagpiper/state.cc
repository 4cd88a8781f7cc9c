#include "families/bagpiper/state.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"
#include "base/check.h"
#include "model/past_context.h"

namespace syrinx::bagpiper {
namespace {

// Values in the published inference.yaml.
constexpr float kSpeechTemperature = 0.8f, kWordsTemperature = 0.6f, kGuidance = 3;
constexpr int kTopK = 20;

constexpr int64_t kLeastRoom = 256;  // steps for which a prompt must leave positions free
constexpr int kTurnSteps = 2;
constexpr int64_t kMoreTurns = 32;  // steps for the turns of later parts
constexpr int kReserved = 4096;     // words for which memory is reserved at the start

Error unsupported(const char* what, const char* param) {
  return {ErrorCode::kUnsupported, what, param};
}

bool is_end(int32_t id) { return id == kEnd || id == kEndPart; }

/// Returns an Error if a prompt of `rows` rows leaves too few positions for an answer.
Status fits(const ModelConfig& config, int64_t rows, const char* param) {
  if (rows <= config.max_positions - kLeastRoom) return ok_status();
  return past_context(config.max_positions, rows, param, kLeastRoom);
}

/// Returns the bounds of a segment that has `room` positions after its prompt. `tail`: steps of the
/// delay pattern after the last frame. `max_tokens`: as in the request. `speech`: steps of speech
/// that are still allowed.
PartBounds bounds_of(int64_t room, int64_t tail, bool speaks, int max_tokens, int64_t speech) {
  const int64_t kept = speaks ? std::min<int64_t>(State::kMostSpeech, room / 2) + kTurnSteps : 0;
  const int64_t wish = max_tokens > 0 ? max_tokens : speaks ? State::kMostWords : room;
  const int64_t words = std::clamp<int64_t>(wish, 1, room - kept);
  const int64_t spoken =
      std::clamp<int64_t>(speech, 1 + tail, std::max(room - words - kTurnSteps, 1 + tail));
  const int64_t steps = words + (speaks ? kTurnSteps + spoken : 0);
  const int64_t more = std::clamp<int64_t>(room - steps, 0, kMoreTurns);
  return {static_cast<int>(words), static_cast<int>(spoken), static_cast<int>(steps + more)};
}

}  // namespace

State::State(const ModelConfig& config, const SpokenModel& spoken, const Prompter& prompter,
             const SpeechRequest& request, std::vector<Heard> heard)
    : config_(config),
      prompter_(prompter),
      heard_(std::move(heard)),
      chats_(request.writing.chat != nullptr),
      speaks_(!request.writing.text_only),
      ignore_stop_(request.terms.ignore_stop),
      max_frames_(request.terms.max_frames),
      max_tokens_(request.writing.max_tokens),
      description_(trimmed(request.say.instructions)),
      words_(asked({.temperature = kWordsTemperature, .top_k = kTopK}, request)),
      speech_(spoken.sampling_of(request)),
      kind_{.temperature = 0},
      guidance_(speaks_ ? spoken.guidance_of(request) : std::nullopt),
      text_(spoken.text, request.say.open && !chats_,
            [this](std::string_view segment, int64_t) -> Result<std::vector<int32_t>> {
              std::vector<int32_t> prompt = prompter_.reading(trimmed(segment), description_);
              const Status fault = fits(config_, std::ssize(prompt), "input");
              if (!fault) return fault.error();
              return prompt;
            }),
      written_(request.writing.stop, chats_),
      rows_(config, spoken.pattern) {}

Result<std::unique_ptr<Sequence>> State::open(const ModelConfig& config, const SpokenModel& spoken,
                                              const Prompter& prompter,
                                              const SpeechRequest& request,
                                              std::vector<Heard> heard) {
  if (!request.voice.name.empty() && request.voice.name != "default") {
    return Error{ErrorCode::kNotFound,
                 "the model has no voice \"" + request.voice.name +
                     "\"; use \"default\" and describe the voice in 'instructions'",
                 "voice"};
  }
  if (request.voice.data) return unsupported("this model cannot clone a voice", "voice");
  if (request.writing.top_logprobs >= 0) {
    return unsupported("this model returns no log-probabilities", "logprobs");
  }
  if (request.writing.chat && !request.say.instructions.empty()) {
    return unsupported("in a chat, describe the voice in a message", "instructions");
  }
  std::unique_ptr<State> state(new State(config, spoken, prompter, request, std::move(heard)));
  if (const Status begun = state->begin(request); !begun.ok()) return begun.error();
  return std::unique_ptr<Sequence>(std::move(state));
}

Status State::begin(const SpeechRequest& request) {
  if (chats_) {
    std::vector<int64_t> rows;
    for (const Heard& each : heard_) rows.push_back(each.rows);
    auto prompt = prompter_.conversation(*request.writing.chat, rows);
    if (!prompt.ok()) return prompt.error();
    if (Status fault = fits(config_, std::ssize(prompt.value()), "messages"); !fault) return fault;
    begin_segment(prompt.value());
    return ok_status();
  }
  if (!heard_.empty())
    return unsupported("this model accepts recordings only in messages", "messages");
  if (!speaks_) return unsupported("this model only answers messages", "prompt");
  if (Status taken = text_.begin(request.say.text); !taken.ok()) return taken;
  begin_reading();
  return ok_status();
}

Status State::append_text(std::string_view text, bool last) {
  if (chats_) return Sequence::append_text(text, last);
  if (Status taken = text_.append(text, last); !taken.ok()) return taken;
  if (!ready()) begin_reading();
  // Each complete sentence leaves at least one later letter, so this fails only for empty texts.
  return ready() || !last ? ok_status() : nothing_to_say();
}

/// Begins the next segment of a text that is read aloud, if a segment is left.
void State::begin_reading() {
  rows_.prompt = Prompt(static_cast<int>(config_.streams));
  if (!text_.empty()) begin_segment(text_.next());
}

void State::begin_segment(std::span<const int32_t> prompt) {
  rows_.begin(prompt);
  phase_ = Phase::kWords;
  first_part_ = true;
  written_.begin();
  written_ids_ = 0;
  const int64_t room = std::max<int64_t>(config_.max_positions - rows_.prompt.size(), kLeastRoom);
  bounds_ = bounds_of(room, rows_.speech.pattern().tail(), speaks_, max_tokens_, speech_steps());
  end_ = prompt_rows() + bounds_.steps;
  rows_.said.reserve(static_cast<size_t>(std::min(bounds_.words + kTurnSteps, kReserved)));
  rows_.speech.restart(speaks_ ? bounds_.speech : 0);
}

int64_t State::speech_steps() const {
  return max_frames_ > 0 ? max_frames_ - frames_before_ + rows_.speech.pattern().tail()
                         : kMostSpeech;
}

int State::known_rows() const {
  if (rows_.prompt.empty()) return 0;
  return rows_.heard.complete() ? prompt_rows() : rows_.heard.missing();
}

float State::step_guidance(int) const {
  return phase_ == Phase::kSpeech ? guidance_.value_or(1.f) : 1.f;
}

const SampleParams& State::sampling(int) const {
  if (phase_ == Phase::kTurn) return kind_;
  return phase_ == Phase::kSpeech ? speech_ : words_;
}

std::span<const int32_t> State::history(int k) const {
  if (phase_ == Phase::kSpeech) return rows_.speech.column(k).subspan(1);
  return k == 0 ? std::span<const int32_t>(rows_.said) : std::span<const int32_t>();
}

SampleRule State::rule(int k) const {
  SampleRule rule;
  const auto allow = [&](int32_t begin, int64_t end) {
    rule.allowed[static_cast<size_t>(rule.ranges++)] = {begin, static_cast<int32_t>(end)};
  };
  static_assert(kEndPart == kEnd + 1);
  if (phase_ == Phase::kSpeech) {
    if (k > 0) return allow(1, config_.choices(k)), rule;
    if (!ignore_stop_ && rows_.speech.steps() >= kLeastSpeech) allow(kEnd, kEndPart + 1);
    allow(config_.first_code(0), config_.first_code(1));
  } else if (k > 0) {
    rule.forced = kPad;
  } else if (phase_ == Phase::kTurn && forces_speech()) {
    rule.forced = rows_.said.back() == kAssistant ? kAudio : kAssistant;
  } else if (phase_ == Phase::kTurn) {
    static_assert(kAudio == kText + 1);
    allow(kText, kAudio + 1);
  } else {
    const bool begun = !rows_.said.empty() && rows_.said.back() != kText;
    if (begun && (forces_speech() || !ignore_stop_)) allow(kEnd, kEndPart + 1);
    allow(ModelConfig::kFirstWord, config_.first_code(0));
  }
  return rule;
}

Verdict State::advance(std::span<const int32_t> codes, StepOutput& out) {
  Verdict verdict;
  if (phase_ == Phase::kWords) {
    verdict = write(codes[0], out);
  } else if (phase_ == Phase::kSpeech) {
    verdict = speak(codes, out);
  } else {
    rows_.said.push_back(codes[0]);
    if (codes[0] != kAssistant) verdict = begin_part(codes[0]);
  }
  if (verdict.next == Verdict::kFinished && cut_) verdict.reason = FinishReason::kLength;
  return verdict;
}

Verdict State::write(int32_t id, StepOutput& out) {
  rows_.said.push_back(id);
  ++written_ids_;
  if (is_end(id)) {
    written_.finish(out);
    return end_words(id, FinishReason::kStop);
  }
  written_.push(prompter_.bytes(id), out);
  if (written_.stopped()) return end_words(kEnd, FinishReason::kStop);
  if (written_ids_ < bounds_.words && std::ssize(rows_.said) < bounds_.steps) return {};
  written_.finish(out);
  return end_words(kEnd, FinishReason::kLength);
}

Verdict State::end_words(int32_t id, FinishReason reason) {
  cut_ = cut_ || reason == FinishReason::kLength;
  if (forces_speech()) {
    phase_ = Phase::kTurn;
    return {};
  }
  return id == kEndPart ? next_part() : Verdict{Verdict::kFinished, reason};
}

/// Begins a part. Ends the request if the part is unwanted speech or positions are too few.
Verdict State::begin_part(int32_t kind) {
  const bool speech = kind == kAudio;
  phase_ = speech ? Phase::kSpeech : Phase::kWords;
  if (speech && !speaks_) return {Verdict::kFinished, FinishReason::kStop};
  written_.stand_apart(!speech && written_ids_ > 0);
  const bool room =
      speech ? bounds_.speech > rows_.speech.pattern().tail() : written_ids_ < bounds_.words;
  return room ? Verdict{} : Verdict{Verdict::kFinished, FinishReason::kLength};
}

Verdict State::speak(std::span<const int32_t> codes, StepOutput& out) {
  if (is_end(codes[0])) {
    rows_.speech.end_with_tail();
    return end_speech(codes[0], FinishReason::kStop);
  }
  rows_.speech.push(codes);
  std::array<int32_t, ModelConfig::kMostStreams> buffer;
  const std::span frame = std::span(buffer).first(codes.size());
  if (rows_.speech.frame(frame)) {
    for (size_t s = 0; s < frame.size(); ++s)
      frame[s] = config_.code_of(static_cast<int64_t>(s), frame[s]);
    out.frame(frame);
  }
  if (rows_.speech.steps() < bounds_.speech) return {};
  rows_.speech.end_with_tail();
  return end_speech(kEnd, FinishReason::kLength);
}

Verdict State::end_speech(int32_t id, FinishReason reason) {
  cut_ = cut_ || reason == FinishReason::kLength;
  frames_before_ += rows_.speech.end_frame();
  if (chats_) return id == kEndPart ? next_part() : Verdict{Verdict::kFinished, reason};
  if (text_.empty() && !text_.open()) return {Verdict::kFinished, reason};
  if (max_frames_ > 0 && frames_before_ >= max_frames_) {
    return {Verdict::kFinished, FinishReason::kLength};
  }
  begin_reading();
  return {Verdict::kNextSegment, FinishReason::kStop};
}

/// Makes a prompt of all parts so far. The model then chooses the kind of the next part. The bounds
/// of steps and words, set at the start, apply to all parts together.
Verdict State::next_part() {
  const bool spoke = phase_ == Phase::kSpeech;
  const int rows = rows_.size();
  rows_.remember(spoke);
  first_part_ = false;
  bounds_.steps = end_ - prompt_rows();
  if (bounds_.steps < kTurnSteps) return {Verdict::kFinished, FinishReason::kLength};
  phase_ = Phase::kTurn;
  written_.begin();
  bounds_.speech = static_cast<int>(std::min<int64_t>(speech_steps(), bounds_.steps - 1));
  Verdict verdict{Verdict::kNextSegment, FinishReason::kStop, rows};
  // The companion's kept rows end with the kind of the speech. The speech itself runs again.
  if (spoke) verdict.companion_kept = rows - rows_.speech.steps() - 1;
  verdict.new_streams = spoke;
  rows_.speech.restart(speaks_ ? bounds_.speech : 0);
  return verdict;
}

Status State::take(int port, const Frames& frames) {
  if (port != kHearing) return Sequence::take(port, frames);
  rows_.heard.take(frames);
  return ok_status();
}

void State::rows(int first, bool companion, InputRows& out) const {
  for (int i = 0; i < out.count(); ++i) {
    rows_.row(first + i, companion, out.ids(i));
    if (!companion) out.give(i, rows_.heard.row(first + i));
  }
}

SpokenModel spoken_model(const ModelConfig& config) {
  return {.tables = static_cast<int>(config.streams),
          .pattern = config.delays(),
          .max_positions = config.max_positions,
          .sampling = {.temperature = kSpeechTemperature, .top_k = kTopK},
          .guidance = kGuidance};
}

}  // namespace syrinx::bagpiper
