#include "io/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/clock.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): not in every unistd.h

namespace syrinx {
namespace {

/// A pair of connected descriptors, such as a socket pair. The destructor and exec close both ends.
struct Channel {
  enum Closed { kClosed };
  int ours = -1, theirs = -1;
  explicit Channel(Closed) {}
  Channel() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0)
      ours = ends[0], theirs = ends[1];
  }
  ~Channel() { close_both(); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  void close_both() { close_one(ours), close_one(theirs); }
  static void close_one(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
};

Error fault(const std::string& program, const std::string& what) {
  return {ErrorCode::kInternal, "the program " + program + " " + what};
}

/// Starts the program with these descriptors as its input and output; returns an errno, or 0.
int start(const std::vector<std::string>& command, int in, int out, pid_t& pid) {
  std::vector<char*> arguments;
  for (const std::string& part : command) arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  // Gives the child the default actions for signals that this process blocks or ignores.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error =
      ::posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

Error not_started(const std::string& name, int error) {
  if (error == ENOENT) {
    return Error{ErrorCode::kNotFound, "the program " + name + " is not installed"};
  }
  return fault(name, std::string("cannot be started: ") + std::strerror(error));
}

/// Opens a raw pseudo-terminal; returns false if the system has none.
bool open_terminal(Channel& ends) {
  ends.ours = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  char path[64];
  if (ends.ours < 0 || ::grantpt(ends.ours) != 0 || ::unlockpt(ends.ours) != 0 ||
      ::ptsname_r(ends.ours, path, sizeof path) != 0) {
    return false;
  }
  ends.theirs = ::open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
  termios raw{};
  if (ends.theirs < 0 || ::tcgetattr(ends.theirs, &raw) != 0) return false;
  ::cfmakeraw(&raw);
  return ::tcsetattr(ends.theirs, TCSANOW, &raw) == 0;
}

/// Kills the program and waits until it has ended.
void end_program(pid_t pid, int& status) {
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
}

std::string too_long(const ProgramLimits& limits) {
  return concat("took more than ", limits.timeout_s, " s");
}

/// Writes the input and reads the output at the same time; returns an error message or nothing.
std::string exchange(Channel& in, Channel& out, const std::string& input,
                     const ProgramLimits& limits, double until_s, std::string& output) {
  size_t sent = 0;
  char buffer[4096];
  if (input.empty()) Channel::close_one(in.ours);
  for (;;) {
    const double left_s = until_s - now_s();
    if (left_s <= 0) return too_long(limits);
    pollfd polled[2] = {{out.ours, POLLIN, 0}, {in.ours, POLLOUT, 0}};
    const int ready = ::poll(polled, in.ours >= 0 ? 2 : 1, static_cast<int>(left_s * 1000) + 1);
    if (ready < 0 && errno != EINTR) return std::string("cannot be waited for: ") + strerror(errno);
    if (ready <= 0) continue;
    if (in.ours >= 0 && polled[1].revents != 0) {
      const ssize_t n =
          ::send(in.ours, input.data() + sent, input.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) sent += static_cast<size_t>(n);
      // A program that closes its input may still write output.
      const bool later = n < 0 && (errno == EAGAIN || errno == EINTR);
      if (sent == input.size() || (n < 0 && !later)) Channel::close_one(in.ours);
    }
    if (polled[0].revents == 0) continue;
    const ssize_t n = ::read(out.ours, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return "";
    output.append(buffer, static_cast<size_t>(n));
    if (output.size() > limits.max_output)
      return concat("printed more than ", limits.max_output, " bytes");
  }
}

/// Waits until the program ends, as it may continue after closing its output. Sets `status`.
/// Returns an error message; an empty string without an error.
std::string wait_for_end(pid_t pid, const ProgramLimits& limits, double until_s, int& status) {
  for (double pause_s = 5e-5;; pause_s = std::min(2 * pause_s, 0.01)) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended > 0 || (ended < 0 && errno != EINTR)) return "";  // another thread may have waited
    if (now_s() > until_s) return too_long(limits);
    std::this_thread::sleep_for(std::chrono::duration<double>(pause_s));
  }
}

}  // namespace

Result<std::string> run_program(const std::vector<std::string>& command, const std::string& input,
                                const ProgramLimits& limits) {
  SYRINX_CHECK(!command.empty(), "[run_program] no program");
  const std::string& name = command[0];
  Channel in, out;
  if (in.ours < 0 || out.ours < 0)
    return fault(name, "could not be started: no pipes for its input and output");
  pid_t pid = 0;
  if (const int error = start(command, in.theirs, out.theirs, pid); error != 0) {
    return not_started(name, error);
  }
  Channel::close_one(in.theirs);
  Channel::close_one(out.theirs);
  std::string output;
  const double until_s = now_s() + limits.timeout_s;
  std::string wrong = exchange(in, out, input, limits, until_s, output);
  in.close_both();
  out.close_both();
  int status = 0;
  if (wrong.empty()) wrong = wait_for_end(pid, limits, until_s, status);
  if (!wrong.empty()) {
    end_program(pid, status);
    return fault(name, wrong);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fault(name, WIFEXITED(status) ? concat("failed with status ", WEXITSTATUS(status))
                                         : concat("was ended by signal ", WTERMSIG(status)));
  }
  return output;
}

Result<std::unique_ptr<KeptProgram>> KeptProgram::start(const std::vector<std::string>& command) {
  SYRINX_CHECK(!command.empty(), "[KeptProgram] no program");
  const std::string& name = command[0];
  Channel in, out(Channel::kClosed);
  if (in.ours < 0 || !open_terminal(out))
    return fault(name, "could not be started: no pipe for its input or no terminal for its output");
  pid_t pid = 0;
  if (const int error = syrinx::start(command, in.theirs, out.theirs, pid); error != 0) {
    return not_started(name, error);
  }
  return std::unique_ptr<KeptProgram>(
      new KeptProgram(name, pid, std::exchange(in.ours, -1), std::exchange(out.ours, -1)));
}

KeptProgram::~KeptProgram() {
  Channel::close_one(in_);
  Channel::close_one(out_);
  int status = 0;
  end_program(pid_, status);
}

Result<std::string> KeptProgram::ask(std::string_view input,
                                     const std::function<bool(std::string_view printed)>& whole,
                                     const ProgramLimits& limits) {
  if (broken_) return fault(name_, "stopped answering");
  std::string output;
  const std::string wrong = talk(input, whole, limits, output);
  broken_ = !wrong.empty();
  if (broken_) return fault(name_, wrong);
  return output;
}

/// Writes the input and reads the answer. Returns an error message; empty without an error.
std::string KeptProgram::talk(std::string_view input,
                              const std::function<bool(std::string_view)>& whole,
                              const ProgramLimits& limits, std::string& output) {
  const double until_s = now_s() + limits.timeout_s;
  char buffer[4096];
  while (!input.empty() || !whole(output)) {
    const double left_s = until_s - now_s();
    if (left_s <= 0) return too_long(limits);
    const short writes = input.empty() ? short{0} : short{POLLOUT};
    pollfd polled[2] = {{out_, POLLIN, 0}, {in_, writes, 0}};
    const int ready = ::poll(polled, 2, static_cast<int>(left_s * 1000) + 1);
    if (ready < 0 && errno != EINTR) return std::string("cannot be waited for: ") + strerror(errno);
    if (ready <= 0) continue;
    if ((polled[1].revents & (POLLERR | POLLHUP)) != 0) return "has ended";
    if ((polled[1].revents & POLLOUT) != 0) {
      const ssize_t n = ::send(in_, input.data(), input.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) input.remove_prefix(static_cast<size_t>(n));
      if (n < 0 && errno != EAGAIN && errno != EINTR) return "has ended";
    }
    if (polled[0].revents == 0) continue;
    const ssize_t n = ::read(out_, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return "has ended";
    output.append(buffer, static_cast<size_t>(n));
    if (output.size() > limits.max_output)
      return concat("printed more than ", limits.max_output, " bytes");
  }
  return "";
}

}  // namespace syrinx
