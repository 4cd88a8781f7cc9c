// Confines a process before it handles a stranger's bytes: it gives up files, sockets, other
// processes, programs, and all memory and time beyond a bound, for good. Resource limits hold
// everywhere on Linux; the filter of system calls (seccomp) only where kernel and container permit
// one and the program was built with libseccomp.
#pragma once

#include <cstdint>
#include <string>

namespace syrinx {

/// The resources that a confined process may use.
struct ConfinementLimits {
  uint64_t memory_bytes = 0;  ///< of address space beyond what the process has now
  uint32_t cpu_s = 0;         ///< of processor time
  bool filter = true;         ///< system calls, where it is possible
};

/// What of the confinement holds in a process, as the functions below report it.
struct Confinement {
  bool limits = false;  ///< the resource limits hold
  bool filter = false;  ///< so does the filter
  std::string reason;   ///< why something does not hold; empty: all does

  /// For people: "seccomp and resource limits".
  std::string text() const;
};

/// Confines this process, which must have one thread and be the child of `parent`, with which it
/// dies. From here on it reads and writes `fd` and nothing else; where it began as root and may, it
/// goes on as the user "nobody".
Confinement confine(int fd, int parent, const ConfinementLimits& limits);

}  // namespace syrinx
