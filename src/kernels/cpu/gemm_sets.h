// The instruction sets for which gemm_block.h has code here, and which of them a processor gets.
#pragma once

#include <vector>

#include "base/cpu_features.h"
#include "kernels/cpu/gemm_block.h"

namespace syrinx::cpu {

/// Rows of a call from which on tiles of 16 rows are worth their preparation (by arithmetic, not
/// measured: see docs/decisions/0001).
constexpr int64_t kManyRows = 16;

/// One instruction set. Few and many rows have the same bits.
struct GemmSet {
  const char* name;  // as in SYRINX_CPU; static storage
  GemmKernels few, many;
};

/// What a processor with these features can run, the best last; never empty.
std::vector<GemmSet> gemm_sets(const CpuFeatures& features);

/// The best of this processor: what the kernels use.
const GemmSet& gemm_set();

/// Returns the products of that set for a call of `rows` rows.
const GemmKernels& gemm_kernels(int64_t rows);

}  // namespace syrinx::cpu
