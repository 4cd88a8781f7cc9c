#include "kernels/cpu/gemm_neon.h"

namespace syrinx::cpu {

const GemmKernels& gemm_kernels_neon() { return kKernels<Neon>; }

}  // namespace syrinx::cpu
