#include "cli/stop_signal.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace syrinx {

struct StopSignal::State {
  std::atomic<bool> armed = false;
  std::atomic<bool> stopped = false;
};

StopSignal::StopSignal() : state_(new State) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([state = state_, signals] {
    int signal = 0;
    sigwait(&signals, &signal);
    if (!state->armed) std::_Exit(0);
    state->stopped = true;
    state->stopped.notify_all();
    sigwait(&signals, &signal);
    std::_Exit(1);
  }).detach();
}

void StopSignal::arm() { state_->armed = true; }

void StopSignal::wait() { state_->stopped.wait(false); }

}  // namespace syrinx
