#include "predict/drafting.h"

#include <algorithm>
#include <utility>

namespace syrinx {

bool Drafting::may_begin(bool at_once) const {
  if (answering_ || counts_.wasted >= rules_.most_wasted) return false;
  if (!running_ || added() >= std::max(1, rules_.more)) return true;
  return at_once && counts_.drafts < rules_.most_at_once;
}

void Drafting::begin() {
  end();
  running_ = true;
  ++counts_.drafts;
}

void Drafting::begin_answer() {
  end();
  running_ = answering_ = true;
}

void Drafting::begin_answer_with_draft() {
  Tokens text = running_ ? now_ : draft_;
  begin_answer();
  now_ = std::move(text);
  alike_ = now_.text.size();
  count_held();
}

void Drafting::wrote(std::string_view piece) {
  if (!running_) return;
  if (alike_ == now_.text.size()) {
    const std::string_view rest = std::string_view(draft_.text).substr(alike_);
    alike_ += static_cast<size_t>(std::ranges::mismatch(piece, rest.substr(0, piece.size())).in1 -
                                  piece.begin());
    count_held();
  }
  now_.text += piece;
  now_.ends.push_back(now_.text.size());
}

/// Counts the tokens of the draft that lie within the common beginning.
void Drafting::count_held() {
  while (held_ < draft_.count() && draft_.ends[held_] <= alike_) ++held_;
}

/// Returns how many tokens the round has added to the tokens of earlier rounds.
int Drafting::added() const { return std::max(0, now_.count() - held_); }

bool Drafting::enough() const {
  if (!running_ || answering_) return false;
  return now_.count() >= std::min(aim(held_), rules_.most);
}

/// Returns the length in tokens of a round after `held` tokens of the draft were right.
int Drafting::aim(int held) const {
  return draft_.count() == 0 ? rules_.first : std::max(rules_.first, held + 1 + rules_.more);
}

int Drafting::most_tokens() const {
  return std::max(1, std::min(aim(draft_.count()), rules_.most));
}

void Drafting::end(bool whole) {
  if (!std::exchange(running_, false)) return;
  if (answering_) {
    counts_.accepted = held_;
    counts_.wasted += draft_.count() - held_;
    return;
  }
  // If the round was stopped before it differed from the draft, the rest of the draft may be right.
  if (whole || alike_ < now_.text.size() || alike_ == draft_.text.size()) {
    counts_.drafted += now_.count() - held_;  // keeps the invariant drafted = accepted + wasted
    counts_.wasted += draft_.count() - held_;
    if (alike_ < std::min(draft_.text.size(), now_.text.size())) earlier_ = draft_.text;
    draft_ = std::move(now_);
    draft_.whole = whole;
  }
  now_ = {};
  alike_ = 0, held_ = 0;
}

void Drafting::give_up() {
  if (answering_) return end();
  end();
  counts_.wasted += draft_.count();
  draft_ = {};
}

}  // namespace syrinx
