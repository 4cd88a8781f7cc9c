#include "families/bagpiper/state.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"
#include "base/check.h"

namespace syrinx::bagpiper {
namespace {

// The released inference.yaml.
constexpr float kSpeechTemperature = 0.8f, kWordsTemperature = 0.6f, kGuidance = 3;
constexpr int kTopK = 20;

constexpr size_t kSegmentBytes = 400;  // about 25 s; longer texts are cut at sentences
constexpr size_t kShortSentence = 60;  // shorter ones are spoken together with the next
constexpr int64_t kLeastRoom = 256;    // steps that a prompt must leave
constexpr int kTurnSteps = 2;
constexpr int64_t kMoreTurns = 32;  // room for those of more parts, beside their words and speech
constexpr const char* kBetweenWords = "\n\n";  // of two parts, with speech between them or not
constexpr float kMostGuidance = 100;
constexpr int kReserved = 4096;  // for so many words no memory is asked for on the way

Error nothing_to_say() { return {ErrorCode::kInvalid, "there is nothing to say", "input"}; }

Error unsupported(const char* what, const char* param) {
  return {ErrorCode::kUnsupported, what, param};
}

bool is_end(int32_t id) { return id == kEnd || id == kEndPart; }

/// What the companion is fed for a word or a turn.
int32_t said_to_companion(int32_t id) { return id == kAudio ? id : kPad; }

}  // namespace

State::State(const ModelConfig& config, const Prompter& prompter, const SpeechRequest& request,
             std::vector<Heard> heard)
    : config_(config),
      prompter_(prompter),
      heard_(std::move(heard)),
      chats_(request.chat != nullptr),
      speaks_(!request.text_only),
      ignore_stop_(request.ignore_stop),
      max_frames_(request.max_frames),
      max_tokens_(request.max_tokens),
      description_(trimmed(request.instructions)),
      text_(kSegmentBytes, request.text_open, kShortSentence),
      stops_(request.stop),
      streams_(config.delays()) {
  speech_.temperature = request.temperature.value_or(kSpeechTemperature);
  words_.temperature = request.temperature.value_or(kWordsTemperature);
  for (SampleParams* s : {&speech_, &words_}) {
    s->top_k = request.top_k.value_or(kTopK);
    s->top_p = request.top_p.value_or(1.f);
    s->min_p = request.min_p.value_or(0.f);
    s->repetition_penalty = request.repetition_penalty.value_or(1.f);
  }
  kind_.temperature = 0;
}

Result<std::unique_ptr<Sequence>> State::open(const ModelConfig& config, const Prompter& prompter,
                                              const SpeechRequest& request,
                                              std::vector<Heard> heard) {
  if (!request.voice.empty() && request.voice != "default") {
    return Error{ErrorCode::kNotFound,
                 "the model has no voice \"" + request.voice +
                     "\": it makes one up (\"default\"), as instructions describe it",
                 "voice"};
  }
  if (request.voice_data) return unsupported("the model takes no voices", "voice");
  if (request.text_in_prompt == false) {
    return unsupported("the model has all text in its prompt", "text_in_prompt");
  }
  if (request.top_logprobs >= 0) {
    return unsupported("this model tells no log-probabilities", "logprobs");
  }
  if (request.task) return unsupported("this model has no such task", "task");
  if (request.chat && !request.instructions.empty()) {
    return unsupported("say how in the messages", "instructions");
  }
  for (const std::string& stop : request.stop)
    if (stop.empty()) return Error{ErrorCode::kInvalid, "a stop string is empty", "stop"};
  const float scale = request.guidance.value_or(kGuidance);
  if (!(scale >= 0 && scale <= kMostGuidance)) {
    return Error{ErrorCode::kInvalid, "guidance must lie in 0 to 100", "guidance"};
  }
  std::unique_ptr<State> state(new State(config, prompter, request, std::move(heard)));
  if (scale != 1 && state->speaks_) state->guidance_ = scale;
  if (const Status begun = state->begin(request); !begun.ok()) return begun.error();
  return std::unique_ptr<Sequence>(std::move(state));
}

Status State::fits(int64_t rows, const char* param) const {
  const int64_t most = config_.max_positions - kLeastRoom;
  if (rows <= most) return ok_status();
  return Error{ErrorCode::kInvalid,
               concat("the prompt has ", rows, " rows, at most ", most, " fit"), param};
}

Status State::begin(const SpeechRequest& request) {
  if (chats_) {
    text_.push("", true);  // nothing is read
    std::vector<int64_t> rows;
    for (const Heard& each : heard_) rows.push_back(each.rows);
    auto prompt = prompter_.conversation(*request.chat, rows);
    if (!prompt.ok()) return prompt.error();
    if (Status fault = fits(std::ssize(prompt.value()), "messages"); !fault) return fault;
    begin_segment(prompt.take());
    return ok_status();
  }
  if (!heard_.empty()) return unsupported("recordings are heard in messages", "messages");
  if (!speaks_) return unsupported("this model answers messages only", "prompt");
  if (is_blank(request.text) && !request.text_open) return nothing_to_say();
  if (Status taken = take_text(request.text, !request.text_open); !taken.ok()) return taken;
  begin_reading();
  return ok_status();
}

Status State::take_text(std::string_view text, bool last) {
  text_.push(text, last);
  for (std::string part = text_.next(); !part.empty(); part = text_.next()) {
    std::vector<int32_t> prompt = prompter_.reading(trimmed(part), description_);
    if (Status fault = fits(std::ssize(prompt), "input"); !fault) return fault;
    waiting_.push_back(std::move(prompt));
  }
  return ok_status();
}

Status State::append_text(std::string_view text, bool last) {
  if (!text_.open()) {
    return Error{ErrorCode::kInvalid, "the text of this request is complete", "input"};
  }
  if (Status taken = take_text(text, last); !taken.ok()) return taken;
  // A sentence is certain once a letter after it is there, so what comes last is never nothing.
  if (ready() || begin_reading() || !last) return ok_status();
  return nothing_to_say();
}

/// The next segment of a reading; false when no text waits.
bool State::begin_reading() {
  prompt_.clear();
  if (waiting_.empty()) return false;
  std::vector<int32_t> prompt = std::move(waiting_.front());
  waiting_.pop_front();
  begin_segment(std::move(prompt));
  return true;
}

void State::begin_segment(std::vector<int32_t> prompt) {
  prompt_ = std::move(prompt);
  std::vector<int32_t> places;
  for (int32_t pos = 0; pos < std::ssize(prompt_); ++pos)
    if (prompt_[static_cast<size_t>(pos)] == Prompter::kHeardRow) places.push_back(pos);
  rows_ = llm::HeardRows(std::move(places), config_.lm.hidden);
  phase_ = Phase::kWords;
  past_.clear(), said_.clear();
  written_.emplace(stops_);
  written_ids_ = 0;
  const int64_t tail = streams_.pattern().tail();
  const int64_t room = std::max<int64_t>(config_.max_positions - std::ssize(prompt_), kLeastRoom);
  const int64_t kept = speaks_ ? std::min<int64_t>(kMostSpeech, room / 2) + kTurnSteps : 0;
  const int64_t wish = max_tokens_ > 0 ? max_tokens_ : speaks_ ? kMostWords : room;
  most_words_ = static_cast<int>(std::clamp<int64_t>(wish, 1, room - kept));
  most_speech_ = static_cast<int>(std::clamp<int64_t>(
      speech_steps(), 1 + tail, std::max(room - most_words_ - kTurnSteps, 1 + tail)));
  max_steps_ = speaks_ ? most_words_ + kTurnSteps + most_speech_ : most_words_;
  max_steps_ += static_cast<int>(std::clamp<int64_t>(room - max_steps_, 0, kMoreTurns));
  end_ = prompt_rows() + max_steps_;
  said_.reserve(static_cast<size_t>(std::min(most_words_ + kTurnSteps, kReserved)));
  streams_.restart(speaks_ ? most_speech_ : 0);
}

int64_t State::speech_steps() const {
  return max_frames_ > 0 ? max_frames_ - frames_before_ + streams_.pattern().tail() : kMostSpeech;
}

int State::prompt_rows() const {
  const int64_t rows = std::ssize(prompt_) + std::ssize(past_) / config_.streams;
  return std::max(1, static_cast<int>(rows));
}

int State::known_rows() const {
  if (prompt_.empty()) return 0;
  return rows_.complete() ? prompt_rows() : rows_.missing();
}

float State::step_guidance(int) const {
  return phase_ == Phase::kSpeech ? guidance_.value_or(1.f) : 1.f;
}

void State::prefix_keys(bool companion, std::vector<uint64_t>& keys) const {
  for (const int32_t id : prompt_) {
    if (!companion && id == Prompter::kHeardRow) return;
    keys.push_back(companion ? uint64_t{kPad} : static_cast<uint64_t>(id));
  }
  const auto streams = static_cast<size_t>(config_.streams);
  for (size_t at = 0; at < past_.size(); at += streams) {
    const std::span<const int32_t> others = std::span(past_).subspan(at + 1, streams - 1);
    const bool alone = std::all_of(others.begin(), others.end(), [](int32_t id) { return id < 0; });
    if (!companion && !alone) return;
    keys.push_back(companion ? uint64_t{kPad} : static_cast<uint64_t>(past_[at]));
  }
}

void State::step_keys(bool companion, std::vector<uint64_t>& keys) const {
  if (!companion && (!rows_.none() || !past_.empty())) return;
  for (const int32_t id : said_) {
    keys.push_back(static_cast<uint64_t>(companion ? said_to_companion(id) : id));
  }
}

const SampleParams& State::sampling(int) const {
  if (phase_ == Phase::kTurn) return kind_;
  return phase_ == Phase::kSpeech ? speech_ : words_;
}

std::span<const int32_t> State::history(int k) const {
  if (phase_ == Phase::kSpeech) return streams_.column(k).subspan(1);
  return k == 0 ? std::span<const int32_t>(said_) : std::span<const int32_t>();
}

SampleRule State::rule(int k) const {
  SampleRule rule;
  const auto allow = [&](int32_t begin, int64_t end) {
    rule.allowed[static_cast<size_t>(rule.ranges++)] = {begin, static_cast<int32_t>(end)};
  };
  static_assert(kEndPart == kEnd + 1);
  if (phase_ == Phase::kSpeech) {
    if (k > 0) return allow(1, config_.choices(k)), rule;
    if (!ignore_stop_ && streams_.steps() >= kLeastSpeech) allow(kEnd, kEndPart + 1);
    allow(config_.first_code(0), config_.first_code(1));
  } else if (k > 0) {
    rule.forced = kPad;
  } else if (phase_ == Phase::kTurn && forces_speech()) {
    rule.forced = said_.back() == kAssistant ? kAudio : kAssistant;
  } else if (phase_ == Phase::kTurn) {
    static_assert(kAudio == kText + 1);
    allow(kText, kAudio + 1);
  } else {
    const bool begun = !said_.empty() && said_.back() != kText;
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
    said_.push_back(codes[0]);
    if (codes[0] != kAssistant) verdict = begin_part(codes[0]);
  }
  if (verdict.next == Verdict::kFinished && cut_) verdict.reason = FinishReason::kLength;
  return verdict;
}

/// What is thought before a text is read aloud is nobody's to read.
Verdict State::write(int32_t id, StepOutput& out) {
  said_.push_back(id);
  ++written_ids_;
  const auto tell = [&](std::string_view text) {
    if (!chats_ || text.empty()) return;
    if (std::exchange(apart_, false)) out.text(kBetweenWords);
    out.text(text);
  };
  if (is_end(id)) {
    tell(written_->finish());
    return end_words(id, FinishReason::kStop);
  }
  tell(written_->push(prompter_.bytes(id)));
  if (written_->stopped()) return end_words(kEnd, FinishReason::kStop);
  if (written_ids_ < most_words_ && std::ssize(said_) < max_steps_) return {};
  tell(written_->finish());
  return end_words(kEnd, FinishReason::kLength);
}

/// `id`: what they end with.
Verdict State::end_words(int32_t id, FinishReason reason) {
  cut_ = cut_ || reason == FinishReason::kLength;
  if (forces_speech()) {
    phase_ = Phase::kTurn;
    return {};
  }
  return id == kEndPart ? next_part() : Verdict{Verdict::kFinished, reason};
}

/// Unless it was not asked for, or there is no room for it.
Verdict State::begin_part(int32_t kind) {
  const bool speech = kind == kAudio;
  phase_ = speech ? Phase::kSpeech : Phase::kWords;
  if (speech && !speaks_) return {Verdict::kFinished, FinishReason::kStop};
  apart_ = !speech && written_ids_ > 0;
  const bool room = speech ? most_speech_ > streams_.pattern().tail() : written_ids_ < most_words_;
  return room ? Verdict{} : Verdict{Verdict::kFinished, FinishReason::kLength};
}

Verdict State::speak(std::span<const int32_t> codes, StepOutput& out) {
  if (is_end(codes[0])) {
    streams_.end_with_tail();
    return end_speech(codes[0], FinishReason::kStop);
  }
  streams_.push(codes);
  std::array<int32_t, ModelConfig::kMostStreams> buffer;
  const std::span frame = std::span(buffer).first(codes.size());
  if (streams_.frame(frame)) {
    for (size_t s = 0; s < frame.size(); ++s)
      frame[s] = config_.code_of(static_cast<int64_t>(s), frame[s]);
    out.frame(frame);
  }
  if (streams_.steps() < most_speech_) return {};
  streams_.end_with_tail();
  return end_speech(kEnd, FinishReason::kLength);
}

/// `id`: what it ends with.
Verdict State::end_speech(int32_t id, FinishReason reason) {
  cut_ = cut_ || reason == FinishReason::kLength;
  frames_before_ += streams_.end_frame();
  if (chats_) return id == kEndPart ? next_part() : Verdict{Verdict::kFinished, reason};
  if (waiting_.empty() && !text_.open()) return {Verdict::kFinished, reason};
  if (max_frames_ > 0 && frames_before_ >= max_frames_) {
    return {Verdict::kFinished, FinishReason::kLength};
  }
  begin_reading();
  return {Verdict::kNextSegment, FinishReason::kStop};
}

/// What was said becomes a prompt, behind which the model says of which kind the next part is. All
/// parts together have the steps that the first ones might have taken.
Verdict State::next_part() {
  const bool spoke = phase_ == Phase::kSpeech;
  const int rows = prompt_rows() + static_cast<int>(std::ssize(said_)) + streams_.steps();
  remember_part();
  max_steps_ = end_ - prompt_rows();
  if (max_steps_ < kTurnSteps) return {Verdict::kFinished, FinishReason::kLength};
  phase_ = Phase::kTurn;
  said_.clear();
  written_.emplace(stops_);
  most_speech_ = static_cast<int>(std::min<int64_t>(speech_steps(), max_steps_ - 1));
  Verdict verdict{Verdict::kNextSegment, FinishReason::kStop, rows};
  // From its kind on the companion was fed what was said.
  if (spoke) verdict.companion_kept = rows - streams_.steps() - 1;
  verdict.new_streams = spoke;
  streams_.restart(speaks_ ? most_speech_ : 0);
  return verdict;
}

void State::remember_part() {
  const auto remember = [&](int32_t id) {
    past_.push_back(id);
    past_.resize(past_.size() + static_cast<size_t>(config_.streams) - 1, -1);
  };
  for (const int32_t id : said_) remember(id);
  for (int step = 0; step < streams_.steps(); ++step)
    for (int s = 0; s < static_cast<int>(config_.streams); ++s)
      past_.push_back(config_.id_of(s, streams_.at(step, s)));
  if (phase_ == Phase::kSpeech) remember(kEndPart);
  remember(kAssistant);
}

Status State::take(int port, const Frames& frames) {
  if (port != kHearing) return Sequence::take(port, frames);
  rows_.take(frames);
  return ok_status();
}

void State::rows(int first, bool companion, InputRows& out) const {
  for (int i = 0; i < out.count(); ++i) {
    row(first + i, companion, out.ids(i));
    if (!companion) out.give(i, rows_.row(first + i));
  }
}

void State::row(int pos, bool companion, std::span<int32_t> ids) const {
  const int turn = pos - prompt_rows(), step = turn - static_cast<int>(std::ssize(said_));
  if (pos < std::ssize(prompt_)) {
    const int32_t id = prompt_[static_cast<size_t>(pos)];
    ids[0] = companion ? int32_t{kPad} : id;  // kHeardRow: none
    return;
  }
  if (turn < 0) {
    const int64_t at = (pos - std::ssize(prompt_)) * config_.streams;
    std::copy_n(past_.begin() + at, companion ? 0 : config_.streams, ids.begin());
    if (companion) ids[0] = kPad;
    return;
  }
  if (step < 0) {
    const int32_t id = said_[static_cast<size_t>(turn)];
    ids[0] = companion ? said_to_companion(id) : id;
    return;
  }
  SYRINX_CHECK(step < streams_.steps(), "row ", pos, " of ", prompt_rows(), " + ", said_.size(),
               " + ", streams_.steps());
  for (size_t s = 0; s < ids.size(); ++s) {
    const int32_t choice = streams_.at(step, static_cast<int>(s));
    ids[s] = config_.id_of(static_cast<int64_t>(s), choice);
  }
}

}  // namespace syrinx::bagpiper
