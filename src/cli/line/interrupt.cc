#include "cli/line/interrupt.h"

#include <cstdlib>

namespace syrinx {
namespace {

constexpr int kInterrupts[] = {SIGINT, SIGTERM, SIGHUP};
volatile std::sig_atomic_t interrupted_by = 0;  // global, because a signal handler writes to it

void note_interrupt(int signal) { interrupted_by = signal; }

}  // namespace

InterruptGuard::InterruptGuard() {
  for (int i = 0; i < 3; ++i) {
    struct sigaction action {};
    action.sa_handler = note_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigaction(kInterrupts[i], nullptr, &before_[i]);
    // A signal that was ignored at the start of the process (nohup) stays ignored.
    if (before_[i].sa_handler != SIG_IGN) sigaction(kInterrupts[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (int i = 0; i < 3; ++i) sigaction(kInterrupts[i], &before_[i], nullptr);
}

void InterruptGuard::check() const {
  const int signal = interrupted_by;
  if (signal == 0) return;
  interrupted_by = 0;
  throw Interrupted{signal};
}

void end_by(const Interrupted& interrupted) {
  std::signal(interrupted.signal, SIG_DFL);
  std::raise(interrupted.signal);
  std::_Exit(128 + interrupted.signal);
}

}  // namespace syrinx
