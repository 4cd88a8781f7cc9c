#include "kernels/cpu/gemm_sets.h"

namespace syrinx::cpu {

std::vector<GemmSet> gemm_sets([[maybe_unused]] const CpuFeatures& features) {
  std::vector<GemmSet> sets = {{"portable", gemm_kernels_portable()}};
#if defined(__x86_64__)
  // A set of kernels with other 8-bit products.
  auto with_q8 = [](GemmKernels kernels, GemmProducts q8) {
    kernels.products_q8 = q8;
    return kernels;
  };
  if (features.avx2) sets.push_back({"avx2", gemm_kernels_avx2()});
  if (features.avx_vnni) {
    sets.push_back({"avxvnni", with_q8(gemm_kernels_avx2(), gemm_q8_avxvnni())});
  }
  if (features.avx512) sets.push_back({"avx512", gemm_kernels_avx512()});
  if (features.avx512_vnni) {
    sets.push_back({"avx512vnni", with_q8(gemm_kernels_avx512(), gemm_q8_avx512vnni())});
  }
#endif
  return sets;
}

const GemmKernels& gemm_kernels() {
  static const GemmKernels best = gemm_sets(cpu_features()).back().kernels;
  return best;
}

}  // namespace syrinx::cpu
