#include "families/voxtral_realtime/transcription.h"

#include <algorithm>

#include "text/utf8.h"

namespace syrinx::voxtral_realtime {
namespace {

constexpr int64_t kKeptRows = 128;  // most processed rows that are kept

}  // namespace

Transcription::Transcription(const ModelConfig& config, const Tokenizer& words, StreamKv kv,
                             Tensor norms, const Hearing& task)
    : config_(config), words_(words), task_(task), kv_(std::move(kv)), norms_(std::move(norms)) {
  sampling_.temperature = 0;
}

Transcription::Rows Transcription::rows() const {
  if (have_ < next()) return {};
  return {rows_.data() + (at_ - dropped_) * config_.lm.hidden, next() - at_};
}

int32_t Transcription::id_of(int64_t i) const {
  if (at_ > 0) return last_;
  return i == 0 ? config_.begin : config_.pad;
}

/// If no row is left, the recording ends with an additional step.
SampleRule Transcription::rule(int) const {
  if (have_ >= next()) return {};
  return {.forced = config_.pad};
}

Status Transcription::take(int, const Frames& frames) {
  rows_.insert(rows_.end(), frames.floats.begin(), frames.floats.end());
  have_ += frames.count;
  closed_ = closed_ || frames.last;
  return ok_status();
}

/// Adds an id of text. The model writes a word once it has heard all of it, so the word ends at the
/// present row; it begins where the word before it ended, or a long word earlier.
void Transcription::write(int32_t id, const StepOutput& out) {
  ScoredToken token{{words_.bytes(id), out.scores() ? out.scores()->drawn.logprob : 0}, {}};
  if (token.drawn.bytes.empty()) return;
  if (token.drawn.bytes.starts_with(' ') || said_s_ == 0) {
    const double end_s = config_.time_of(at_ + 1, task_.delay);
    token.start_s = std::max(said_s_, end_s - ModelConfig::kLongestWord * config_.token_s());
    said_s_ = end_s;
  } else {
    token.start_s = said_s_;
  }
  token.end_s = said_s_;
  held_.push_back({std::move(token), end_});
}

/// Sends the tokens after an end that was not in the silence after the recording, and those without
/// an end before them.
void Transcription::release(StepOutput& out) {
  const int pad = config_.right_pad(task_.delay);
  for (; !held_.empty(); held_.pop_front()) {
    Held& next = held_.front();
    if (next.end >= 0 && at_ - next.end <= pad) return;
    ScoredToken& token = next.token;
    if (!begun_ && token.drawn.bytes.starts_with(' ')) token.drawn.bytes.erase(0, 1);
    if (token.drawn.bytes.empty()) continue;
    begun_ = true;
    unfinished_ += token.drawn.bytes;
    const size_t whole = unfinished_.size() - utf8_unfinished(unfinished_);
    if (whole > 0) out.text(utf8_repair(std::string_view(unfinished_).substr(0, whole)));
    unfinished_.erase(0, whole);
    out.token(std::move(token));
  }
}

void Transcription::forget() {
  const int64_t through = at_ - dropped_;
  if (through < std::max(kKeptRows, (have_ - dropped_) / 2)) return;  // linear in all
  rows_.erase(rows_.begin(), rows_.begin() + through * config_.lm.hidden);
  dropped_ += through;
}

Verdict Transcription::advance(std::span<const int32_t> codes, StepOutput& out) {
  if (have_ >= next()) {
    at_ = next() - 1;
    last_ = codes[0];
    if (last_ == config_.end) {
      end_ = at_;
    } else if (!words_.is_special(last_) && last_ != config_.pad && last_ != config_.begin) {
      write(last_, out);
    }
    ++at_;
    release(out);
    const double heard_s = config_.time_of(at_, task_.delay);
    out.token({.drawn = {}, .top = {}, .start_s = heard_s, .end_s = heard_s});
    forget();
  }
  if (closed_ && have_ < next()) {
    if (!unfinished_.empty()) out.text(utf8_repair(unfinished_));
    unfinished_.clear();
    return {Verdict::kFinished, FinishReason::kStop};
  }
  if (++steps_ < kSteps) return {};
  steps_ = 0;
  return {Verdict::kNextSegment};
}

}  // namespace syrinx::voxtral_realtime
