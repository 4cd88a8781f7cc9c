#include "families/csm/state.h"

#include <memory>

#include "base/ascii.h"
#include "families/cut.h"
#include "families/recorded_voice.h"

namespace syrinx::csm {
namespace {

constexpr size_t kSegmentBytes = 400;  // a longer text is cut at the end of a sentence
constexpr int64_t kSpareFrames = 125;  // ten seconds beyond what the text needs
constexpr int64_t kFramesPerId = 15;   // slow speech: 1.2 s for one id
constexpr int64_t kMostFrames = 1125;  // the authors' bound: 90 s
constexpr int64_t kLikelyPerId = 6;    // what is kept free for the frames of a segment
constexpr int64_t kLikelySpare = 25;
constexpr int64_t kLeastFrames = 125;  // context must leave so many

bool blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\v\f") == text.npos; }

/// Whole sentences together, as many as a segment takes.
std::deque<std::string> segments(const std::string& text) {
  if (text.size() <= kSegmentBytes) return {text};
  std::deque<std::string> parts;
  for (const Sentence& sentence : split_sentences(text)) {
    const std::string_view words =
        std::string_view(text).substr(sentence.begin, sentence.end - sentence.begin);
    if (parts.empty() || parts.back().size() + words.size() > kSegmentBytes) parts.emplace_back();
    parts.back() += words;
  }
  for (std::string& part : parts) part = trimmed(part);
  std::erase_if(parts, [](const std::string& part) { return part.empty(); });
  return parts;
}

Error nothing_to_say() { return {ErrorCode::kInvalid, "there is nothing to say", "input"}; }

}  // namespace

Result<std::unique_ptr<Sequence>> State::open(const ModelConfig& config, const Defaults& defaults,
                                              const Frontend& frontend,
                                              const SpeechRequest& request) {
  std::unique_ptr<State> state(new State(config, frontend));
  const Result<int> speaker = frontend.speaker(request.voice);
  // A voice given as data may have any name; where that is a number, it is the speaker's.
  if (!speaker && !request.voice_data) return speaker.error();
  state->speaker_ = speaker ? speaker.value() : 0;
  if (request.speaker >= 0) state->speaker_ = request.speaker;
  if (!request.language.empty() && request.language != "auto") {
    return Error{ErrorCode::kUnsupported, "the model takes the language from the text", "language"};
  }
  if (!request.instructions.empty()) {
    return Error{ErrorCode::kUnsupported, "the model takes no instructions", "instructions"};
  }
  if (request.text_in_prompt == false) {
    return Error{ErrorCode::kUnsupported, "the model has all text in its prompt", "text_in_prompt"};
  }
  if (request.guidance) {
    return Error{ErrorCode::kUnsupported, "this model has no guidance scale", "guidance"};
  }
  state->set_sampling(defaults, request);
  state->max_frames_ = request.max_frames;
  state->ignore_stop_ = request.ignore_stop;
  state->open_ = request.text_open;
  const Status context = state->take_context(request);
  if (!context.ok()) return context.error();
  if (request.text_open) {
    std::vector<SentenceStream::Item> sentences;
    state->sentences_.push(request.text, sentences);
    state->add_sentences(sentences);
  } else {
    if (blank(request.text)) return nothing_to_say();
    state->later_ = segments(request.text);
  }
  state->next_segment();
  if (state->prompt_rows() + kLeastFrames > config.max_positions) {
    return Error{ErrorCode::kInvalid,
                 "text and context take " + std::to_string(state->prompt_rows()) +
                     " positions; the model has " + std::to_string(config.max_positions) +
                     " and needs " + std::to_string(kLeastFrames) + " to speak",
                 request.context.empty() && !request.voice_data ? "input" : "context"};
  }
  return std::unique_ptr<Sequence>(std::move(state));
}

/// The recording of a voice is heard as the first of the earlier turns.
Status State::take_context(const SpeechRequest& request) {
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
      Result<std::vector<int32_t>> recorded = voice_codes(*turn.recording, config_.codebooks, most);
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

/// Checks a turn, which `what` names, and keeps it.
Status State::hear(const Turn& turn, const std::string& what, const char* param) {
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
  for (const Turn& earlier : context_) rows += rows_of(earlier);
  if (rows > config_.max_positions) {
    return refuse("the turns so far take " + std::to_string(rows) + " positions, the model has " +
                  std::to_string(config_.max_positions));
  }
  context_.push_back(turn);
  return ok_status();
}

void State::set_sampling(const Defaults& defaults, const SpeechRequest& request) {
  sampling_[0] = defaults.outer;
  sampling_[1] = defaults.inner;
  for (SampleParams& params : sampling_) {
    params.temperature = request.temperature.value_or(params.temperature);
    params.top_k = request.top_k.value_or(params.top_k);
    params.top_p = request.top_p.value_or(params.top_p);
    params.min_p = request.min_p.value_or(params.min_p);
  }
  SampleParams& inner = sampling_[1];
  inner.temperature = request.inner_temperature.value_or(inner.temperature);
  inner.top_k = request.inner_top_k.value_or(inner.top_k);
  inner.top_p = request.inner_top_p.value_or(inner.top_p);
  sampling_[0].repetition_penalty =
      request.repetition_penalty.value_or(sampling_[0].repetition_penalty);
}

/// Text that comes in pieces is spoken sentence by sentence, however the pieces are cut.
void State::add_sentences(std::span<const SentenceStream::Item> sentences) {
  for (const SentenceStream::Item& sentence : sentences) {
    if (!blank(sentence.text)) later_.emplace_back(trimmed(sentence.text));
  }
}

Status State::append_text(std::string_view text, bool last) {
  if (!open_) return Error{ErrorCode::kInvalid, "the text of this request is complete", "input"};
  open_ = !last;
  std::vector<SentenceStream::Item> sentences;
  sentences_.push(text, sentences);
  if (last) sentences_.finish(sentences);
  add_sentences(sentences);
  if (!prompt_.empty()) return ok_status();
  if (last && later_.empty() && !spoke_) return nothing_to_say();
  next_segment();
  return ok_status();
}

int64_t State::rows_of(const Turn& turn) const {
  const auto frames = static_cast<int64_t>(turn.frames.size()) / config_.codebooks;
  return static_cast<int64_t>(turn.ids.size()) + (frames > 0 ? frames + 1 : 0);
}

/// Begins the next waiting segment; without one, waits for text or ends the request.
void State::next_segment() {
  prompt_.clear(), ids_.clear(), frames_.clear(), firsts_.clear();
  first_frame_ = 0;
  if (!later_.empty()) {
    begin_segment(later_.front());
    later_.pop_front();
  } else if (!open_) {
    closing_ = true;  // one row, one step, and the end
    prompt_.push_back({config_.audio_end_token, -1});
  }
}

void State::begin_segment(const std::string& text) {
  spoke_ = true;
  now_ = {frontend_.turn(speaker_, text), {}};
  const auto ids = static_cast<int64_t>(now_.ids.size());
  int64_t rows = ids;
  for (const Turn& turn : context_) {
    add_turn(turn);
    rows += rows_of(turn);
  }
  // Without the segment before it each would find a voice of its own.
  if (!before_.ids.empty() &&
      rows + rows_of(before_) + kLikelyPerId * ids + kLikelySpare <= config_.max_positions) {
    add_turn(before_);
  }
  add_turn(now_);
  first_frame_ = static_cast<int64_t>(frames_.size()) / config_.codebooks;
  firsts_.reserve(max_steps());  // steps then allocate nothing
  frames_.reserve(frames_.size() + max_steps() * config_.codebooks);
}

void State::add_turn(const Turn& turn) {
  for (const int32_t id : turn.ids) prompt_.push_back({id, -1});
  ids_.insert(ids_.end(), turn.ids.begin(), turn.ids.end());
  if (turn.frames.empty()) return;
  int64_t frame = static_cast<int64_t>(frames_.size()) / config_.codebooks;
  frames_.insert(frames_.end(), turn.frames.begin(), turn.frames.end());
  frames_.insert(frames_.end(), config_.codebooks, config_.end_code);
  const int64_t end = static_cast<int64_t>(frames_.size()) / config_.codebooks;
  ids_.insert(ids_.end(), end - frame - 1, config_.audio_token);
  ids_.push_back(config_.audio_end_token);
  for (; frame < end; ++frame) prompt_.push_back({-1, frame});
}

int State::max_steps() const {
  const int64_t room = config_.max_positions - prompt_rows();
  if (prompt_.empty()) return static_cast<int>(room);  // a segment to come may need all
  const auto ids = static_cast<int64_t>(now_.ids.size()) - Frontend::kControlIds;
  int64_t limit = std::min(kSpareFrames + kFramesPerId * ids, kMostFrames);
  if (max_frames_ > 0) limit = max_frames_ - frames_before_;
  return static_cast<int>(std::max<int64_t>(1, std::min(limit, room)));
}

void State::prefix_keys(bool, std::vector<uint64_t>& keys) const {
  append_keys(prompt_, frames_, config_.codebooks, keys);
}

SampleRule State::rule(int) const {
  SampleRule rule;
  rule.allowed[0] = {0, static_cast<int32_t>(config_.audio_codes())};
  rule.ranges = 1;
  if (closing_) rule.forced = config_.end_code;
  return rule;
}

std::span<const int32_t> State::history(int k) const {
  return k == 0 ? std::span<const int32_t>(firsts_) : std::span<const int32_t>();
}

Verdict State::advance(std::span<const int32_t> codes, StepOutput& out) {
  if (closing_) return {Verdict::kFinished, FinishReason::kStop};
  const bool end = std::all_of(codes.begin(), codes.end(),
                               [&](int32_t code) { return code == config_.end_code; });
  if (end && !ignore_stop_) return end_segment();
  out.frame(codes);
  frames_.insert(frames_.end(), codes.begin(), codes.end());
  firsts_.push_back(codes[0]);
  return steps() < max_steps() ? Verdict{} : cut(end_segment());
}

Verdict State::end_segment() {
  now_.frames.assign(frames_.begin() + first_frame_ * config_.codebooks, frames_.end());
  frames_before_ += steps();
  before_ = std::move(now_);
  const bool full = max_frames_ > 0 && frames_before_ >= max_frames_;
  if (later_.empty() && !open_) return {Verdict::kFinished, FinishReason::kStop};
  if (full) return {Verdict::kFinished, FinishReason::kLength};
  next_segment();
  return {Verdict::kNextSegment, FinishReason::kStop};
}

void State::rows(int first, bool, InputRows& out) const {
  for (int i = 0; i < out.count(); ++i) row(first + i, out.ids(i));
}

void State::row(int pos, std::span<int32_t> slots) const {
  int64_t frame = first_frame_ + pos - prompt_rows();
  if (pos < prompt_rows()) {
    frame = prompt_[pos].frame;
    slots.back() = prompt_[pos].id;
    if (frame < 0) return;
  }
  SYRINX_CHECK(frame < first_frame_ + steps(), "row ", pos, " of ", prompt_rows(), " + ", steps());
  std::copy_n(frames_.begin() + frame * config_.codebooks, config_.codebooks, slots.begin());
}

}  // namespace syrinx::csm
