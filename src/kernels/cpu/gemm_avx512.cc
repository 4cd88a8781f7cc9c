// Compiled for AVX-512 F, BW, VL, DQ; called only if the processor has them. The tiles have the
// sizes of AVX2's tiles, with one vector per panel.
#include "kernels/cpu/gemm_avx512.h"

namespace syrinx::cpu {

const GemmKernels& gemm_kernels_avx512() { return kKernels<Avx512>; }

}  // namespace syrinx::cpu
