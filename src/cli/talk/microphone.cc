#include "cli/talk/microphone.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "cli/speak/player.h"
#include "ears/recogniser.h"

namespace syrinx {
namespace {

struct Recorder {
  const char* program;
  const char* command;
};

// Recorder programs. kHearingRate is 16,000 Hz.
constexpr Recorder kRecorders[] = {
    {"arecord", "arecord -q -t raw -f S16_LE -r 16000 -c 1"},
    {"parec", "parec --raw --format=s16le --rate=16000 --channels=1"},
    {"rec", "rec -q -t raw -e signed -b 16 -r 16000 -c 1 -"},
};
constexpr size_t kReadAtOnce = sizeof(int16_t) * kHearingRate / 50;  // bytes of 20 ms
constexpr int kMostWaitMs = 100;

/// Runs a shell command that writes its standard output to `output`. Returns -1 if that fails.
pid_t spawn(const std::string& command, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (posix_spawn_file_actions_init(&actions) != 0) return -1;
  if (posix_spawnattr_init(&attributes) != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return -1;
  }
  sigset_t broken_pipe;  // run_program() ignores this signal; the child must not
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  std::string shell = "sh", option = "-c", line = command;
  char* const words[] = {shell.data(), option.data(), line.data(), nullptr};
  pid_t pid = -1;
  const bool begun =
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
      posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) == 0 &&
      posix_spawnattr_setsigdefault(&attributes, &broken_pipe) == 0 &&
      posix_spawnattr_setpgroup(&attributes, 0) == 0 &&
      posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP) == 0 &&
      posix_spawn(&pid, "/bin/sh", &actions, &attributes, words, environ) == 0;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return begun ? pid : -1;
}

}  // namespace

std::optional<std::string> find_recorder() {
  const char* chosen = std::getenv("SYRINX_RECORDER");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  for (const Recorder& recorder : kRecorders) {
    if (in_path(recorder.program)) return recorder.command;
  }
  return std::nullopt;
}

Microphone::Microphone(const std::string& command) : command_(command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw LoadError("cannot make a pipe for the recorder");
  pipe_ = ends[0];
  recorder_ = spawn(command, ends[1]);
  close(ends[1]);
  if (recorder_ >= 0) return;
  close(pipe_);
  throw LoadError("cannot run '" + command + "'");
}

Microphone::~Microphone() {
  close(pipe_);
  if (recorder_ < 0) return;
  kill(-recorder_, SIGTERM);
  while (waitpid(recorder_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool Microphone::read(std::vector<float>& samples) {
  samples.clear();
  pollfd readable = {.fd = pipe_, .events = POLLIN, .revents = 0};
  while (bytes_.size() < kReadAtOnce) {
    const int ready = poll(&readable, 1, kMostWaitMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return true;
    char block[kReadAtOnce];
    const ssize_t got = ::read(pipe_, block, kReadAtOnce - bytes_.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    bytes_.append(block, static_cast<size_t>(got));
  }
  const bool goes_on = bytes_.size() == kReadAtOnce;
  for (size_t i = 0; i + 1 < bytes_.size(); i += 2) {
    int16_t sample = 0;
    std::memcpy(&sample, bytes_.data() + i, sizeof(sample));
    samples.push_back(static_cast<float>(sample) / 32768.f);
  }
  bytes_.clear();
  if (!goes_on) check_end();
  return goes_on;
}

/// Waits a second at most for the end of a recorder that has closed its output.
void Microphone::check_end() {
  int status = 0;
  for (int waited_ms = 0; recorder_ >= 0 && waited_ms < 1000; waited_ms += 10) {
    if (waitpid(recorder_, &status, WNOHANG) == recorder_) {
      recorder_ = -1;
    } else {
      poll(nullptr, 0, 10);
    }
  }
  if (status == 0) return;
  throw LoadError("'" + command_ + "' failed" +
                  (WIFEXITED(status) ? " with code " + std::to_string(WEXITSTATUS(status)) : "") +
                  "; SYRINX_RECORDER may name another recorder");
}

}  // namespace syrinx
