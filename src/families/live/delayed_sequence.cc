#include "families/live/delayed_sequence.h"

#include <algorithm>
#include <utility>

namespace syrinx {
namespace {

constexpr double kLongestPause_s = 1;  // a word ends at most this long after its last id

}  // namespace

double DelayedText::time_of(int64_t row) const {
  return std::max(0.0, static_cast<double>(row - before) * row_s - delay_s);
}

DelayedSequence::DelayedSequence(const DelayedText& text, std::shared_ptr<const IdTexts> texts,
                                 StreamKv kv, std::shared_ptr<const Tensor> norms,
                                 const Hearing& task)
    : LiveSequence(task, text.width, text.first),
      text_(text),
      texts_(std::move(texts)),
      kv_(std::move(kv)),
      norms_(std::move(norms)),
      last_(text.begin) {}

int32_t DelayedSequence::id_of(int64_t i) const { return i == 0 ? last_ : text_.pad; }

/// Computes the times of a token. A word begins after the mark before it, or else with its first
/// id. A model without marks writes a word once it has heard all of it, so the word ends at the
/// present row; it begins where the word before it ended, or a long word earlier.
void DelayedSequence::write(ScoredToken token, StepOutput& out) {
  const bool new_word = token.drawn.bytes.starts_with(' ');
  const int64_t after = at() + 1;
  if (text_.word_end < 0) {
    token.start_s = said_s_;
    if (new_word || said_s_ == 0) {
      said_s_ = time_of(after);
      token.start_s =
          std::max(token.start_s, said_s_ - static_cast<double>(text_.longest_word) * text_.row_s);
    }
    token.end_s = said_s_;
  } else {
    const bool begins = new_word || word_to_ < 0;
    if (begins) end_word(out);
    const int64_t from = begins ? std::exchange(word_from_, -1) : -1;
    token.start_s = time_of(from < 0 ? at() : from);
    word_to_ = after;
    token.end_s = time_of(after);
  }
  held_.push_back({std::move(token), end_});
}

/// Reports that the open word lasts until this row.
void DelayedSequence::end_word(StepOutput& out) {
  if (word_to_ < 0) return;
  const double said_s = time_of(word_to_);
  const double end_s = std::min(time_of(at()), said_s + kLongestPause_s);
  if (end_s > said_s) out.token({.drawn = {}, .top = {}, .start_s = said_s, .end_s = end_s});
  word_to_ = -1;
}

int64_t DelayedSequence::step(std::span<const int32_t> codes, StepOutput& out) {
  last_ = codes[0];
  if (last_ == text_.end) {
    end_ = at();
  } else if (last_ == text_.word_end) {
    end_word(out);
    word_from_ = at() + 1;
  } else if (ScoredToken next = token((*texts_)[static_cast<size_t>(last_)], out);
             !next.drawn.bytes.empty()) {
    write(std::move(next), out);
  }
  // An end that is followed by more rows than the last silence has was not in that silence.
  while (!held_.empty() && (held_.front().end < 0 || at() + 1 - held_.front().end > text_.after)) {
    send(std::move(held_.front().token), out);
    held_.pop_front();
  }
  return 1;
}

}  // namespace syrinx
