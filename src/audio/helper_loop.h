// The loop of the decode helper (audio/decode_helper.h) and the server's requests to the helper.
// The loop has one thread, which forks a child for each recording. Only for sources in audio/.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace syrinx {

/// Exit status of a child that could not be confined.
inline constexpr int kNotConfined = 3;

/// A request of the server to its helper; kBegin comes with the child's socket. The helper answers
/// with the child's pid (kBegin; 0 if fork() failed) or its status as of waitpid() (kEnd).
struct HelperRequest {
  enum Kind : int32_t { kBegin, kEnd } kind = kBegin;
  pid_t child = -1;  ///< pid of the child to end
  uint64_t memory_bytes = 0;
  uint32_t cpu_s = 0;
  bool filter = true;        ///< use the filter if possible
  bool must_filter = false;  ///< the child exits if it cannot use the filter
  bool probe = false;        ///< the child only reports its confinement
};

/// The report of a child that was started as a probe.
struct ProbeAnswer {
  bool limits = false, filter = false;
  std::array<char, 200> text = {};
};

/// Owner of a file descriptor.
class OwnedFd {
 public:
  explicit OwnedFd(int fd = -1) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset() { *this = OwnedFd(); }

 private:
  int fd_;
};

/// Starts `program`, which calls run_decode_helper(), with `control` as its descriptor
/// kDecodeControl. The new process does not share this process's memory. Any thread may call this.
/// Returns -1 on failure.
pid_t spawn_helper(const std::vector<std::string>& program, int control);

/// Answers requests until the other end of `control` is closed. `instead`: see DecodeHelperOptions.
/// Call it in a separate process: it closes all other files and erases the environment.
[[noreturn]] void run_helper_loop(int control, void (*instead)(int socket));

}  // namespace syrinx
