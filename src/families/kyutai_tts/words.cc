#include "families/kyutai_tts/words.h"

#include <algorithm>

#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::kyutai_tts {
namespace {

constexpr char32_t kApostrophe = U'\u2019';

/// Returns whether a character separates words: what \s of Python's `re` matches, and colons.
bool separates(char32_t code) {
  return code == U':' || is_space(code) || (code >= 0x1c && code <= 0x1f);
}

}  // namespace

std::vector<Word> WordReader::push(std::string_view text, bool last) {
  held_ += text;
  const size_t whole = held_.size() - (last ? 0 : utf8_unfinished(held_));
  std::vector<Word> out;
  for (size_t i = 0; i < whole;) {
    const CodePoint c = utf8_at(std::string_view(held_).substr(0, whole), i);
    const int64_t place = at_ + static_cast<int64_t>(i);
    i += c.size;
    if (separates(c.value)) {
      end_word(out);
      continue;
    }
    if (c.value == U'(' || c.value == U')') continue;
    if (word_.empty()) begin_ = place;
    utf8_append(word_, c.value == kApostrophe ? U'\'' : c.value);
    end_ = place + c.size;
  }
  at_ += static_cast<int64_t>(whole);
  held_.erase(0, whole);
  if (last) end_word(out);
  return out;
}

void WordReader::end_word(std::vector<Word>& out) {
  if (word_.empty()) return;
  Word word{tokenizer_.encode(word_), begin_, end_};
  word_.clear();
  if (!begun_) word.ids.insert(word.ids.begin(), kMainSpeaker);
  begun_ = true;
  if (!word.ids.empty()) out.push_back(std::move(word));
}

bool TextMachine::ready() const {
  return closed_ || next() == Next::kFrame || std::ssize(waiting_) > ahead_;
}

TextMachine::Next TextMachine::next() const {
  if (!queued_.empty() || forced_ > 0) return Next::kFrame;
  return remaining_ <= 0 ? Next::kWord : Next::kFree;
}

bool TextMachine::wants_word(bool drawn) const {
  const Next may = next();
  return may == Next::kWord || (may == Next::kFree && drawn);
}

TextIds TextMachine::peek(bool word) const {
  if (wants_word(word)) {
    if (!waiting_.empty()) return {waiting_.front().ids.front(), kNewWord};
    if (!ended_) return {kPad, kNewWord};
  }
  if (repeats_mark()) return {queued_.size() > 1 ? queued_[1] : kPad, kNewWord};
  return {queued_.empty() ? kPad : queued_.front(),
          second_queued_.empty() ? -1 : second_queued_.front()};
}

/// Returns whether the next id of the word is that of the mark, which is also the id of unknown
/// characters. In the authors' program such an id goes to the second stream.
bool TextMachine::repeats_mark() const { return !queued_.empty() && queued_.front() == kNewWord; }

std::optional<Word> TextMachine::take(bool word) {
  if (wants_word(word)) {
    if (!waiting_.empty()) {
      Word now = std::move(waiting_.front());
      waiting_.pop_front();
      begun_ = true;
      queued_.assign(now.ids.begin() + 1, now.ids.end());
      if (std::ssize(waiting_) >= ahead_) {
        const std::vector<int32_t>& later = waiting_[static_cast<size_t>(ahead_ - 1)].ids;
        second_queued_.insert(second_queued_.end(), later.begin(), later.end());
      }
      remaining_ = kMostPads;
      forced_ = kBetween + static_cast<int>(now.ids.size()) - 1;
      return now;
    }
    if (!std::exchange(ended_, true)) return {};
  }
  remaining_ = std::max(0, remaining_ - 1);
  forced_ = std::max(0, forced_ - 1);
  if (repeats_mark()) {
    queued_.pop_front();
  } else if (!second_queued_.empty()) {
    second_queued_.pop_front();
  }
  if (!queued_.empty()) queued_.pop_front();
  return {};
}

}  // namespace syrinx::kyutai_tts
