#include "kernels/cpu/gemm_sets.h"

namespace syrinx::cpu {

std::vector<GemmSet> gemm_sets([[maybe_unused]] const CpuFeatures& features) {
  std::vector<GemmSet> sets = {{"portable", gemm_kernels_portable()}};
#if defined(__x86_64__)
  if (features.avx2) sets.push_back({"avx2", gemm_kernels_avx2()});
  if (features.avx_vnni) {
    sets.push_back({"avxvnni", gemm_kernels_avx2()});
    use_avxvnni(sets.back().kernels);
  }
  if (features.avx512) sets.push_back({"avx512", gemm_kernels_avx512()});
  if (features.avx512_vnni) {
    sets.push_back({"avx512vnni", gemm_kernels_avx512()});
    use_avx512vnni(sets.back().kernels);
  }
  if (features.avx512_bf16) {
    sets.push_back(sets.back());
    sets.back().name = "avx512bf16";
    use_avx512bf16(sets.back().kernels);
  }
#endif
  return sets;
}

const GemmKernels& gemm_kernels() {
  static const GemmKernels best = gemm_sets(cpu_features()).back().kernels;
  return best;
}

}  // namespace syrinx::cpu
