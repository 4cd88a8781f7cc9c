// The type of rows that only products read.
#pragma once

#include "kernels/linear.h"

namespace syrinx {

/// Returns the type in which rows [N, I] that only linear() of `w` reads are best made: bf16 on a
/// GPU where the product would otherwise round them in a kernel of its own, else f32. The results
/// are the same. rms_norm(), layer_norm(), paged_attention(), embed_column() and linear() of a gate
/// write both types there.
DType product_rows(const PackedLinear& w, int64_t rows);

}  // namespace syrinx
