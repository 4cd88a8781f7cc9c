// Compiled for AVX2, FMA and F16C; called only if the processor has them.
#include "kernels/cpu/gemm_avx2.h"

namespace syrinx::cpu {

const GemmKernels& gemm_kernels_avx2() { return kKernels<Avx2>; }

}  // namespace syrinx::cpu
