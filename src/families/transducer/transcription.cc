#include "families/transducer/transcription.h"

#include <algorithm>

#include "text/utf8.h"

namespace syrinx::transducer {
namespace {

constexpr int64_t kKeptRows = 256;  // fewer processed rows than these are not dropped

}  // namespace

Transcription::Transcription(const ModelConfig& config, const Tokenizer& tokenizer, int lookahead,
                             bool scores)
    : config_(config), tokenizer_(tokenizer), lookahead_(lookahead), scores_(scores) {
  sampling_.temperature = 0;
  const auto width = static_cast<size_t>(config.hidden);
  predictor_.hidden.resize(width * static_cast<size_t>(config.lstm_layers));
  predictor_.cell.resize(predictor_.hidden.size());
  predictor_.out.resize(width);
  predictor_.next = config.blank;
}

std::span<const float> Transcription::row() const {
  if (at_ >= have_) return {};
  const auto width = static_cast<size_t>(config_.hidden);
  return std::span(rows_).subspan(static_cast<size_t>(at_ - dropped_) * width, width);
}

/// After the last row, an additional step, whose codes are forced, ends the recording.
SampleRule Transcription::rule(int k) const {
  if (at_ < have_) return {};
  return {.forced = k == 0 ? config_.blank : 0};
}

Status Transcription::take(int, const Frames& frames) {
  rows_.insert(rows_.end(), frames.floats.begin(), frames.floats.end());
  have_ += frames.count;
  closed_ = closed_ || frames.last;
  return ok_status();
}

/// Returns the number of rows by which a step moves. Counts the ids at one row.
int64_t Transcription::moved(std::span<const int32_t> codes) {
  const bool blank = codes[0] == config_.blank;
  int64_t frames = config_.durations.empty() ? (blank ? 1 : 0) : config_.durations[codes[1]];
  if (blank) frames = std::max<int64_t>(frames, 1);
  symbols_ = frames > 0 ? 0 : symbols_ + 1;
  if (symbols_ < config_.max_symbols) return frames;
  symbols_ = 0;
  return 1;
}

/// Writes an id that lasts `frames` rows, beginning with the current row.
void Transcription::write(int32_t id, int64_t frames, StepOutput& out) {
  if (tokenizer_.is_special(id)) return;
  ScoredToken token{{tokenizer_.bytes(id), out.scores() ? out.scores()->drawn.logprob : 0}, {}};
  if (!told_ && token.drawn.bytes.starts_with(' ')) token.drawn.bytes.erase(0, 1);
  if (token.drawn.bytes.empty()) return;
  told_ = true;
  token.start_s = static_cast<double>(at_) * config_.frame_s();
  token.end_s = static_cast<double>(at_ + std::max<int64_t>(frames, 1)) * config_.frame_s();
  unfinished_ += token.drawn.bytes;
  const size_t whole = unfinished_.size() - utf8_unfinished(unfinished_);
  if (whole > 0) out.text(utf8_repair(std::string_view(unfinished_).substr(0, whole)));
  unfinished_.erase(0, whole);
  out.token(std::move(token));
}

void Transcription::forget() {
  const int64_t through = std::min(at_, have_) - dropped_;
  if (through < std::max(kKeptRows, (have_ - dropped_) / 2)) return;  // amortized O(1) per row
  rows_.erase(rows_.begin(), rows_.begin() + through * config_.hidden);
  dropped_ += through;
}

Verdict Transcription::advance(std::span<const int32_t> codes, StepOutput& out) {
  if (at_ < have_) {
    const int32_t id = codes[0];
    const int64_t frames = moved(codes);
    if (id != config_.blank) {
      predictor_.next = id;
      write(id, config_.durations.empty() ? 1 : frames, out);
    }
    at_ += frames;
    if (frames > 0) {
      const double heard_s = static_cast<double>(std::min(at_, have_)) * config_.frame_s();
      out.token({.drawn = {}, .top = {}, .start_s = heard_s, .end_s = heard_s});
      forget();
    }
  }
  if (closed_ && at_ >= have_) {
    if (!unfinished_.empty()) out.text(utf8_repair(unfinished_));
    unfinished_.clear();
    return {Verdict::kFinished, FinishReason::kStop};
  }
  if (++steps_ < kSteps) return {};
  steps_ = 0;
  return {Verdict::kNextSegment};
}

}  // namespace syrinx::transducer
