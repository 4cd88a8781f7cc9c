#include "audio/confinement.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/check.h"
#ifdef SYRINX_SECCOMP
#include <seccomp.h>
#include <sys/mman.h>
#endif

// Sanitizers need terabytes of address space, more system calls, and pipes: no limits on these.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SYRINX_SANITIZED 1
#else
#define SYRINX_SANITIZED 0
#endif

namespace syrinx {
namespace {

constexpr unsigned kNobody = 65534;

/// Returns the bytes of address space in use; 0 if unknown.
uint64_t address_space_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  unsigned long long pages = 0;
  const bool read = std::fscanf(file, "%llu", &pages) == 1;
  std::fclose(file);
  return read ? pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

bool set_limit(__rlimit_resource kind, uint64_t soft, uint64_t hard) {
  const rlimit value{soft, hard};
  return setrlimit(kind, &value) == 0;
}

/// Sets the limits. `now`: bytes of address space already in use.
bool set_limits(const ConfinementLimits& limits, uint64_t now) {
  const uint64_t memory = now + limits.memory_bytes;
  bool all = SYRINX_SANITIZED || (now > 0 && set_limit(RLIMIT_AS, memory, memory));
  // The kernel sends SIGXCPU first, and SIGKILL a second later.
  all = set_limit(RLIMIT_CPU, limits.cpu_s, limits.cpu_s + 1) && all;
  all = set_limit(RLIMIT_CORE, 0, 0) && all;
  all = set_limit(RLIMIT_FSIZE, 0, 0) && all;
  all = set_limit(RLIMIT_NPROC, 0, 0) && all;
  return (SYRINX_SANITIZED || set_limit(RLIMIT_NOFILE, 0, 0)) && all;  // open files remain open
}

/// Gives up the rights of root: root is exempt from some limits and may access all processes. The
/// process then belongs to the system's user `nobody`, if this user exists.
void become_nobody() {
  if (geteuid() != 0) return;
  if (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0) return;
  if (setresuid(kNobody, kNobody, kNobody) != 0) return;  // on failure, only the group has changed
}

#if defined(SYRINX_SECCOMP) && !SYRINX_SANITIZED
class Filter {
 public:
  // Forbidden calls return an error instead of killing the process: libraries try optional calls.
  Filter() : context_(seccomp_init(SCMP_ACT_ERRNO(EPERM))) {}
  ~Filter() { seccomp_release(context_); }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  template <typename... Conditions>
  void allow(int call, Conditions... conditions) {
    const int error = context_ == nullptr ? -ENOMEM
                                          : seccomp_rule_add(context_, SCMP_ACT_ALLOW, call,
                                                             sizeof...(conditions), conditions...);
    if (error_ == 0) error_ = error;
  }
  /// Returns 0 or a negative errno.
  int load() { return error_ != 0 ? error_ : seccomp_load(context_); }

 private:
  scmp_filter_ctx context_;
  int error_ = 0;
};

int set_filter(int fd) {
  Filter filter;
  const auto only = SCMP_A0_32(SCMP_CMP_EQ, static_cast<uint32_t>(fd));
  filter.allow(SCMP_SYS(read), only);
  filter.allow(SCMP_SYS(write), only);
  const auto no_code = SCMP_A2_32(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
  filter.allow(SCMP_SYS(mmap), no_code,
               SCMP_A3_32(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
  filter.allow(SCMP_SYS(mprotect), no_code);
  for (const int call : {SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
                         SCMP_SYS(futex), SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday),
                         SCMP_SYS(getrandom), SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigprocmask),
                         SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group)}) {
    filter.allow(call);
  }
  return filter.load();
}
#endif

/// Installs the filter. Returns why it is not in force; an empty string if it is.
std::string filter_calls([[maybe_unused]] int fd, bool wanted) {
  if (!wanted) return "seccomp: not requested";
#ifndef SYRINX_SECCOMP
  return "seccomp: built without libseccomp";
#elif SYRINX_SANITIZED
  return "seccomp: off under a sanitizer";
#else
  const int error = set_filter(fd);
  return error == 0 ? "" : concat("seccomp: ", std::strerror(-error));
#endif
}

}  // namespace

std::string Confinement::text() const {
  const char* what = filter && limits ? "seccomp and resource limits"
                     : filter         ? "seccomp alone"
                     : limits         ? "resource limits alone"
                                      : "nothing";
  return reason.empty() ? what : concat(what, " (", reason, ")");
}

Confinement confine(int fd, int parent, const ConfinementLimits& limits) {
  Confinement out;
  const uint64_t taken = address_space_bytes();  // read first, while files can still be opened
  become_nobody();
  // Set after the change of user, which resets these properties.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != parent) _exit(1);  // the parent ended before PDEATHSIG was set
  out.limits = set_limits(limits, taken);
  if (!out.limits) out.reason = concat("resource limits: ", std::strerror(errno), "; ");
  const std::string no_filter = filter_calls(fd, limits.filter);
  out.filter = no_filter.empty();
  out.reason += no_filter;
  if (out.reason.ends_with("; ")) out.reason.resize(out.reason.size() - 2);
  return out;
}

}  // namespace syrinx
