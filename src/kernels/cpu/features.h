// What this machine's CPU can do, asked once. Kernels choose their implementation by it at run
// time.
#pragma once

namespace syrinx::cpu {

/// AVX2, FMA and F16C, and the operating system saves their registers.
inline bool has_avx2() {
#if defined(__x86_64__)
  static const bool yes = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          __builtin_cpu_supports("f16c");
  return yes;
#else
  return false;
#endif
}

}  // namespace syrinx::cpu
