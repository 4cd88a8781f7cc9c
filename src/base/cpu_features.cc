#include "base/cpu_features.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"

namespace syrinx {
namespace {

CpuFeatures detect() {
  CpuFeatures found;
#if defined(__x86_64__)
  __builtin_cpu_init();
  found.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("f16c");
  found.avx_vnni = found.avx2 && __builtin_cpu_supports("avxvnni");
  found.avx512 = found.avx2 && __builtin_cpu_supports("avx512f") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                 __builtin_cpu_supports("avx512dq");
  found.avx512_vnni = found.avx512 && __builtin_cpu_supports("avx512vnni");
  found.avx512_bf16 = found.avx512_vnni && __builtin_cpu_supports("avx512bf16");
#endif
  return found;
}

CpuFeatures allowed(CpuFeatures found) {
  const char* value = std::getenv("SYRINX_CPU");
  const std::string_view most = value ? value : "";
  if (most.empty() || most == "avx512bf16") return found;
  const bool known = most == "portable" || most == "avx2" || most == "avxvnni" ||
                     most == "avx512" || most == "avx512vnni";
  if (!known) {
    throw LoadError("SYRINX_CPU is '" + std::string(most) +
                    "'; it may be portable, avx2, avxvnni, avx512, avx512vnni or avx512bf16");
  }
  found.avx512_bf16 = false;
  if (most == "avx512vnni") return found;
  found.avx512_vnni = false;
  if (most != "avx512") found.avx512 = false;
  if (most != "avxvnni") found.avx_vnni = false;
  if (most == "portable") found.avx2 = false;
  return found;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = allowed(detect());
  return features;
}

}  // namespace syrinx
