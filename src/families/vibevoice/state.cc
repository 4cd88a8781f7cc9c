#include "families/vibevoice/state.h"

#include <algorithm>

#include "base/check.h"
#include "families/cut.h"
#include "text/segment_queue.h"

namespace syrinx::vibevoice {
namespace {

/// Returns the most ids of a part: one per 4 positions. Windows of 5 ids and 6 latents take 2.2
/// positions per id; the rest is for latents after the last window.
int64_t most_ids(const ModelConfig& config, const VoiceRows& voice) {
  return (config.max_positions - voice.rows) / 4;
}

}  // namespace

State::State(const ModelConfig& config, const Tokenizer& tokenizer,
             std::shared_ptr<const VoiceRows> voice, const SpeechRequest& request)
    : config_(config),
      voice_(std::move(voice)),
      seed_(request.sampling.seed),
      noise_scale_(request.sampling.temperature.value_or(1)),
      ignore_stop_(request.terms.ignore_stop),
      max_frames_(request.terms.max_frames),
      text_(tokenizer, most_ids(config, *voice_)) {
  greedy_.temperature = 0;
  const float scale = request.sampling.guidance.value_or(kGuidance);
  if (scale != 1) guidance_ = scale;
}

Result<std::unique_ptr<Sequence>> State::open(const ModelConfig& config, const Tokenizer& tokenizer,
                                              std::shared_ptr<const VoiceRows> voice,
                                              const SpeechRequest& request) {
  std::unique_ptr<State> state(new State(config, tokenizer, std::move(voice), request));
  state->text_.push(request.say.text, !request.say.open);
  if (state->text_.closed() && state->text_.blank()) return nothing_to_say();
  state->begin_part();
  return std::unique_ptr<Sequence>(std::move(state));
}

Status State::append_text(std::string_view text, bool last) {
  if (text_.closed()) return text_is_complete();
  text_.push(text, last);
  if (last && text_.blank()) return nothing_to_say();
  if (!begun_) begin_window();
  return ok_status();
}

void State::begin_part() {
  frames_before_ += part_frames();
  rows_.clear(), ids_.clear(), said_.clear();
  begun_ = windowed_ = false;
  prompt_ = voice_->rows, companion_prompt_ = voice_->companion_rows;
  begin_window();
}

/// Begins the part's next segment with a window of text. Returns false if the window is incomplete.
bool State::begin_window() {
  begun_ = text_.ready();
  steps_ = 0;
  if (!begun_) return false;
  for (const int32_t id : text_.take()) {
    rows_.push_back({id, voice_->texts + static_cast<int32_t>(std::ssize(ids_))});
    ids_.push_back(id);
  }
  windowed_ = text_.more();
  prompt_ = voice_->rows + static_cast<int>(std::ssize(rows_));
  companion_prompt_ = voice_->companion_rows + static_cast<int>(part_frames());
  int64_t limit = kLatents + 1;
  if (!windowed_) {
    limit = kFramesPerId * std::ssize(ids_) + kSpareFrames - part_frames();
    if (max_frames_ > 0) limit = max_frames_ - frames();
    limit = std::min(limit, config_.max_positions - std::max(prompt_, companion_prompt_));
  } else if (max_frames_ > 0) {
    limit = std::min(limit, max_frames_ - frames());
  }
  max_steps_ = static_cast<int>(std::max<int64_t>(1, limit));
  // Memory is reserved here, so that steps allocate nothing.
  rows_.reserve(rows_.size() + static_cast<size_t>(max_steps_));
  said_.reserve(said_.size() + static_cast<size_t>(max_steps_ * config_.latent()));
  return true;
}

/// Continues with the next window. All rows have run, except the last row of the companion.
Verdict State::next_window() {
  const int kept = voice_->rows + static_cast<int>(std::ssize(rows_));
  const int companion_kept = voice_->companion_rows + static_cast<int>(part_frames()) - 1;
  if (!begin_window()) {
    prompt_ = kept, companion_prompt_ = companion_kept + 1;
  }
  return {.next = Verdict::kNextSegment, .kept = kept, .companion_kept = companion_kept};
}

Verdict State::end_part() {
  if (!text_.next_part()) return {Verdict::kFinished, FinishReason::kStop};
  if (max_frames_ > 0 && frames() >= max_frames_)
    return {Verdict::kFinished, FinishReason::kLength};
  begin_part();
  return {.next = Verdict::kNextSegment,
          .kept = voice_->rows,
          .companion_kept = voice_->companion_rows,
          .new_streams = true};
}

float State::step_guidance(int) const { return looking() ? 1 : guidance_.value_or(1); }

SampleRule State::rule(int) const {
  SampleRule rule;
  // In the first step after text, no earlier latent can be the last one.
  if (ignore_stop_ || steps_ == 0) rule.allowed[0] = {0, kEnd}, rule.ranges = 1;
  return rule;
}

Verdict State::advance(std::span<const int32_t> codes, StepOutput& out) {
  if (codes[0] == kEnd) return end_part();
  if (looking()) return next_window();
  rows_.push_back({-1, static_cast<int32_t>(part_frames())});
  said_.insert(said_.end(), out.values().begin(), out.values().end());
  out.row(out.values());
  ++steps_;
  return steps_ < max_steps_ ? Verdict{} : cut(end_part());
}

std::span<const float> State::latent(int at) const {
  SYRINX_CHECK(at < part_frames(), "latent ", at, " of ", part_frames());
  const auto width = static_cast<size_t>(config_.latent());
  return std::span(said_).subspan(static_cast<size_t>(at) * width, width);
}

void State::rows(int first, bool companion, InputRows& out) const {
  for (int i = 0; i < out.count(); ++i) {
    const int pos = first + i;
    if (companion) {
      const int behind = pos - voice_->companion_rows;
      out.give(i, behind < 0 ? voice_->companion_row(pos) : latent(behind));
      continue;
    }
    if (pos < voice_->rows) {
      out.give(i, voice_->row(pos));
      continue;
    }
    const Row& row = rows_[static_cast<size_t>(pos - voice_->rows)];
    if (row.id < 0) {
      out.give(i, latent(row.at));
    } else {
      out.ids(i)[0] = row.id, out.ids(i)[1] = row.at;
    }
  }
}

}  // namespace syrinx::vibevoice
