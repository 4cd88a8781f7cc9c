#include "families/moss_tts/state.h"

#include <algorithm>

#include "base/check.h"
#include "families/spoken/spoken_model.h"
#include "model/past_context.h"
#include "text/segment_queue.h"

namespace syrinx::moss_tts {
namespace {

/// Returns the sampling that the authors recommend (docs/moss_tts_realtime_model_card.md).
SampleParams drawing(const SpeechRequest& request) {
  return asked({.temperature = 0.8f,
                .top_k = 30,
                .top_p = 0.6f,
                .repetition_penalty = 1.1f,
                .penalty_window = 50},
               request);
}

Error too_long(int64_t rows, int64_t positions, const char* what, const char* param) {
  return {ErrorCode::kInvalid,
          concat(what, " take ", rows, " positions, but the model has only ", positions), param};
}

}  // namespace

State::State(const ModelConfig& config, const Prompter& prompter, const SpeechRequest& request)
    : config_(config),
      prompter_(prompter),
      sampling_(drawing(request)),
      max_frames_(request.terms.max_frames),
      ignore_stop_(request.terms.ignore_stop),
      kept_(request.say.kept != nullptr),
      prompt_(static_cast<int>(config.codebooks) + 1),
      open_(request.say.open),
      stream_(prompter.stream()),
      columns_(static_cast<size_t>(config.codebooks)) {}

Result<std::unique_ptr<Sequence>> State::open(const ModelConfig& config, const Prompter& prompter,
                                              const SpeechRequest& request) {
  if (is_blank(request.say.text) && !request.say.open) return nothing_to_say();
  std::unique_ptr<State> state(new State(config, prompter, request));
  if (Status fault = state->add_past(request); !fault) return fault.error();
  if (Status fault = state->take_text(request.say.text, !request.say.open); !fault) {
    return fault.error();
  }
  return std::unique_ptr<Sequence>(std::move(state));
}

/// Adds all rows that precede the text.
Status State::add_past(const SpeechRequest& request) {
  Result<std::vector<HeardTurn>> turns =
      heard_turns(request, config_.codebooks, config_.pad_code, config_.max_positions);
  if (!turns) return turns.error();
  std::span<const HeardTurn> past = turns.value();
  const bool voiced = !past.empty() && past.front().own;
  prompter_.add_system(
      voiced ? std::span<const int32_t>(past.front().codes) : std::span<const int32_t>(), prompt_);
  if (voiced) past = past.subspan(1);
  bool first = true;
  for (const HeardTurn& turn : past) {
    if (turn.voice == "1" || turn.voice == "user") {
      prompter_.add_user(turn, prompt_);
    } else if (turn.voice != "0" && turn.voice != "assistant") {
      return turn.refused(
          concat("speaker \"", turn.voice, "\": expected 0 (the assistant) or 1 (the user)"));
    } else if (turn.codes.empty() || is_blank(turn.text)) {
      return turn.refused("a turn of the assistant needs its words and its audio");
    } else {
      prompter_.add_own(turn, first, prompt_);
    }
    first = false;
    if (room() < 2) return past_context(config_.max_positions, prompt_rows(), "context", 2);
  }
  prompter_.add_head(first, prompt_);
  head_rows_ = prompt_rows();
  if (room() < 2) return too_long(head_rows_, config_.max_positions, "voice and context", "voice");
  return ok_status();
}

/// Adds the ids that have become certain. The first of them go into the prompt.
Status State::take_text(std::string_view text, bool last) {
  words_ = words_ || !is_blank(text);
  stream_->push(text, text_);
  if (last) stream_->finish(text_);
  if (head_rows_ + std::ssize(text_) >= config_.max_positions) {
    return too_long(head_rows_ + std::ssize(text_), config_.max_positions, "text and context",
                    "input");
  }
  for (; placed_ < std::min(text_.size(), Prompter::kAhead); ++placed_) {
    prompter_.add_text(text_[placed_], prompt_);
  }
  if (!begun_ && words_ && (last || placed_ == Prompter::kAhead)) {
    begun_ = true;
    prompter_.begin_frames(prompt_);
  }
  for (std::vector<int32_t>& column : columns_) {  // reserved, so that steps allocate nothing
    column.reserve(static_cast<size_t>(max_steps()));
  }
  return ok_status();
}

Status State::append_text(std::string_view text, bool last) {
  if (!open_) return text_is_complete();
  open_ = !last;
  const Status taken = take_text(text, last);
  if (taken.ok() && last && !begun_) return nothing_to_say();
  return taken;
}

int State::max_steps() const {
  const int64_t bound = kSpareFrames + kFramesPerId * std::ssize(text_);
  const int64_t limit = max_frames_ > 0 ? max_frames_ : bound;
  return static_cast<int>(std::clamp<int64_t>(limit, 1, room()));
}

/// Step s > 0 needs the text id beside frame s - 1.
bool State::ready() const {
  const auto needed = placed_ + static_cast<size_t>(steps());
  return begun_ && (!open_ || steps() == 0 || needed <= text_.size());
}

/// The end is not allowed while text of the speech may still arrive.
SampleRule State::rule(int k) const {
  SampleRule rule;
  rule.allowed[rule.ranges++] = {0, config_.pad_code};
  if (k == 0 && !ignore_stop_ && !open_) {
    rule.allowed[rule.ranges++] = {config_.end_code(), config_.end_code() + 1};
  }
  return rule;
}

Verdict State::advance(std::span<const int32_t> codes, StepOutput& out) {
  if (codes[0] == config_.end_code()) return {Verdict::kFinished, FinishReason::kStop};
  out.frame(codes);
  for (size_t k = 0; kept_ && k < codes.size(); ++k) out.answer_id(codes[k]);
  for (size_t k = 0; k < codes.size(); ++k) columns_[k].push_back(codes[k]);
  if (steps() < max_steps()) return {};
  return {Verdict::kFinished, FinishReason::kLength};
}

void State::write_step_row(int step, std::span<int32_t> ids) const {
  const size_t at = placed_ + static_cast<size_t>(step);
  SYRINX_CHECK(at < text_.size() || !open_, "step ", step, " has no text yet");
  ids[0] = at < text_.size() ? text_[at] : config_.text_pad;
  for (size_t k = 0; k < columns_.size(); ++k) ids[k + 1] = columns_[k][step];
}

void State::rows(int first, bool, InputRows& out) const {
  for (int i = 0; i < out.count(); ++i) {
    const int pos = first + i;
    if (pos < prompt_rows()) {
      std::ranges::copy(prompt_.row(pos), out.ids(i).begin());
    } else {
      write_step_row(pos - prompt_rows(), out.ids(i));
    }
  }
}

/// Rows of text have no keys until the whole text has arrived.
void State::prefix_keys(bool, std::vector<uint64_t>& keys) const {
  prompt_.append_keys(keys);
  if (!begun_) keys.resize(static_cast<size_t>(head_rows_));
}

/// Appends the keys of a prompt whose text arrived late.
void State::step_keys(bool companion, std::vector<uint64_t>& keys) const {
  if (companion || open_ || !begun_) return;
  std::vector<uint64_t> all;
  prompt_.append_keys(all);
  Prompt fed(static_cast<int>(columns_.size()) + 1);
  for (int step = 0; step < steps(); ++step) write_step_row(step, fed.add_row());
  fed.append_keys(all);
  keys.insert(keys.end(), all.begin() + std::ssize(keys), all.end());
}

}  // namespace syrinx::moss_tts
