#include "cli/line/stop_signal.h"

#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "tensor/device_health.h"

namespace syrinx {

struct StopSignal::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool armed = false, stopped = false, reload = false;
};

namespace {

/// Waits for the next signal and returns its event; on the thread that receives signals.
StopSignal::Event next_event(const sigset_t& signals) {
  int signal = 0;
  sigwait(&signals, &signal);
  const bool reload = signal == SIGHUP && isatty(STDIN_FILENO) == 0;
  return reload ? StopSignal::Event::kReload : StopSignal::Event::kStop;
}

}  // namespace

StopSignal::StopSignal() : state_(new State) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([state = state_, signals] {
    for (;;) {
      const Event event = next_event(signals);
      const std::lock_guard lock(state->mutex);
      if (event == Event::kReload) {
        state->reload = true;
      } else {
        if (!state->armed) std::_Exit(0);
        if (state->stopped) std::_Exit(1);
        state->stopped = true;
      }
      state->changed.notify_all();
    }
  }).detach();
}

void StopSignal::arm() {
  const std::lock_guard lock(state_->mutex);
  state_->armed = true;
}

void StopSignal::watch_device(std::function<void(const std::string& line)> log) {
  when_device_is_lost([log = std::move(log)](const std::string& why) {
    log("this process cannot use the GPU any more and stops: " + why);
    kill(getpid(), SIGTERM);
  });
}

int StopSignal::end_watch() {
  when_device_is_lost(nullptr);
  return lost_device().empty() ? 0 : 1;
}

StopSignal::Event StopSignal::wait() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->stopped || state_->reload; });
  if (state_->stopped) return Event::kStop;
  state_->reload = false;
  return Event::kReload;
}

}  // namespace syrinx
