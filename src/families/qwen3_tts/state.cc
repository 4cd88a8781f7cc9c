#include "families/qwen3_tts/state.h"

#include <algorithm>
#include <memory>

#include "families/cut.h"
#include "families/spoken/spoken_model.h"
#include "io/digest.h"
#include "text/segment_queue.h"

namespace syrinx::qwen3_tts {
namespace {

constexpr int64_t kNoEndBefore = 2;     // the end cannot be sampled before this step
constexpr int64_t kSpareFrames = 125;   // extra frames, besides those per id: ten seconds
constexpr int64_t kFramesPerId = 15;    // frames of one id in slow speech: 1.2 s
constexpr size_t kSegmentBytes = 4000;  // bytes; a longer text is cut at the end of a sentence

/// Cuts the text into parts of whole sentences. The last part comes first in the result.
std::vector<std::string> segments(const std::string& text) {
  if (text.size() <= kSegmentBytes) return {text};
  SegmentQueue queue(kSegmentBytes, false, 0);
  queue.push(text, true);
  std::vector<std::string> parts;
  for (std::string part = queue.next(); !part.empty(); part = queue.next()) {
    parts.push_back(std::move(part));
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

/// Returns a digest of `key` and `values`.
template <typename T>
uint64_t digest_of(uint64_t key, std::span<const T> values) {
  Digest digest;
  digest.number(key);
  digest.values(values);
  return digest.key() | uint64_t{1} << 63;  // distinguishes keys from ids, which are below 2^31
}

}  // namespace

Result<std::unique_ptr<Sequence>> State::open(const ModelConfig& config, const Frontend& frontend,
                                              int64_t max_positions, VoicePrompt voice,
                                              const SpeechRequest& request) {
  std::unique_ptr<State> state(new State(config, frontend, max_positions));
  state->voice_ = std::move(voice);
  if (!state->voice_.frames.empty()) {
    state->voice_text_ = frontend.text_ids(Frontend::turn_text(state->voice_.text));
  }
  state->instructions_ = request.say.instructions;
  SpokenModel drawn;
  drawn.sampling = config.defaults.outer;
  drawn.inner_sampling = config.defaults.inner;
  state->sampling_[0] = drawn.sampling_of(request);
  state->sampling_[1] = drawn.inner_sampling_of(request);
  state->max_frames_ = request.terms.max_frames;
  state->ignore_stop_ = request.terms.ignore_stop;
  state->open_ = request.say.open;
  // As in the authors' code, the text of Base checkpoints is beside the audio, unless requested.
  const bool in_prompt = config.kind != Kind::kBase && !request.say.open;
  state->text_in_prompt_ = request.say.in_prompt.value_or(in_prompt);
  if (request.say.open && state->text_in_prompt_) {
    return Error{ErrorCode::kUnsupported,
                 "text that is sent in pieces needs 'text_in_prompt': false", "text_in_prompt"};
  }
  if (is_blank(request.say.text) && !request.say.open) return nothing_to_say();
  state->later_ = segments(request.say.text);
  state->begin_segment();
  if (state->prompt_rows() + 2 > max_positions) {
    return Error{ErrorCode::kInvalid,
                 "text, instructions and voice take " + std::to_string(state->prompt_rows()) +
                     " positions, but the model has only " + std::to_string(max_positions),
                 "input"};
  }
  return std::unique_ptr<Sequence>(std::move(state));
}

/// If text is beside the audio, rows after the recording's words lack keys: their text may be late.
void State::prefix_keys(bool /*companion*/, std::vector<uint64_t>& keys) const {
  const int64_t certain = head_rows_ + static_cast<int64_t>(voice_text_.size());
  const size_t count =
      text_in_prompt_ ? prompt_.size() : std::min(prompt_.size(), static_cast<size_t>(certain));
  for (const PromptRow& row : std::span(prompt_).first(count)) {
    uint64_t key =
        uint64_t{static_cast<uint32_t>(row.text)} << 32 | static_cast<uint32_t>(row.codec);
    if (row.frame >= 0) {
      const auto c = static_cast<size_t>(config_.codebooks);
      key = digest_of(key, std::span(voice_.frames).subspan(row.frame * c, c));
    } else if (row.codec == kVectorRow) {
      key = digest_of(key, std::span(voice_.vector));
    }
    keys.push_back(key);
  }
}

/// Makes the prompt of the next waiting segment, which has no frames yet.
void State::begin_segment() {
  waiting_ = std::move(later_.back());
  later_.pop_back();
  beside_.clear(), frames_.clear(), firsts_.clear();
  stream_.reset();
  role_ids_ = 0;
  text_ids_ = 0;
  put_ = 0;
  prompt_ids_.clear();
  prompt_ = frontend_.head(voice_.choice, instructions_);
  head_rows_ = static_cast<int64_t>(prompt_.size());
  const auto vector = std::ranges::find(prompt_, kVectorRow, &PromptRow::codec);
  vector_row_ = vector == prompt_.end() ? -1 : static_cast<int>(vector - prompt_.begin());
  const auto frames = static_cast<int32_t>(voice_.frames.size() / config_.codebooks);
  if (text_in_prompt_) {
    std::vector<int32_t> ids = frontend_.text_ids(Frontend::turn_text(waiting_));
    waiting_.clear();
    text_ids_ = static_cast<int64_t>(ids.size());
    ids.insert(ids.begin(), voice_text_.begin(), voice_text_.end());
    frontend_.add_whole_text(ids, frames, prompt_);
  } else {
    frontend_.add_beside_text(frames, prompt_);
    for (const int32_t id : voice_text_) put_beside(id);
    take_text(!text_open());
  }
  for (const PromptRow& row : prompt_) prompt_ids_.push_back(row.text);
  firsts_.reserve(max_steps());  // memory is reserved here, so that steps allocate nothing
  frames_.reserve(max_steps() * config_.codebooks);
}

/// Encodes the waiting text, as far as its ids are certain. `final`: no more text comes.
void State::take_text(bool final) {
  std::vector<int32_t> ids;
  if (!stream_) {
    if (is_blank(waiting_) && !final) return;
    stream_.emplace(frontend_.stream());
    stream_->push(Frontend::kRoleText, ids);
    waiting_ = std::string(Frontend::turn_text(waiting_));
  }
  stream_->push(waiting_, ids);
  waiting_.clear();
  if (final) stream_->finish(ids);
  for (const int32_t id : ids) {
    if (role_ids_ < Frontend::kRoleIds) {
      ++role_ids_;
    } else {
      ++text_ids_;
      put_beside(id);
    }
  }
  if (!final) return;
  put_beside(config_.text.tts_eos);
  while (put_ < pending_rows()) put_beside(config_.text.tts_pad);
}

/// Puts the next text id beside codec ids: first in rows of the prompt, then in rows of frames.
void State::put_beside(int32_t id) {
  if (put_ < pending_rows()) {
    prompt_[head_rows_ + put_].text = id;
    const auto at = static_cast<size_t>(head_rows_ + put_);
    if (at < prompt_ids_.size()) prompt_ids_[at] = id;
  } else {
    beside_.push_back(id);
  }
  ++put_;
}

Status State::append_text(std::string_view text, bool last) {
  if (!open_) return text_is_complete();
  open_ = !last;
  if (!later_.empty()) {  // an earlier segment is still being spoken
    later_.front() += text;
    return ok_status();
  }
  waiting_ += text;
  if (last && text_ids_ == 0 && !stream_ && is_blank(waiting_)) return nothing_to_say();
  take_text(last);
  return ok_status();
}

int State::max_steps() const {
  const int64_t room = max_positions_ - prompt_rows();
  const int64_t bound = kSpareFrames + kFramesPerId * text_ids_;
  const int64_t limit =
      max_frames_ > 0 ? max_frames_ - frames_before_ : std::min(bound, config_.defaults.max_frames);
  return static_cast<int>(std::max<int64_t>(1, std::min(limit, room)));
}

bool State::ready() const {
  if (text_ids_ == 0 || (!text_in_prompt_ && put_ < pending_rows())) return false;
  // The input of step s is the row of frame s - 1.
  return !text_open() || steps() <= static_cast<int64_t>(beside_.size());
}

SampleRule State::rule(int k) const {
  SampleRule rule;
  if (k > 0) return rule;
  rule.allowed[0] = {0, static_cast<int32_t>(config_.audio_codes())};
  rule.ranges = 1;
  // The end is not allowed before all text has arrived.
  if (steps() >= kNoEndBefore && !ignore_stop_ && !text_open()) {
    rule.allowed[1] = {config_.codec.eos, config_.codec.eos + 1};
    rule.ranges = 2;
  }
  return rule;
}

std::span<const int32_t> State::history(int k) const {
  return k == 0 ? std::span<const int32_t>(firsts_) : std::span<const int32_t>();
}

Verdict State::advance(std::span<const int32_t> codes, StepOutput& out) {
  if (codes[0] == config_.codec.eos) return end_segment();
  out.frame(codes);
  frames_.insert(frames_.end(), codes.begin(), codes.end());
  firsts_.push_back(codes[0]);
  return steps() < max_steps() ? Verdict{} : cut(end_segment());
}

Verdict State::end_segment() {
  frames_before_ += steps();
  if (later_.empty()) return {Verdict::kFinished, FinishReason::kStop};
  if (max_frames_ > 0 && frames_before_ >= max_frames_) {
    return {Verdict::kFinished, FinishReason::kLength};
  }
  begin_segment();
  return {Verdict::kNextSegment, FinishReason::kStop};
}

void State::rows(int first, bool, InputRows& out) const {
  const auto width = static_cast<size_t>(config_.talker.hidden);
  for (int i = 0; i < out.count(); ++i) {
    const std::span<int32_t> ids = out.ids(i);
    ids.back() = row(first + i, ids.first(ids.size() - 1));
    if (first + i == vector_row_) out.give(i, std::span(vector()).first(width));
  }
}

/// Returns the text id of row `pos`, and writes the row's codes to `codes`.
int32_t State::row(int pos, std::span<int32_t> codes) const {
  if (pos < prompt_rows()) {
    const PromptRow& row = prompt_[pos];
    SYRINX_CHECK(row.text >= 0, "row ", pos, " has no text yet");
    if (row.frame >= 0) {
      std::copy_n(voice_.frames.begin() + row.frame * config_.codebooks, config_.codebooks,
                  codes.begin());
    } else {
      codes[0] = std::max(row.codec, -1);
    }
    return row.text;
  }
  const int64_t frame = pos - prompt_rows();
  SYRINX_CHECK(frame < steps(), "row ", pos, " of ", prompt_rows(), " + ", steps());
  std::copy_n(frames_.begin() + frame * config_.codebooks, config_.codebooks, codes.begin());
  if (frame < static_cast<int64_t>(beside_.size())) return beside_[frame];
  SYRINX_CHECK(!text_open(), "row ", pos, " has no text yet");
  return config_.text.tts_pad;
}

}  // namespace syrinx::qwen3_tts
