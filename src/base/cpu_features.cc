#include "base/cpu_features.h"

namespace syrinx {
namespace {

CpuFeatures detect() {
  CpuFeatures found;
#if defined(__x86_64__)
  __builtin_cpu_init();
  found.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("f16c");
  found.avx512 = found.avx2 && __builtin_cpu_supports("avx512f") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                 __builtin_cpu_supports("avx512dq");
#endif
  return found;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

}  // namespace syrinx
