// The instruction sets that have code for gemm_block.h, and the choice among them.
#pragma once

#include <vector>

#include "base/cpu_features.h"
#include "kernels/cpu/gemm_block.h"

namespace syrinx::cpu {

/// From this number of rows on, a call uses tiles of 16 rows. With fewer rows, preparing tiles
/// costs more than it saves (calculated, not measured: docs/decisions/0001).
constexpr int64_t kManyRows = 16;

/// The kernels of one instruction set, for few and for many rows; both compute the same bits.
struct GemmSet {
  const char* name;  // the name in the variable SYRINX_CPU; static storage
  GemmKernels few, many;
};

/// Returns the sets that a processor with these features can run, the best one last; never empty.
std::vector<GemmSet> gemm_sets(const CpuFeatures& features);

/// Returns the best set of this processor, which the kernels use.
const GemmSet& gemm_set();

/// Returns the kernels of gemm_set() for a call of `rows` rows.
const GemmKernels& gemm_kernels(int64_t rows);

}  // namespace syrinx::cpu
