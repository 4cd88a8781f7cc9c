#include "kernels/cpu/gemm_sets.h"

namespace syrinx::cpu {

std::vector<GemmSet> gemm_sets([[maybe_unused]] const CpuFeatures& features) {
  std::vector<GemmSet> sets;
  const auto add = [&](const char* name, const GemmKernels& kernels) {
    sets.push_back({name, kernels, kernels});
  };
  add("portable", gemm_kernels_portable());
#if defined(__x86_64__)
  if (features.avx2) add("avx2", gemm_kernels_avx2());
  if (features.avx_vnni) {
    GemmKernels kernels = gemm_kernels_avx2();
    use_avxvnni(kernels);
    add("avxvnni", kernels);
  }
  if (features.avx512) add("avx512", gemm_kernels_avx512());
  if (features.avx512_vnni) {
    GemmKernels kernels = gemm_kernels_avx512();
    use_avx512vnni(kernels);
    GemmKernels dots = kernels;
    use_avx512bf16(dots);
    if (features.avx512_bf16 && !features.quick_dots) add("avx512bf16", dots);
    add("avx512vnni", kernels);
    if (features.avx512_bf16 && features.quick_dots) add("avx512bf16", dots);
    if (features.amx) {
      add("amx", dots);
      use_amx(sets.back().few, sets.back().many);
    }
  }
#elif defined(__aarch64__)
  if (features.neon) add("neon", gemm_kernels_neon());
  if (features.neon_dot) {
    GemmKernels kernels = gemm_kernels_neon();
    use_neondot(kernels);
    add("neondot", kernels);
  }
#endif
  return sets;
}

const GemmSet& gemm_set() {
  static const GemmSet best = gemm_sets(cpu_features()).back();
  return best;
}

const GemmKernels& gemm_kernels(int64_t rows) {
  return rows < kManyRows ? gemm_set().few : gemm_set().many;
}

}  // namespace syrinx::cpu
