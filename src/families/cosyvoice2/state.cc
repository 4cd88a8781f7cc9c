#include "families/cosyvoice2/state.h"

#include <algorithm>

#include "families/cut.h"

namespace syrinx::cosyvoice2 {

Result<std::unique_ptr<Sequence>> State::open(const ModelConfig& config, const Frontend& frontend,
                                              std::shared_ptr<const Voice> voice,
                                              const SpeechRequest& request) {
  if (request.text_open) {
    return Error{ErrorCode::kUnsupported, "this model takes the whole text at once", "input"};
  }
  if (request.guidance) {
    return Error{ErrorCode::kUnsupported, "this model has no guidance scale", "guidance"};
  }
  if (!request.language.empty() && request.language != "auto") {
    return Error{ErrorCode::kUnsupported,
                 "this model takes no language; say it in the instructions", "language"};
  }
  std::unique_ptr<State> state(new State(config, frontend));
  state->flow_voice_ = voice->flow;
  state->voice_ = std::move(voice);
  state->seed_ = request.seed;
  state->full_flow_ = request.flow == FlowMode::kFull;  // its authors train both ways
  state->instructions_ = request.instructions;
  state->max_frames_ = request.max_frames;
  state->ignore_stop_ = request.ignore_stop;
  SampleParams& sampling = state->sampling_ = config.sampling;
  sampling.temperature = request.temperature.value_or(sampling.temperature);
  sampling.top_k = request.top_k.value_or(sampling.top_k);
  sampling.top_p = request.top_p.value_or(sampling.top_p);
  sampling.repetition_penalty = request.repetition_penalty.value_or(sampling.repetition_penalty);
  if (request.min_p) {
    sampling.min_p = *request.min_p;  // another way of sampling than the authors'
    sampling.ras_window = 0;
  }
  for (const std::string& part :
       frontend.parts(request.text, request.spell_numbers.value_or(true))) {
    state->later_.push_back(frontend.ids(part));
    if (state->later_.back().empty()) state->later_.pop_back();
  }
  if (state->later_.empty()) {
    return Error{ErrorCode::kInvalid, "there is nothing to say", "input"};
  }
  std::reverse(state->later_.begin(), state->later_.end());
  for (const std::vector<int32_t>& ids : state->later_) {
    const size_t rows = frontend.prompt(*state->voice_, state->instructions_, ids).size();
    if (static_cast<int64_t>(rows) + 2 > config.max_positions) {
      return Error{ErrorCode::kInvalid,
                   "text, voice and instructions take " + std::to_string(rows) +
                       " positions, the model has " + std::to_string(config.max_positions),
                   "input"};
    }
  }
  state->begin_segment();
  return std::unique_ptr<Sequence>(std::move(state));
}

void State::begin_segment() {
  const std::vector<int32_t> ids = std::move(later_.back());
  later_.pop_back();
  text_ids_ = static_cast<int64_t>(ids.size());
  prompt_ = frontend_.prompt(*voice_, instructions_, ids);
  prompt_ids_.clear();
  for (const Row& row : prompt_) prompt_ids_.push_back(row.id);
  tokens_.clear();
  tokens_.reserve(static_cast<size_t>(max_steps()));  // steps then allocate nothing
}

int State::max_steps() const {
  const int64_t room = config_.max_positions - prompt_rows();
  int64_t limit = most_steps() + 1;  // the last one ends the part without a code
  if (max_frames_ > 0) {
    const int64_t left = std::max<int64_t>(1, max_frames_ - spoken_);
    limit = ignore_stop_ ? left : std::min(limit, left);
  }
  if (full_flow_) limit = std::min<int64_t>(limit, kMostFullTokens);
  return static_cast<int>(std::max<int64_t>(1, std::min(limit, room)));
}

void State::prefix_keys(bool, std::vector<uint64_t>& keys) const {
  for (const Row& row : prompt_) {
    keys.push_back(static_cast<uint64_t>(row.table) << 32 | static_cast<uint32_t>(row.id));
  }
}

SampleRule State::rule(int) const {
  SampleRule rule;
  const auto codes = static_cast<int32_t>(config_.speech_codes);
  if (ignore_stop_) {
    rule.allowed[0] = {0, codes};
    rule.ranges = 1;
  } else if (steps() >= most_steps()) {
    rule.forced = codes;
  } else if (steps() < least_steps()) {
    // As the authors do it: only the first of the three ids that end speech is kept away.
    rule.allowed[0] = {0, codes};
    rule.allowed[1] = {codes + 1, codes + 3};
    rule.ranges = 2;
  }
  return rule;
}

Verdict State::next() {
  spoken_ += steps();
  if (later_.empty()) return {Verdict::kFinished, FinishReason::kStop};
  if (max_frames_ > 0 && spoken_ >= max_frames_) {
    return {Verdict::kFinished, FinishReason::kLength};
  }
  begin_segment();
  return {Verdict::kNextSegment, FinishReason::kStop};
}

Verdict State::advance(std::span<const int32_t> codes, StepOutput& out) {
  if (codes[0] >= config_.speech_codes) return next();
  const bool begins = tokens_.empty() && spoken_ > 0;
  const int32_t frame[] = {codes[0] | (begins ? kS3SegmentStart : 0)};
  out.frame(frame);
  tokens_.push_back(codes[0]);
  return steps() < max_steps() ? Verdict{} : cut(next());
}

void State::rows(int first, bool, InputRows& out) const {
  for (int i = 0; i < out.count(); ++i) {
    const Row made_of = row(first + i);
    out.ids(i)[static_cast<size_t>(made_of.table)] = made_of.id;
  }
}

Row State::row(int pos) const {
  if (pos < prompt_rows()) return prompt_[static_cast<size_t>(pos)];
  const auto step = static_cast<size_t>(pos - prompt_rows());
  SYRINX_CHECK(step < tokens_.size(), "row ", pos, " of ", prompt_rows(), " + ", tokens_.size());
  return {Table::kSpeech, tokens_[step]};
}

}  // namespace syrinx::cosyvoice2
