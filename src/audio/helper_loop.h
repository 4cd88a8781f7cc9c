// The helper's own life (audio/decode_helper.h): one thread that forks a child for each recording,
// and what the server asks of it. Inside the room.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace syrinx {

/// How a child ends that could not be confined.
inline constexpr int kNotConfined = 3;

/// From the server to its helper, with the child's socket when one is to begin; answered with a
/// number.
struct HelperRequest {
  enum Kind : int32_t { kBegin, kEnd } kind = kBegin;
  pid_t child = -1;  ///< to end
  uint64_t memory_bytes = 0;
  uint32_t cpu_s = 0;
  bool filter = true;        ///< use one if possible
  bool must_filter = false;  ///< end without one
  bool probe = false;        ///< only report how it is confined
};

/// The report of a child that was begun as a probe.
struct ProbeAnswer {
  bool limits = false, filter = false;
  std::array<char, 200> text = {};
};

/// Owns a descriptor.
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

/// Runs `program`, which is to run_decode_helper() with `control` as its descriptor kDecodeControl,
/// in a process with nothing of this one's memory, whatever threads there are. -1: it cannot.
pid_t spawn_helper(const std::vector<std::string>& program, int control);

/// Until the other end of `control` is closed. `instead` as in DecodeHelperOptions. To be called in
/// a process of its own, of which it keeps nothing but its code and `control`.
[[noreturn]] void run_helper_loop(int control, void (*instead)(int socket));

}  // namespace syrinx
