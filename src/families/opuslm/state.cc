#include "families/opuslm/state.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/check.h"
#include "families/cut.h"
#include "families/opuslm/voice.h"
#include "io/digest.h"

namespace syrinx::opuslm {
namespace {

constexpr int64_t kSpareFrames = 250;   // five seconds beyond what the text needs
constexpr int64_t kFramesPerWord = 40;  // slow speech: 0.8 s for an id
constexpr size_t kSegmentBytes = 400;   // longer texts are cut at sentences
constexpr size_t kShortSentence = 60;   // shorter ones are spoken together with the next
constexpr int64_t kLeastRoom = 64;      // steps that a prompt must leave
constexpr float kMostGuidance = 100;
constexpr uint64_t kFrameKey = 1ull << 63;  // no id
constexpr int64_t kMostStreams = 64;
constexpr int kWordsTopK = 30;      // espnet:espnet2/speechlm/inference_utils.py, and temperature 1
constexpr int64_t kLeastWords = 1;  // egs2/opuslm_sft_v1/speechlm1/conf/decode_general.yaml

Error nothing_to_say() { return {ErrorCode::kInvalid, "there is nothing to say", "input"}; }

Error unsupported(const char* what, const char* param) {
  return {ErrorCode::kUnsupported, what, param};
}

}  // namespace

State::State(const ModelConfig& config, const Prompter& prompter, const SpeechRequest& request,
             std::vector<Heard> heard)
    : config_(config),
      prompter_(prompter),
      max_frames_(request.max_frames),
      max_tokens_(request.max_tokens),
      ignore_stop_(request.ignore_stop),
      text_(kSegmentBytes, request.text_open, kShortSentence),
      written_(request.stop),
      heard_(std::move(heard)),
      rows_(config),
      streams_(config.delays()) {
  speech_.temperature = request.temperature.value_or(config.temperature);
  speech_.top_k = request.top_k.value_or(config.top_k);
  // Words are greedy, as that recipe has them, unless the request says how to draw.
  const bool draws = request.temperature || request.top_k || request.top_p || request.min_p;
  words_.temperature = request.temperature.value_or(draws ? 1.f : 0.f);
  words_.top_k = request.top_k.value_or(kWordsTopK);
  for (SampleParams* s : {&speech_, &words_}) {
    s->top_p = request.top_p.value_or(1.f);
    s->min_p = request.min_p.value_or(0.f);
    s->repetition_penalty = request.repetition_penalty.value_or(1.f);
  }
}

Result<std::unique_ptr<Sequence>> State::open(const ModelConfig& config, const Prompter& prompter,
                                              const SpeechRequest& request,
                                              std::vector<Heard> heard) {
  if (!request.language.empty() && request.language != "auto") {
    return unsupported("the model takes the language from the text", "language");
  }
  if (!request.instructions.empty()) {
    return unsupported("the model takes no instructions", "instructions");
  }
  if (request.text_in_prompt == false) {
    return unsupported("the model has all text in its prompt", "text_in_prompt");
  }
  if (request.top_logprobs >= 0) {
    return unsupported("this model tells no log-probabilities", "logprobs");
  }
  for (const std::string& stop : request.stop)
    if (stop.empty()) return Error{ErrorCode::kInvalid, "a stop string is empty", "stop"};
  const float scale = request.guidance.value_or(1.f);
  if (!(scale >= 0 && scale <= kMostGuidance)) {
    return Error{ErrorCode::kInvalid, "guidance must lie in 0 to 100", "guidance"};
  }
  std::unique_ptr<State> state(new State(config, prompter, request, std::move(heard)));
  if (scale != 1) state->guidance_ = scale;
  if (const Status voice = state->set_voice(request); !voice.ok()) return voice.error();
  if (const Status begun = state->begin(request); !begun.ok()) return begun.error();
  return std::unique_ptr<Sequence>(std::move(state));
}

Status State::set_voice(const SpeechRequest& request) {
  if (request.voice_data) {
    Result<std::vector<int32_t>> ids = voice_ids(config_, prompter_, *request.voice_data);
    if (!ids) return ids.error();
    voice_ = ids.take();
  } else if (!request.voice.empty() && request.voice != "default") {
    return Error{
        ErrorCode::kNotFound,
        "the model has no voice \"" + request.voice +
            "\": it makes one up (\"default\"), or takes that of a recording or of given codes",
        "voice"};
  }
  return ok_status();
}

Status State::fits(int64_t rows, const char* param) const {
  const int64_t most = config_.max_positions - kLeastRoom;
  if (rows <= most) return ok_status();
  return Error{ErrorCode::kInvalid,
               concat("the prompt has ", rows, " rows, at most ", most, " fit"), param};
}

Status State::begin(const SpeechRequest& request) {
  if (request.task || request.chat) text_.push("", true);  // nothing is read
  if (request.task) return begin_task(request);
  if (request.chat) {
    const bool spoken = !request.text_only;
    if (spoken && !config_.dialogue) {
      return unsupported("this model answers in words only; it reads texts aloud", "modalities");
    }
    std::vector<int64_t> frames;
    for (const Heard& each : heard_) frames.push_back(each.frames);
    Result<Rows> rows = prompter_.conversation(*request.chat, spoken, voice_, frames);
    if (!rows) return rows.error();
    if (const Status fault = fits(rows.value().count(), "messages"); !fault) return fault;
    answers_aloud_ = spoken;
    begin_phase(rows.take(), false, 0);
    return ok_status();
  }
  if (!heard_.empty()) return unsupported("recordings are heard in messages", "messages");
  if (request.text_only) return unsupported("this model answers messages only", "prompt");
  if (is_blank(request.text) && !request.text_open) return nothing_to_say();
  if (const Status taken = take_text(request.text, !request.text_open); !taken.ok()) return taken;
  begin_reading();
  return ok_status();
}

Status State::begin_task(const SpeechRequest& request) {
  const auto* hearing = dynamic_cast<const Hearing*>(request.task.get());
  if (!hearing) return unsupported("this model has no such task", "task");
  Rows rows(config_);
  if (!heard_.empty() && hearing->frames.empty()) {
    rows = prompter_.recognition(heard_.front().frames);
  } else {
    Result<std::vector<int32_t>> heard = prompter_.ids_of(hearing->frames, "frames");
    if (!heard) return heard.error();
    rows = prompter_.recognition(heard.value());
  }
  if (const Status fault = fits(rows.count(), "frames"); !fault) return fault;
  begin_phase(std::move(rows), false, 0);
  return ok_status();
}

Status State::take_text(std::string_view text, bool last) {
  text_.push(text, last);
  for (std::string part = text_.next(); !part.empty(); part = text_.next()) {
    std::vector<int32_t> words = prompter_.words(trimmed(part));
    if (const Status fault = fits(prompter_.speech(words, voice_).count(), "input"); !fault) {
      return fault;
    }
    waiting_.push_back(std::move(words));
  }
  return ok_status();
}

Status State::append_text(std::string_view text, bool last) {
  if (!text_.open()) {
    return Error{ErrorCode::kInvalid, "the text of this request is complete", "input"};
  }
  const Status taken = take_text(text, last);
  if (!taken.ok()) return taken;
  // A sentence is certain once a letter after it is there, so what comes last is never nothing.
  if (ready() || begin_reading() || !last) return ok_status();
  return nothing_to_say();
}

/// The next segment's prompt; false when no text waits.
bool State::begin_reading() {
  prompt_.clear(), prompt_ids_.clear();
  streams_.restart(0);
  if (waiting_.empty()) return false;
  const std::vector<int32_t> words = std::move(waiting_.front());
  waiting_.pop_front();
  begin_phase(prompter_.speech(words, voice_), true, std::ssize(words));
  return true;
}

void State::begin_phase(Rows rows, bool speaking, int64_t words) {
  speaking_ = speaking;
  phase_words_ = words;
  rows_ = std::move(rows);
  set_prompt();
  streams_.restart(max_steps());
  if (!speaking) said_.reserve(static_cast<size_t>(max_steps()));
}

void State::set_prompt() {
  prompt_ = rows_.delayed();
  prompt_ids_.clear();
  for (size_t at = 0; at < prompt_.size(); at += static_cast<size_t>(config_.streams)) {
    prompt_ids_.push_back(prompt_[at]);
  }
}

Status State::take(int port, const Frames& frames) {
  if (port != kHearing) return Sequence::take(port, frames);
  std::vector<int32_t> codes;
  for (const float code : frames.floats) codes.push_back(static_cast<int32_t>(code));
  if (!codes.empty()) {
    Result<std::vector<int32_t>> ids = prompter_.ids_of(codes, "recordings");
    if (!ids) return ids.error();
    rows_.tell(ids.value());
    set_prompt();  // known rows run before the others are told
  }
  SYRINX_CHECK(!frames.last || rows_.known() == rows_.count(), "[opuslm] ", rows_.known(), " of ",
               rows_.count(), " rows are told");
  return ok_status();
}

int State::known_rows() const { return prompt_.empty() ? 0 : static_cast<int>(rows_.known()); }

int State::prompt_rows() const { return std::max(1, static_cast<int>(std::ssize(prompt_ids_))); }

int State::max_steps() const {
  const int64_t room = std::max<int64_t>(1, config_.max_positions - prompt_rows());
  if (!speaking_) {
    const int64_t wish = max_tokens_ > 0 ? max_tokens_ : room;
    return static_cast<int>(std::min(wish, room));
  }
  const int64_t tail = streams_.pattern().tail();
  int64_t limit =
      std::max(config_.least_steps, int64_t{0}) + kSpareFrames + kFramesPerWord * phase_words_;
  if (max_frames_ > 0) limit = max_frames_ - frames_before_;
  return static_cast<int>(std::clamp<int64_t>(limit + tail, 1 + tail, std::max(room, 1 + tail)));
}

void State::prefix_keys(bool companion, std::vector<uint64_t>& keys) const {
  const auto streams = static_cast<size_t>(config_.streams);
  const auto most = static_cast<size_t>(rows_.hears() ? rows_.first_heard() : rows_.count());
  for (size_t at = 0; at < std::min(prompt_.size(), most * streams); at += streams) {
    const std::span<const int32_t> row = std::span(prompt_).subspan(at, streams);
    const bool alone =
        std::all_of(row.begin() + 1, row.end(), [&](int32_t id) { return id == config_.ids.pad; });
    if (companion) {
      keys.push_back(static_cast<uint64_t>(config_.ids.pad));
    } else if (alone) {
      keys.push_back(static_cast<uint64_t>(row[0]));
    } else {
      Digest digest;
      digest.values(row);
      keys.push_back(digest.key() | kFrameKey);
    }
  }
}

SampleRule State::rule(int k) const {
  SampleRule rule;
  if (k > 0 ? !speaking_ || streams_.idle(k) : speaking_ && streams_.idle(0)) rule.forced = 0;
  if (k > 0 || rule.forced == 0) return rule;  // forced: a pad
  const int32_t end = config_.ids.end, kind = speaking_ ? config_.ids.speech : config_.ids.text;
  const int64_t least = speaking_ ? config_.least_steps : kLeastWords;
  if (!ignore_stop_ && streams_.steps() >= least) rule.allowed[rule.ranges++] = {end, end + 1};
  rule.allowed[rule.ranges++] = {kind, kind + 1};  // as ESPnet's mask leaves it
  const int32_t first = speaking_ ? config_.first_unit : config_.first_code;
  rule.allowed[rule.ranges++] = {first, first + (speaking_ ? config_.units : config_.words)};
  return rule;
}

Verdict State::advance(std::span<const int32_t> codes, StepOutput& out) {
  if (!speaking_) {
    streams_.push(codes);
    return write(codes[0], out);
  }
  if (!streams_.ending() && codes[0] == config_.ids.end) streams_.end_now();
  streams_.push(codes);
  std::array<int32_t, kMostStreams> buffer;
  const std::span frame = std::span(buffer).first(codes.size());
  if (streams_.frame(frame)) {
    // A pad where a code belongs is the first code.
    for (int32_t& code : frame.subspan(1)) code = std::max(code - 1, 0);
    out.frame(frame.subspan(1));
  }
  if (streams_.cut_at(max_steps())) return cut(end_speech());
  return streams_.done() ? end_speech() : Verdict{};
}

Verdict State::write(int32_t choice, StepOutput& out) {
  const auto tell = [&](std::string_view text) {
    if (!text.empty()) out.text(text);
  };
  if (choice == config_.ids.end) {
    tell(written_.finish());
    return end_words();
  }
  const int32_t id = config_.id_of(0, choice);
  said_.push_back(id);
  tell(written_.push(prompter_.bytes(id)));
  if (written_.stopped()) {
    forget_stop();
    return said_.empty() ? Verdict{Verdict::kFinished, FinishReason::kStop} : end_words();
  }
  if (streams_.steps() < max_steps()) return {};
  tell(written_.finish());
  cut_ = true;
  return end_words();
}

/// What nobody reads is not spoken either: ids that hold some of the stop string.
void State::forget_stop() {
  int64_t bytes = 0;
  const auto reaches_it = [&](int32_t id) {
    bytes += std::ssize(prompter_.bytes(id));
    return bytes > written_.told();
  };
  said_.erase(std::find_if(said_.begin(), said_.end(), reaches_it), said_.end());
}

/// What was written is spoken, where it is to be heard and there is room for it.
Verdict State::end_words() {
  const FinishReason reason = cut_ ? FinishReason::kLength : FinishReason::kStop;
  if (!answers_aloud_) return {Verdict::kFinished, reason};
  Rows rows = std::move(rows_);
  prompter_.answered(rows, said_);
  prompter_.answer(rows, true);
  if (!fits(rows.count(), "").ok()) return {Verdict::kFinished, FinishReason::kLength};
  const int before = prompt_rows() + static_cast<int>(std::ssize(said_));
  begin_phase(std::move(rows), true, std::ssize(said_));
  return {Verdict::kNextSegment, FinishReason::kStop, before};
}

Verdict State::end_speech() {
  frames_before_ += streams_.end_frame();
  if (max_frames_ > 0 && frames_before_ >= max_frames_ && (!waiting_.empty() || text_.open())) {
    return {Verdict::kFinished, FinishReason::kLength};
  }
  const bool more = begin_reading();
  if (more || text_.open()) return {Verdict::kNextSegment, FinishReason::kStop};
  return {Verdict::kFinished, cut_ ? FinishReason::kLength : FinishReason::kStop};
}

void State::rows(int first, bool companion, InputRows& out) const {
  for (int i = 0; i < out.count(); ++i) row(first + i, companion, out.ids(i));
}

void State::row(int pos, bool companion, std::span<int32_t> ids) const {
  const int step = pos - prompt_rows();
  if (companion && (step < 0 || !speaking_)) {
    std::fill(ids.begin(), ids.end(), config_.ids.pad);
    return;
  }
  if (step < 0) {
    std::copy_n(prompt_.begin() + int64_t{pos} * config_.streams, config_.streams, ids.begin());
    return;
  }
  SYRINX_CHECK(step < streams_.steps(), "row ", pos, " of ", prompt_rows(), " + ",
               streams_.steps());
  for (int s = 0; s < static_cast<int>(config_.streams); ++s) {
    ids[s] = config_.id_of(s, streams_.at(step, s));
  }
}

}  // namespace syrinx::opuslm
