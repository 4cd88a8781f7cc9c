#include "ears/backlog.h"

#include <algorithm>

#include "base/check.h"

namespace syrinx {

Backlog::Pass Backlog::begin(double now_s, bool background) {
  if (due_.empty()) since_s_ = now_s;
  due_.push_back({++last_, now_s, background});
  return last_;
}

void Backlog::raise(Pass pass) {
  for (Due& due : due_)
    if (due.pass == pass) due.background = false;
}

void Backlog::end(Pass pass, double now_s, bool done) {
  const auto gone = std::erase_if(due_, [&](const Due& due) { return due.pass == pass; });
  SYRINX_CHECK(gone == 1, "[backlog] pass ", pass, " is not due");
  if (!done) return;
  spent_s_ = kKept * spent_s_ + now_s - since_s_;
  made_ = kKept * made_ + 1;
  since_s_ = now_s;
}

int Backlog::live_before(Pass pass) const {
  int count = 0;
  for (const Due& due : due_) {
    if (due.pass == pass) break;
    count += due.background ? 0 : 1;
  }
  return count;
}

bool Backlog::may_run(Pass pass) const {
  const bool waits = std::any_of(due_.begin(), due_.end(), [&](const Due& due) {
    return due.pass == pass && !due.background;
  });
  return !waits || live_before(pass) < at_once_;
}

double Backlog::since_s(Pass pass, double now_s) const {
  const auto at =
      std::find_if(due_.begin(), due_.end(), [&](const Due& due) { return due.pass == pass; });
  return at == due_.end() ? now_s : at->since_s;
}

double Backlog::pass_s(double now_s) const {
  return std::max(now_s - since_s_, made_ > 0 ? spent_s_ / made_ : kUnknown_s);
}

double Backlog::wait_s(double now_s, Pass own) const {
  const auto others =
      std::count_if(due_.begin(), due_.end(), [&](const Due& due) { return due.pass != own; });
  return others == 0 ? 0 : static_cast<double>(others) * pass_s(now_s);
}

double Backlog::delay_s(double now_s, Pass pass) const {
  const int before = live_before(pass);
  if (pass == 0 ? before < at_once_ : may_run(pass)) return 0;
  const double waited_s = now_s - since_s(pass, now_s), running_s = now_s - since_s_;
  return waited_s + (before + 1) * pass_s(now_s) - running_s;
}

}  // namespace syrinx
