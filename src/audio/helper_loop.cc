#include "audio/helper_loop.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "audio/confinement.h"
#include "audio/decode_helper.h"
#include "audio/decode_wire.h"

namespace syrinx {
namespace {

class HelperLoop {
 public:
  HelperLoop(int control, void (*instead)(int)) : control_(control), instead_(instead) {}

  [[noreturn]] void run();

 private:
  int64_t answer(const HelperRequest& request, int socket);
  pid_t begin(const HelperRequest& request, int socket);
  [[noreturn]] void be_child(const HelperRequest& request, int socket, pid_t parent);

  const int control_;
  void (*const instead_)(int);
};

/// Closes the descriptors [from, to] without glibc's close_range(), which needs version 2.34. Linux
/// has the system call since 5.9.
void close_files(unsigned from, unsigned to) {
#ifdef __NR_close_range
  if (syscall(__NR_close_range, from, to, 0) == 0) return;
#endif
  to = static_cast<unsigned>(std::min<int64_t>(to, sysconf(_SC_OPEN_MAX) - 1));
  for (unsigned fd = from; fd <= to; ++fd) close(static_cast<int>(fd));
}

/// Erases the environment and closes all files except `control`; ignores the user's signals.
void leave_the_server(int control) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    explicit_bzero(*entry, std::strlen(*entry));  // the environment may contain keys
  }
  clearenv();
  // Only the server ends the helper, even after Ctrl-C in a shared terminal.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
    std::signal(signal, SIG_IGN);
  }
  std::signal(SIGCHLD, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_NAME, "syrinx-decode", 0, 0, 0);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2 && null >= 0; ++fd) {
    if (fd != control) dup2(null, fd);
  }
  if (control > 3) close_files(3, static_cast<unsigned>(control) - 1);
  close_files(static_cast<unsigned>(std::max(control, 2)) + 1, ~0U);
}

void HelperLoop::run() {
  leave_the_server(control_);
  while (true) {
    HelperRequest request;
    iovec data{&request, sizeof request};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    const ssize_t got = recvmsg(control_, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    // The kernel ends the children when the helper ends.
    if (got != static_cast<ssize_t>(sizeof request)) _exit(0);
    OwnedFd socket;
    if (const cmsghdr* head = CMSG_FIRSTHDR(&message)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
      socket = OwnedFd(fd);
    }
    const int64_t reply = answer(request, socket.get());
    if (send(control_, &reply, sizeof reply, MSG_NOSIGNAL) < 0) _exit(0);
  }
}

int64_t HelperLoop::answer(const HelperRequest& request, int socket) {
  if (request.kind == HelperRequest::kBegin) return begin(request, socket);
  // An ended child stays a zombie until the waitpid() below, so its pid cannot belong to another
  // process.
  kill(request.child, SIGKILL);
  int status = 0;
  while (waitpid(request.child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return status;
}

pid_t HelperLoop::begin(const HelperRequest& request, int socket) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return 0;
  if (child == 0) be_child(request, socket, parent);
  return child;
}

void HelperLoop::be_child(const HelperRequest& request, int socket, pid_t parent) {
  close(control_);
  const Confinement holds = confine(
      socket, parent,
      {.memory_bytes = request.memory_bytes, .cpu_s = request.cpu_s, .filter = request.filter});
  if (request.probe) {
    ProbeAnswer answer{.limits = holds.limits, .filter = holds.filter};
    const std::string text = holds.text();
    text.copy(answer.text.data(), answer.text.size() - 1);
    write_whole(socket, &answer, sizeof answer);
    _exit(0);
  }
  if (!holds.limits || (request.must_filter && !holds.filter)) _exit(kNotConfined);
  (instead_ != nullptr ? instead_ : run_decode_job)(socket);
  _exit(0);
}

}  // namespace

pid_t spawn_helper(const std::vector<std::string>& program, int control) {
  std::vector<char*> arguments;
  for (const std::string& each : program) {
    arguments.push_back(const_cast<char*>(each.c_str()));
  }
  arguments.push_back(nullptr);
  std::vector<char*> environment;  // has only the library path
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "LD_LIBRARY_PATH=", 16) == 0) environment.push_back(*entry);
  }
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (posix_spawn_file_actions_init(&actions) != 0) return -1;
  if (posix_spawnattr_init(&attributes) != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return -1;
  }
  sigset_t none;
  sigemptyset(&none);
  pid_t pid = -1;
  const bool begun = posix_spawn_file_actions_adddup2(&actions, control, kDecodeControl) == 0 &&
                     posix_spawnattr_setsigmask(&attributes, &none) == 0 &&
                     posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK) == 0 &&
                     posix_spawn(&pid, program[0].c_str(), &actions, &attributes, arguments.data(),
                                 environment.data()) == 0;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return begun ? pid : -1;
}

void run_helper_loop(int control, void (*instead)(int socket)) {
  HelperLoop(control, instead).run();
}

}  // namespace syrinx
