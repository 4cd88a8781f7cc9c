// The data type of rows that only products read.
#pragma once

#include "kernels/linear.h"

namespace syrinx {

/// Returns the best type for rows [N, I] that only linear() of `w` reads. It is bf16 on a GPU if
/// the product would otherwise round the rows in a separate kernel, else f32. The results are the
/// same. On a GPU, rms_norm(), layer_norm(), paged_attention(), embed_column() and linear() of a
/// gate support both types.
DType product_rows(const PackedLinear& w, int64_t rows);

}  // namespace syrinx
