#include "families/live/live_sequence.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "text/utf8.h"

namespace syrinx {
namespace {

constexpr int64_t kKeptRows = 256;  // most processed rows that are kept
/// Smallest probability that is sent, so that its logarithm is finite. Its complement is the
/// largest one, so that the logarithm is below 0.
constexpr float kLeast = 1e-6f;

/// Returns the logarithm of the probability that the speaker goes on; 0 if it is unknown. `logits`:
/// the stage's values for the step. The first class is a pause.
float goes_on(std::span<const float> logits) {
  double sum = 0;  // 1 / the probability of a pause
  for (const float logit : logits) sum += std::exp(double{logit} - logits[0]);
  if (!(sum >= 1)) return 0;  // no classes, or NaN
  const auto pause = static_cast<float>(1 / sum);
  return std::log(std::clamp(1 - pause, kLeast, 1 - kLeast));
}

}  // namespace

LiveSequence::LiveSequence(const Hearing& task, int64_t width, int64_t first)
    : delay_(task.delay), scores_(task.scores), width_(width), first_(first) {
  sampling_.temperature = 0;
}

std::span<const float> LiveSequence::step_rows() const {
  if (have_ < next()) return {};
  const int64_t from = std::max<int64_t>(0, at_), count = next() - from;
  return std::span(rows_).subspan(static_cast<size_t>((from - dropped_) * width_),
                                  static_cast<size_t>(count * width_));
}

SampleRule LiveSequence::rule(int) const {
  if (have_ >= next()) return {};
  return {.forced = 0};
}

Status LiveSequence::take(int, const Frames& frames) {
  rows_.insert(rows_.end(), frames.floats.begin(), frames.floats.end());
  have_ += frames.count;
  closed_ = closed_ || frames.last;
  return ok_status();
}

int64_t LiveSequence::unused_frames() const {
  return std::max<int64_t>(0, have_ - std::max<int64_t>(0, at_));
}

ScoredToken LiveSequence::token(std::string bytes, const StepOutput& out) {
  if (!begun_ && bytes.starts_with(' ')) bytes.erase(0, 1);
  begun_ = begun_ || !bytes.empty();
  return {.drawn = {std::move(bytes), out.scores() ? out.scores()->drawn.logprob : 0}, .top = {}};
}

void LiveSequence::send(ScoredToken token, StepOutput& out) {
  unfinished_ += token.drawn.bytes;
  const size_t whole = unfinished_.size() - utf8_unfinished(unfinished_);
  if (whole > 0) out.text(utf8_repair(std::string_view(unfinished_).substr(0, whole)));
  unfinished_.erase(0, whole);
  out.token(std::move(token));
}

void LiveSequence::forget() {
  const int64_t through = std::min(at_, have_) - dropped_;
  if (through < std::max(kKeptRows, (have_ - dropped_) / 2)) return;  // linear in all
  rows_.erase(rows_.begin(), rows_.begin() + through * width_);
  dropped_ += through;
}

Verdict LiveSequence::advance(std::span<const int32_t> codes, StepOutput& out) {
  if (have_ >= next()) {
    at_ = next() - 1;
    if (const int64_t moved = step(codes, out); moved > 0) {
      at_ += moved;
      const double heard_s = time_of(std::min(at_, have_));
      out.token(
          {.drawn = {{}, goes_on(out.values())}, .top = {}, .start_s = heard_s, .end_s = heard_s});
      forget();
    }
  }
  if (closed_ && have_ < next()) {
    if (!unfinished_.empty()) out.text(utf8_repair(unfinished_));
    unfinished_.clear();
    finish(out);
    return {Verdict::kFinished, FinishReason::kStop};
  }
  if (++steps_ < kSteps) return {};
  steps_ = 0;
  return {Verdict::kNextSegment};
}

}  // namespace syrinx
