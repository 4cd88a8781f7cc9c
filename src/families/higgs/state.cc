#include "families/higgs/state.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/check.h"
#include "families/cut.h"
#include "families/higgs/voice.h"
#include "families/past.h"
#include "io/digest.h"

namespace syrinx::higgs {
namespace {

constexpr int64_t kSpareFrames = 250;       // ten seconds beyond what the text needs
constexpr int64_t kFramesPerId = 30;        // slow speech: 1.2 s for one id
constexpr size_t kSegmentBytes = 400;       // about 27 s; longer texts are cut at sentences
constexpr size_t kShortSentence = 60;       // shorter ones are spoken together with the next
constexpr int64_t kMostIds = 2000;          // of a segment, or of the words of a voice
constexpr uint64_t kHeardKey = 1ull << 63;  // no id of text
constexpr int64_t kMostCodebooks = 64;

Error nothing_to_say() { return {ErrorCode::kInvalid, "there is nothing to say", "input"}; }

}  // namespace

State::State(const ModelConfig& config, const Prompter& prompter, const SpeechRequest& request)
    : config_(config),
      prompter_(prompter),
      max_frames_(request.max_frames),
      ignore_stop_(request.ignore_stop),
      text_(kSegmentBytes, request.text_open, kShortSentence),
      streams_(config.delays()) {
  // Those of speech (sglang-omni:sglang_omni/models/higgs_tts/stages.py, SPEECH_SAMPLING_DEFAULTS).
  sampling_.temperature = request.temperature.value_or(0.8f);
  sampling_.top_k = request.top_k.value_or(30);
  sampling_.top_p = request.top_p.value_or(0.8f);
  sampling_.min_p = request.min_p.value_or(0.f);
  sampling_.repetition_penalty = request.repetition_penalty.value_or(1.f);
}

Result<std::unique_ptr<Sequence>> State::open(const ModelConfig& config, const Prompter& prompter,
                                              double frame_rate, const SpeechRequest& request) {
  if (!request.language.empty() && request.language != "auto") {
    return Error{ErrorCode::kUnsupported, "the model takes the language from the text", "language"};
  }
  if (!request.instructions.empty()) {
    return Error{ErrorCode::kUnsupported,
                 "the model takes no instructions; write tags into the text, such as "
                 "<|emotion:sadness|>",
                 "instructions"};
  }
  if (request.text_in_prompt == false) {
    return Error{ErrorCode::kUnsupported, "the model has all text in its prompt", "text_in_prompt"};
  }
  if (request.guidance) {
    return Error{ErrorCode::kUnsupported, "this model has no guidance scale", "guidance"};
  }
  std::unique_ptr<State> state(new State(config, prompter, request));
  if (const Status voice = state->set_voice(request, frame_rate); !voice.ok()) return voice.error();
  if (is_blank(request.text) && !request.text_open) return nothing_to_say();
  if (const Status taken = state->take(request.text, !request.text_open); !taken.ok()) {
    return taken.error();
  }
  state->begin_segment();
  return std::unique_ptr<Sequence>(std::move(state));
}

Status State::set_voice(const SpeechRequest& request, double frame_rate) {
  if (!request.voice_data) {
    if (request.voice.empty() || request.voice == "default") return ok_status();
    return Error{ErrorCode::kNotFound,
                 "the model has no voice \"" + request.voice +
                     "\": it makes one up (\"default\"), or takes that of a recording",
                 "voice"};
  }
  const Voice& voice = *request.voice_data;
  const auto most =
      std::min(static_cast<int64_t>(kMostSeconds * frame_rate) + 1, config_.max_positions / 4);
  Result<std::vector<int32_t>> codes = voice_codes(config_, voice, most);
  if (!codes) return codes.error();
  reference_frames_ = codes.take();
  if (is_blank(voice.text) || !prompter_.ref_text()) return ok_status();
  Result<std::vector<int32_t>> words = prompter_.text(trimmed(voice.text), "voice");
  if (!words) return words.error();
  const auto bound = std::min(kMostIds, config_.max_positions / 8);
  if (std::ssize(words.value()) > bound) {
    return Error{ErrorCode::kInvalid,
                 concat("the words of the voice are ", words.value().size(), " ids, at most ",
                        bound, " fit"),
                 "voice"};
  }
  reference_ = words.take();
  return ok_status();
}

/// Tags of delivery that the text begins with hold for all segments that begin without.
Status State::take(std::string_view text, bool last) {
  text_.push(text, last);
  for (std::string part = text_.next(); !part.empty(); part = text_.next()) {
    part = std::string(trimmed(part));
    const std::string_view tags = leading_tags(part);
    if (!begun_) {
      lead_ = tags;
    } else if (tags.empty()) {
      part = lead_ + part;
    }
    begun_ = true;
    Result<std::vector<int32_t>> ids = prompter_.text(part, "input");
    if (!ids) return ids.error();
    const auto bound = std::min(kMostIds, config_.max_positions / 8);
    if (std::ssize(ids.value()) > bound) {
      return Error{ErrorCode::kInvalid,
                   concat("a sentence has ", ids.value().size(), " ids, at most ", bound,
                          " can be spoken at once"),
                   "input"};
    }
    waiting_.push_back(ids.take());
  }
  return ok_status();
}

Status State::append_text(std::string_view text, bool last) {
  if (!text_.open()) {
    return Error{ErrorCode::kInvalid, "the text of this request is complete", "input"};
  }
  const Status taken = take(text, last);
  if (!taken.ok()) return taken;
  // A sentence is certain once a letter after it is there, so what comes last is never nothing.
  if (ready() || begin_segment() || !last) return ok_status();
  return nothing_to_say();
}

void State::add_id(int32_t id) {
  prompt_.push_back(id);
  place_.push_back(-1);
}

void State::add_ids(std::span<const int32_t> ids) {
  for (const int32_t id : ids) add_id(id);
}

/// Frames as the steps that would have made them.
void State::add_frames(std::span<const int32_t> frames) {
  const std::vector<int32_t> steps = streams_.pattern().interleave(frames);
  for (size_t at = 0; at < steps.size(); at += static_cast<size_t>(config_.codebooks)) {
    prompt_.push_back(kHeard);
    place_.push_back(static_cast<int64_t>(heard_.size() + at));
  }
  heard_.insert(heard_.end(), steps.begin(), steps.end());
}

void State::add_turn(const Turn& turn) {
  add_id(prompter_.text());
  add_ids(turn.text);
  add_id(prompter_.audio());
  if (!turn.frames.empty()) add_frames(turn.frames);
}

int64_t State::rows_of(const Turn& turn) const {
  return std::ssize(turn.text) + std::ssize(turn.frames) / config_.codebooks +
         streams_.pattern().tail() + 2;
}

/// The next segment's prompt; false when no text waits.
bool State::begin_segment() {
  frames_before_ += std::max(streams_.end_frame(), 0);
  prompt_.clear(), place_.clear(), heard_.clear();
  streams_.restart(0);
  if (waiting_.empty()) return false;
  now_ = {std::move(waiting_.front()), {}};
  waiting_.pop_front();
  goes_on_ = !back_to_the_beginning(past_, std::min(kMostPast, config_.max_positions / 4),
                                    [&](const Turn& turn) { return rows_of(turn); });
  add_id(prompter_.tts());
  if (!reference_frames_.empty()) {
    if (!reference_.empty()) {
      add_id(*prompter_.ref_text());
      add_ids(reference_);
    }
    add_id(prompter_.ref_audio());
    add_frames(reference_frames_);
  }
  for (const Turn& turn : past_) add_turn(turn);
  heard_rows_ = std::ssize(prompt_);
  add_turn(now_);
  const int steps = max_steps();  // which then allocate nothing
  streams_.restart(steps);
  now_.frames.reserve(static_cast<size_t>(steps * config_.codebooks));
  return true;
}

int State::max_steps() const {
  const int64_t tail = streams_.pattern().tail();
  const int64_t room = config_.max_positions - prompt_rows() - tail;
  int64_t limit = std::min(kMostSteps - tail, kSpareFrames + kFramesPerId * std::ssize(now_.text));
  if (max_frames_ > 0) limit = max_frames_ - frames_before_;
  return static_cast<int>(std::max<int64_t>(1, std::min(limit, room)) + tail);
}

void State::prefix_keys(bool, std::vector<uint64_t>& keys) const {
  for (size_t row = 0; row < prompt_.size(); ++row) {
    if (place_[row] < 0) {
      keys.push_back(static_cast<uint64_t>(prompt_[row]));
      continue;
    }
    Digest digest;
    digest.values(std::span(heard_).subspan(place_[row], config_.codebooks));
    keys.push_back(digest.key() | kHeardKey);
  }
}

SampleRule State::rule(int k) const {
  SampleRule rule;
  if (streams_.idle(k)) rule.forced = config_.begin();
  if (ignore_stop_ && k == 0) rule.allowed[0] = {0, config_.end()}, rule.ranges = 1;
  return rule;
}

Verdict State::advance(std::span<const int32_t> codes, StepOutput& out) {
  // As the authors, who look for the end only when all codebooks have begun.
  const bool may_end = streams_.steps() >= config_.codebooks;
  if (may_end && !streams_.ending() && codes[0] == config_.end()) streams_.end_now();
  streams_.push(codes);
  std::array<int32_t, kMostCodebooks> buffer;
  const std::span frame = std::span(buffer).first(codes.size());
  if (streams_.frame(frame)) {
    for (int32_t& code : frame) {
      if (code >= config_.real_codes()) code = 0;  // a mark where none belongs
    }
    out.frame(frame);
    now_.frames.insert(now_.frames.end(), frame.begin(), frame.end());
  }
  if (streams_.cut_at(max_steps())) return cut(end_segment());
  return streams_.done() ? end_segment() : Verdict{};
}

/// Rows of the prompt and of its steps that are what a prompt says where it hears this segment: all
/// but the last, which the model makes behind the end.
int State::rows_gone_on() const {
  const std::vector<int32_t> heard = streams_.pattern().interleave(now_.frames);
  const int width = static_cast<int>(config_.codebooks);
  const auto same = [&](int step) {
    for (int c = 0; c < width; ++c)
      if (heard[static_cast<size_t>(step * width + c)] != streams_.at(step, c)) return false;
    return true;
  };
  int steps = 0;
  while (!now_.frames.empty() && steps < streams_.steps() && same(steps)) ++steps;
  return static_cast<int>(std::ssize(prompt_)) + steps;
}

Verdict State::end_segment() {
  const bool full = max_frames_ > 0 && frames_before_ + streams_.end_frame() >= max_frames_;
  if (waiting_.empty() && !text_.open()) return {Verdict::kFinished, FinishReason::kStop};
  if (full) return {Verdict::kFinished, FinishReason::kLength};
  const int before = rows_gone_on();
  past_.push_back(std::move(now_));
  now_ = {};
  const bool begun = begin_segment();
  const int kept = !begun ? 0 : goes_on_ ? before : static_cast<int>(heard_rows_);
  return {Verdict::kNextSegment, FinishReason::kStop, kept};
}

void State::rows(int first, bool, InputRows& out) const {
  for (int i = 0; i < out.count(); ++i) row(first + i, out.ids(i));
}

void State::row(int pos, std::span<int32_t> slots) const {
  const int step = pos - prompt_rows();
  if (step >= 0) {
    SYRINX_CHECK(step < streams_.steps(), "row ", pos, " of ", prompt_rows(), " + ",
                 streams_.steps());
    for (int k = 0; k < static_cast<int>(config_.codebooks); ++k) {
      slots[1 + k] = streams_.at(step, k);
    }
  } else if (place_[pos] < 0) {
    slots[0] = prompt_[pos];
  } else {
    std::copy_n(heard_.begin() + place_[pos], config_.codebooks, slots.begin() + 1);
  }
}

}  // namespace syrinx::higgs
