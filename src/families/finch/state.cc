#include "families/finch/state.h"

#include <algorithm>
#include <cmath>

namespace syrinx::finch {
namespace {

constexpr int kDrain = kBooks - 1;      // steps after the last frame, for the delayed books
constexpr int kMaxStepsPerSymbol = 12;  // 0.48 s; the slowest symbols of the teacher take 0.3 s
constexpr int kMaxStepsBase = 50;

/// A short silence: what is left to say when an open text ends without more words.
Segment silence() {
  Segment segment;
  PhoneSymbol pause;
  pause.phone = 3;
  pause.phrase = 5;
  pause.place = kPlaceClasses - 1;
  segment.symbols = {pause};
  return segment;
}

}  // namespace

FinchState::FinchState(const SpeechRequest& request, const FinchConfig& config,
                       std::shared_ptr<const Frontend> frontend)
    : config_(config), frontend_(std::move(frontend)), max_frames_(request.max_frames) {
  for (int k = 0; k < kBooks; ++k) {
    SampleParams& params = sampling_[k];
    params.temperature = request.temperature.value_or(config.temperature[k]);
    params.top_k = request.top_k.value_or(0);
    params.top_p = request.top_p.value_or(1.f);
    params.min_p = request.min_p.value_or(0.f);
    params.repetition_penalty = request.repetition_penalty.value_or(1.f);
    params.penalty_window = 50;
  }
  sampling_[kMoveHead].temperature = 0;
  repeat_ = request.ignore_stop && request.max_frames > 0;
  open_ = request.text_open;
  add_text(request.text, !open_);
  next_segment();
}

Status FinchState::append_text(std::string_view text, bool last) {
  if (!open_) return Error{ErrorCode::kInvalid, "the text of this request is complete", "text"};
  add_text(text, last);
  if (segment_.symbols.empty() && !next_segment() && last) begin_segment(silence());
  return ok_status();
}

void FinchState::add_text(std::string_view text, bool last) {
  reader_.push(text, last);
  open_ = !last;
}

bool FinchState::next_segment() {
  while (segments_.empty()) {
    if (sentences_.empty() && reader_.next(sentences_)) continue;
    if (sentences_.empty() && repeat_ && !spoken_.empty()) {
      sentences_.assign(spoken_.begin(), spoken_.end());
      spoken_.clear();
    }
    if (sentences_.empty()) {
      segment_ = {};
      return false;
    }
    for (Segment& segment : frontend_->read(sentences_.front())) {
      segments_.push_back(std::move(segment));
    }
    if (repeat_ && !segments_.empty()) spoken_.push_back(sentences_.front());
    sentences_.pop_front();
  }
  begin_segment(std::move(segments_.front()));
  segments_.pop_front();
  return true;
}

void FinchState::begin_segment(Segment segment) {
  segment_ = std::move(segment);
  frames_before_ += std::max(frames_, 0);
  rows_.clear();
  said_.clear();
  path_.clear();
  // Enough for the segment, so that its steps allocate nothing.
  const auto steps = static_cast<size_t>(max_steps()) + 2;
  rows_.reserve(steps);
  said_.reserve(steps);
  path_.reserve(steps);
  for (auto& history : history_) history.reserve(history.size() + steps);
  rows_.push_back({{config_.codes, config_.codes, config_.codes}, 0, 0});
  frames_ = -1;
  next_word_ = 0;
  survival_ = pending_survival_ = 1;
}

int FinchState::max_steps() const {
  int64_t steps =
      kMaxStepsBase + kMaxStepsPerSymbol * static_cast<int64_t>(segment_.symbols.size());
  if (max_frames_ > 0) {
    const int64_t before = frames_before_ + (rows_.empty() ? std::max(frames_, 0) : 0);
    steps = std::min(steps, std::max<int64_t>(1, max_frames_ - before + kDrain));
  }
  return static_cast<int>(std::min<int64_t>(steps, config_.max_positions - 1));
}

int32_t FinchState::symbol_at(int index) const {
  const bool inside = index >= 0 && index < static_cast<int>(segment_.symbols.size());
  return inside ? segment_.symbols[index].phone : 0;
}

void FinchState::row_inputs(int position, std::span<int32_t> ids) const {
  const Row& row = rows_[position];
  for (int k = 0; k < kBooks; ++k) ids[k] = row.codes[k];
  for (int i = 0; i < kHeard; ++i) ids[kBooks + i] = symbol_at(row.pointer + i);
  const bool inside = row.pointer < static_cast<int>(segment_.symbols.size());
  const PhoneSymbol symbol = inside ? segment_.symbols[row.pointer] : PhoneSymbol{};
  ids[kBooks + kHeard] = symbol.phrase;
  ids[kBooks + kHeard + 1] = symbol.place;
  ids[kBooks + kHeard + 2] = std::min(row.age, config_.ages - 1);
}

int FinchState::choose_move(std::span<const float> logits) {
  const float top = *std::max_element(logits.begin(), logits.end());
  float sum = 0;
  for (const float l : logits) sum += std::exp(l - top);
  pending_survival_ = survival_ * std::exp(logits[0] - top) / sum;
  if (pending_survival_ >= 0.5f) return 0;
  return static_cast<int>(std::max_element(logits.begin() + 1, logits.end()) - logits.begin());
}

void FinchState::move_pointer(int count) {
  const Row& now = rows_.back();
  survival_ = count > 0 ? 1 : pending_survival_;
  Row next;
  next.pointer = now.pointer + count;
  next.age = count > 0 ? 0 : now.age + 1;
  rows_.push_back(next);
}

Verdict FinchState::advance(std::span<const int32_t> codes, StepOutput& out) {
  const int step = static_cast<int>(said_.size());
  said_.push_back({codes[0], codes[1], codes[2]});
  for (int k = 0; k <= kBooks; ++k) history_[k].push_back(codes[k]);
  if (frames_ < 0) {
    path_.push_back(rows_.back().pointer);
    move_pointer(codes[kMoveHead]);
    if (rows_.back().pointer >= static_cast<int>(segment_.symbols.size())) frames_ = step + 1;
  } else {
    move_pointer(0);
  }
  for (int k = 0; k < kBooks; ++k) {
    const bool none = k > step || (frames_ >= 0 && step - k >= frames_);
    rows_.back().codes[k] = none ? config_.codes : codes[k];
  }
  const int frame = step - kDrain;
  if (frame >= 0 && (frames_ < 0 || frame < frames_)) emit_frame(frame, out);
  const bool full = max_frames_ > 0 && frames_before_ + frame + 1 >= max_frames_;
  if (frames_ >= 0 && step + 1 >= frames_ + kDrain && !full) {
    if (next_segment()) return {Verdict::kNextSegment};
    if (open_) {
      rows_.clear();
      return {Verdict::kNextSegment};
    }
    return {Verdict::kFinished, FinishReason::kStop};
  }
  if (full) return {Verdict::kFinished, FinishReason::kLength};
  return {};
}

void FinchState::emit_frame(int frame, StepOutput& out) {
  const int pointer = path_[frame];
  const std::array<int32_t, kFrameWidth> codes = {said_[frame][0],        said_[frame + 1][1],
                                                  said_[frame + 2][2],    symbol_at(pointer),
                                                  symbol_at(pointer - 1), symbol_at(pointer + 1)};
  out.frame(codes);
  while (next_word_ < segment_.words.size() && segment_.words[next_word_].symbol <= pointer) {
    const WordStart& word = segment_.words[next_word_++];
    out.word({word.begin, word.end, frames_before_ + frame});
  }
}

}  // namespace syrinx::finch
