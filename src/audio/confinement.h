// Confines a process before it handles untrusted bytes: the process permanently loses access to
// files, sockets, other processes, programs, and all memory and time beyond a limit. Resource
// limits work everywhere on Linux. The filter of system calls (seccomp) works only if kernel and
// container permit it and the program was built with libseccomp.
#pragma once

#include <cstdint>
#include <string>

namespace syrinx {

/// The resources that a confined process may use.
struct ConfinementLimits {
  uint64_t memory_bytes = 0;  ///< address space beyond what the process already uses
  uint32_t cpu_s = 0;         ///< processor time in seconds
  bool filter = true;         ///< whether to filter system calls, if possible
};

/// The parts of the confinement that are in force in a process.
struct Confinement {
  bool limits = false;  ///< the resource limits are in force
  bool filter = false;  ///< the filter is in force
  std::string reason;   ///< why a part is not in force; empty: both are

  /// Returns a text for users: "seccomp and resource limits".
  std::string text() const;
};

/// Confines this process, which must have one thread and be the child of `parent`; it is killed
/// when the parent ends. From then on it can only read and write `fd`. If it runs as root, it
/// becomes the user "nobody" if possible.
Confinement confine(int fd, int parent, const ConfinementLimits& limits);

}  // namespace syrinx
