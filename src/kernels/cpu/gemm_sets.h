// The instruction sets for which gemm_block.h has code here, and which of them a processor gets.
#pragma once

#include <vector>

#include "base/cpu_features.h"
#include "kernels/cpu/gemm_block.h"

namespace syrinx::cpu {

struct GemmSet {
  const char* name;  // as in SYRINX_CPU; static storage
  GemmKernels kernels;
};

/// What a processor with these features can run, the best last; never empty.
std::vector<GemmSet> gemm_sets(const CpuFeatures& features);

/// The best of this processor, chosen once.
const GemmKernels& gemm_kernels();

}  // namespace syrinx::cpu
