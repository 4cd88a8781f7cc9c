#include "families/spoken/spoken_sequence.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "families/cut.h"

namespace syrinx {

int SpokenScript::emit(const DelayedStreams&, std::span<int32_t> frame, StepOutput& out) {
  out.frame(frame);
  return 1;
}

SampleRule next_rule(const SpokenModel& model, const SpokenScript& script,
                     const DelayedStreams& steps, int k, bool ignore_stop) {
  SampleRule rule;
  if (steps.idle(k)) {
    rule.forced = 0;  // needs no logits; DelayedStreams stores a mark instead
    return rule;
  }
  rule = script.rule(steps, k);
  return k == 0 && ignore_stop ? model.spoken(rule) : rule;
}

SpokenSequence::SpokenSequence(const SpokenModel& model, std::unique_ptr<SpokenScript> script,
                               const SpeechRequest& request)
    : model_(model),
      script_(std::move(script)),
      sampling_(model.sampling_of(request)),
      inner_sampling_(model.inner_sampling_of(request)),
      guidance_(model.guidance_of(request)),
      seed_(request.sampling.seed),
      max_frames_(request.terms.max_frames),
      ignore_stop_(request.terms.ignore_stop),
      text_(
          model.text, request.say.open,
          [this](std::string_view segment, int64_t begin) {
            return script_->encode(segment, begin);
          },
          script_->splitter()),
      prompt_(model.tables),
      companion_(model.tables),
      steps_(model.pattern) {
  SYRINX_CHECK(model.pattern.streams() <= kMostStreams, model.pattern.streams(), " streams");
}

Result<Opened> SpokenSequence::open(const SpokenModel& model,
                                    Result<std::unique_ptr<SpokenScript>> script,
                                    const SpeechRequest& request) {
  if (!script) return script.error();
  std::unique_ptr<SpokenSequence> sequence(new SpokenSequence(model, script.take(), request));
  if (const Status text = sequence->text_.begin(request.say.text); !text.ok()) return text.error();
  sequence->begin_segment();
  if (sequence->prompt_rows() + model.least_steps > model.max_positions) {
    return Error{ErrorCode::kInvalid,
                 concat("text and context take ", sequence->prompt_rows(),
                        " positions, but the model has only ", model.max_positions, " and needs ",
                        model.least_steps, " to speak"),
                 request.say.context.empty() && !request.voice.data ? "input" : "context"};
  }
  return Opened(std::move(sequence));
}

SpokenSequence::Kept SpokenSequence::begin_segment() {
  frames_before_ = frames_;
  Prompt next(model_.tables), companion(model_.tables);
  now_ = {};
  if (!text_.empty()) {
    now_.ids = text_.next();
    script_->prompt(past_, now_, next);
    if (guidance()) {
      companion = next;
      script_->make_companion(companion);
    }
  }
  const Kept kept{rows_fed_before(prompt_, next), rows_fed_before(companion_, companion)};
  prompt_ = std::move(next), companion_ = std::move(companion);
  steps_.restart(0);
  if (!ready()) return {};
  const int steps = max_steps();  // memory is reserved here, so that steps allocate nothing
  steps_.restart(steps);
  now_.frames.reserve(static_cast<size_t>(steps * model_.pattern.streams()));
  return kept;
}

/// Returns how many rows at the beginning of `next` equal the rows computed so far: those of the
/// previous prompt, `fed`, then those of its steps.
int SpokenSequence::rows_fed_before(const Prompt& fed, const Prompt& next) const {
  std::vector<int32_t> ids(static_cast<size_t>(model_.tables));
  const auto same_row = [&](int at) {
    if (at < fed.size()) return fed.same_row(at, next);
    step_row(at - fed.size(), ids);
    return next.vector(at).empty() && std::ranges::equal(ids, next.row(at));
  };
  const int most = fed.empty() ? 0 : std::min(next.size(), fed.size() + steps_.steps());
  int same = 0;
  while (same < most && same_row(same)) ++same;
  return same;
}

Status SpokenSequence::append_text(std::string_view text, bool last) {
  if (const Status taken = text_.append(text, last); !taken.ok()) return taken;
  if (!ready()) begin_segment();
  // A sentence is complete only when a later letter has arrived, so only a blank text fails here.
  return ready() || !last ? ok_status() : nothing_to_say();
}

Status SpokenSequence::take(int port, const Frames& frames) {
  return frames.count == 0 ? ok_status() : Sequence::take(port, frames);
}

int SpokenSequence::max_steps() const {
  const int64_t tail = model_.pattern.tail();
  const int64_t room = model_.max_positions - prompt_rows() - tail;
  int64_t limit = model_.spare_steps + model_.steps_per_id * std::ssize(now_.ids);
  if (model_.most_steps > 0) limit = std::min(limit, model_.most_steps);
  if (max_frames_ > 0) {
    limit = script_->steps_of(std::max<int64_t>(1, max_frames_ - frames_before_));
  }
  limit = std::min({limit, room, script_->step_limit()});
  return static_cast<int>(std::max<int64_t>(1, limit) + tail);
}

void SpokenSequence::prefix_keys(bool companion, std::vector<uint64_t>& keys) const {
  (companion ? companion_ : prompt_).append_keys(keys);
}

void SpokenSequence::step_row(int step, std::span<int32_t> ids) const {
  SYRINX_CHECK(step < steps_.steps(), "step ", step, " of ", steps_.steps());
  std::array<int32_t, kMostStreams> buffer;
  const std::span codes = std::span(buffer).first(model_.pattern.delays.size());
  for (size_t s = 0; s < codes.size(); ++s) codes[s] = steps_.at(step, static_cast<int>(s));
  std::ranges::fill(ids, -1);
  script_->step_row(step, codes, ids);
}

void SpokenSequence::rows(int first, bool companion, InputRows& out) const {
  const Prompt& prompt = companion ? companion_ : prompt_;
  for (int i = 0; i < out.count(); ++i) {
    const int pos = first + i;
    if (pos >= prompt.size()) {
      step_row(pos - prompt.size(), out.ids(i));
    } else if (const GivenRow vector = prompt.vector(pos); !vector.empty()) {
      out.give(i, vector);
    } else {
      std::ranges::copy(prompt.row(pos), out.ids(i).begin());
    }
  }
}

/// Returns none for inner codes with their own sampling, because these have no repetition penalty.
std::span<const int32_t> SpokenSequence::history(int k) const {
  if (k > 0 && model_.inner_sampling) return {};
  return script_->history(steps_, k);
}

/// Returns whether a step ends the segment now. If the pattern has a tail, may begin it instead.
bool SpokenSequence::ends(std::span<const int32_t> codes) {
  if (model_.end < 0) return script_->ends(steps_, codes);
  if (codes[0] != model_.end || steps_.ending() || steps_.steps() < model_.end_from) return false;
  if (model_.pattern.tail() > 0) steps_.end_now();
  return !steps_.ending();
}

Verdict SpokenSequence::advance(std::span<const int32_t> codes, StepOutput& out) {
  if (ends(codes)) {
    frames_ += script_->close(steps_, frames_left(), out);
    return end_segment();
  }
  steps_.push(codes);
  std::array<int32_t, kMostStreams> buffer;
  const std::span frame = std::span(buffer).first(model_.pattern.delays.size());
  if (steps_.frame(frame)) {
    frames_ += script_->emit(steps_, frame, out);
    now_.frames.insert(now_.frames.end(), frame.begin(), frame.end());
  }
  if (steps_.cut_at(max_steps())) return cut(end_segment());
  return steps_.done() ? end_segment() : Verdict{};
}

/// Returns how many more frames the request may have.
int64_t SpokenSequence::frames_left() const {
  return max_frames_ > 0 ? std::max<int64_t>(0, max_frames_ - frames_)
                         : std::numeric_limits<int32_t>::max();
}

Verdict SpokenSequence::end_segment() {
  if (text_.empty() && !text_.open()) return {Verdict::kFinished, FinishReason::kStop};
  if (max_frames_ > 0 && frames_ >= max_frames_) {
    return {Verdict::kFinished, FinishReason::kLength};
  }
  past_.push_back(std::move(now_));
  const Kept kept = begin_segment();
  return {Verdict::kNextSegment, FinishReason::kStop, kept.rows, kept.companion_rows};
}

}  // namespace syrinx
