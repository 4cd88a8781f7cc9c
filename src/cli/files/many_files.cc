#include "cli/files/many_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace syrinx {

int allow_many_files() {
  constexpr rlim_t kMost = std::numeric_limits<int>::max();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMost;
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  const bool raised = setrlimit(RLIMIT_NOFILE, &limit) == 0;
  return static_cast<int>(std::min(raised ? limit.rlim_max : before, kMost));
}

}  // namespace syrinx
