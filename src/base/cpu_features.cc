#include "base/cpu_features.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace syrinx {
namespace {

#if defined(__x86_64__)
/// Registers that CPUID sets; zeros for a leaf that the processor lacks. Bits: Intel's manual,
/// volume 2A, CPUID. Compilers' names of features do not suffice: Clang 16 lacks f16c, avxvnni and
/// amx-*.
struct CpuId {
  CpuId(unsigned leaf, unsigned subleaf) {
    __get_cpuid_count(leaf, subleaf, &eax, &ebx, &ecx, &edx);
  }
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};
constexpr unsigned kF16c = 1u << 29;                       // leaf 1, ecx
constexpr unsigned kAvxVnni = 1u << 4;                     // leaf 7, subleaf 1, eax
constexpr unsigned kAmx = 1u << 22 | 1u << 24 | 1u << 25;  // BF16, TILE, INT8: leaf 7, edx

/// Requests the kernel's permission to use tiles, which are 8 KB of state per thread
/// (arch_prctl(2)).
bool may_use_tiles() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}
#endif

CpuFeatures detect() {
  CpuFeatures found;
#if defined(__x86_64__)
  __builtin_cpu_init();
  found.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               (CpuId(1, 0).ecx & kF16c) != 0;
  found.avx_vnni = found.avx2 && (CpuId(7, 1).eax & kAvxVnni) != 0;
  found.avx512 = found.avx2 && __builtin_cpu_supports("avx512f") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                 __builtin_cpu_supports("avx512dq");
  found.avx512_vnni = found.avx512 && __builtin_cpu_supports("avx512vnni");
  found.avx512_bf16 = found.avx512_vnni && __builtin_cpu_supports("avx512bf16");
  // Sapphire Rapids begins one dot product of bf16 in two cycles, but four FMAs.
  found.quick_dots = found.avx512_bf16 && !__builtin_cpu_is("intel");
  found.amx = found.avx512_bf16 && (CpuId(7, 0).edx & kAmx) == kAmx && may_use_tiles();
#elif defined(__aarch64__)
  found.neon = true;
  found.neon_dot = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#endif
  return found;
}

#if defined(__aarch64__)
CpuFeatures allowed(CpuFeatures found, std::string_view most) {
  if (most.empty() || most == "neondot") return found;
  if (most != "portable" && most != "neon") {
    throw LoadError("SYRINX_CPU is '" + std::string(most) +
                    "'; expected portable, neon or neondot");
  }
  found.neon_dot = false;
  found.neon = most == "neon";
  return found;
}
#else
CpuFeatures allowed(CpuFeatures found, std::string_view most) {
  if (most.empty() || most == "amx") return found;
  const bool known = most == "portable" || most == "avx2" || most == "avxvnni" ||
                     most == "avx512" || most == "avx512vnni" || most == "avx512bf16";
  if (!known) {
    throw LoadError("SYRINX_CPU is '" + std::string(most) +
                    "'; expected portable, avx2, avxvnni, avx512, avx512vnni, avx512bf16 or amx");
  }
  found.amx = false;
  if (most == "avx512bf16") return found;
  found.avx512_bf16 = found.quick_dots = false;
  if (most == "avx512vnni") return found;
  found.avx512_vnni = false;
  if (most != "avx512") found.avx512 = false;
  if (most != "avxvnni") found.avx_vnni = false;
  if (most == "portable") found.avx2 = false;
  return found;
}
#endif

}  // namespace

const CpuFeatures& cpu_features() {
  static const char* const most = std::getenv("SYRINX_CPU");
  static const CpuFeatures features = allowed(detect(), most ? most : "");
  return features;
}

}  // namespace syrinx
