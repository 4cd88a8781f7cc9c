#include "ears/backlog.h"

#include <algorithm>

namespace syrinx {

void Backlog::begin(double now_s) {
  if (due_++ == 0) since_s_ = now_s;
}

void Backlog::end(double now_s, bool done) {
  --due_;
  if (!done) return;
  spent_s_ = kKept * spent_s_ + now_s - since_s_;
  made_ = kKept * made_ + 1;
  since_s_ = now_s;
}

double Backlog::wait_s(double now_s, int own) const {
  if (due_ <= own) return 0;
  return (due_ - own) * std::max(now_s - since_s_, made_ > 0 ? spent_s_ / made_ : kUnknown_s);
}

}  // namespace syrinx
