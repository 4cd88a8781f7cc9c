// The instruction sets with code for gemm_block.h, and the choice for a processor.
#pragma once

#include <vector>

#include "base/cpu_features.h"
#include "kernels/cpu/gemm_block.h"

namespace syrinx::cpu {

/// Rows of a call from which on tiles of 16 rows are worth their preparation (calculated, not
/// measured: see docs/decisions/0001).
constexpr int64_t kManyRows = 16;

/// The kernels of one instruction set. Those for few and for many rows have the same bits.
struct GemmSet {
  const char* name;  // as in SYRINX_CPU; static storage
  GemmKernels few, many;
};

/// Returns the sets that a processor with these features can run, the best one last; never empty.
std::vector<GemmSet> gemm_sets(const CpuFeatures& features);

/// Returns the best set of this processor, which the kernels use.
const GemmSet& gemm_set();

/// Returns the kernels of gemm_set() for a call of `rows` rows.
const GemmKernels& gemm_kernels(int64_t rows);

}  // namespace syrinx::cpu
