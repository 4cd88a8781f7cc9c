#include "families/kyutai_stt/transcription.h"

#include <algorithm>

#include "text/utf8.h"

namespace syrinx::kyutai_stt {
namespace {

constexpr int64_t kKeptRows = 256;     // most processed rows that are kept
constexpr double kLongestPause_s = 1;  // a word ends at most this long after its last id

}  // namespace

Transcription::Transcription(const ModelConfig& config, const Unigram& words, StreamKv kv,
                             bool scores)
    : config_(config),
      words_(words),
      scores_(scores),
      kv_(std::move(kv)),
      last_(static_cast<int32_t>(config.text_in)) {
  sampling_.temperature = 0;
}

std::span<const float> Transcription::row() const {
  if (at_ >= have_) return {};
  const auto width = static_cast<size_t>(config_.lm.hidden);
  return std::span(rows_).subspan(static_cast<size_t>(at_ - dropped_) * width, width);
}

/// If no row is left, the recording ends with an additional step.
SampleRule Transcription::rule(int) const {
  if (at_ < have_) return {};
  return {.forced = config_.pad};
}

Status Transcription::take(int, const Frames& frames) {
  rows_.insert(rows_.end(), frames.floats.begin(), frames.floats.end());
  have_ += frames.count;
  closed_ = closed_ || frames.last;
  return ok_status();
}

/// Writes an id of text. A word lasts from the mark before it, or else from its first id.
void Transcription::write(int32_t id, StepOutput& out) {
  ScoredToken token{{words_.bytes(id), out.scores() ? out.scores()->drawn.logprob : 0}, {}};
  const bool new_word = token.drawn.bytes.starts_with(' ');
  if (!begun_ && new_word) token.drawn.bytes.erase(0, 1);
  if (token.drawn.bytes.empty()) return;
  begun_ = true;
  if (new_word || word_to_ < 0) {
    end_word(out);
    token.start_s = config_.time_of(word_from_ < 0 ? at_ : word_from_);
    word_from_ = -1;
  } else {
    token.start_s = config_.time_of(at_);
  }
  word_to_ = at_ + 1;
  token.end_s = config_.time_of(word_to_);
  unfinished_ += token.drawn.bytes;
  const size_t whole = unfinished_.size() - utf8_unfinished(unfinished_);
  if (whole > 0) out.text(utf8_repair(std::string_view(unfinished_).substr(0, whole)));
  unfinished_.erase(0, whole);
  out.token(std::move(token));
}

/// Reports that the open word lasts until this frame.
void Transcription::end_word(StepOutput& out) {
  if (word_to_ < 0) return;
  const double said_s = config_.time_of(word_to_);
  const double end_s = std::min(config_.time_of(at_), said_s + kLongestPause_s);
  if (end_s > said_s) out.token({.drawn = {}, .top = {}, .start_s = said_s, .end_s = end_s});
  word_to_ = -1;
}

void Transcription::forget() {
  const int64_t through = std::min(at_, have_) - dropped_;
  if (through < std::max(kKeptRows, (have_ - dropped_) / 2)) return;  // linear in all
  rows_.erase(rows_.begin(), rows_.begin() + through * config_.lm.hidden);
  dropped_ += through;
}

Verdict Transcription::advance(std::span<const int32_t> codes, StepOutput& out) {
  if (at_ < have_) {
    last_ = codes[0];
    if (last_ > config_.pad) {
      write(last_, out);
    } else if (last_ == config_.word_end) {
      end_word(out);
      word_from_ = at_ + 1;
    }
    ++at_;
    const double heard_s = config_.time_of(at_);
    out.token({.drawn = {}, .top = {}, .start_s = heard_s, .end_s = heard_s});
    forget();
  }
  if (closed_ && at_ >= have_) {
    if (!unfinished_.empty()) out.text(utf8_repair(unfinished_));
    unfinished_.clear();
    end_word(out);
    return {Verdict::kFinished, FinishReason::kStop};
  }
  if (++steps_ < kSteps) return {};
  steps_ = 0;
  return {Verdict::kNextSegment};
}

}  // namespace syrinx::kyutai_stt
