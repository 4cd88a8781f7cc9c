// Confines a process before it handles untrusted bytes. The process permanently loses access to
// files, sockets, other processes and programs, and to memory and time beyond a limit. Resource
// limits work on any Linux. The filter of system calls (seccomp) needs libseccomp, a suitable
// kernel, and the container's permission.
#pragma once

#include <cstdint>
#include <string>

namespace syrinx {

/// The resources that a confined process may use.
struct ConfinementLimits {
  uint64_t memory_bytes = 0;  ///< address space beyond what the process already uses
  uint32_t cpu_s = 0;         ///< processor time in seconds
  bool filter = true;         ///< filter system calls, if possible
};

/// The parts of the confinement that are in force in a process.
struct Confinement {
  bool limits = false;  ///< the resource limits are in force
  bool filter = false;  ///< the filter is in force
  std::string reason;   ///< why a part is not in force; empty if both are

  /// Returns a text for users, e.g. "seccomp and resource limits".
  std::string text() const;
};

/// Confines this process, which must have one thread and be a child of `parent`. The kernel kills
/// the process when the parent ends. After this call the process can only read and write `fd`. A
/// process that root runs gives up root's rights, if possible.
Confinement confine(int fd, int parent, const ConfinementLimits& limits);

}  // namespace syrinx
