// The choice of codes from the scores of a codebook's entries, as in vector quantizers. Rows are
// independent. N rows, V entries of width D, Q codes of a row.
#pragma once

#include "tensor/context.h"

namespace syrinx {

/// Writes the index of the largest score of each row to column `column` of `codes`; of several
/// largest scores, the first. scores [N, V] f32, codes [N, Q] i32.
void take_largest(StepContext& ctx, const View& scores, const View& codes, int64_t column);

/// Does the same, then subtracts the chosen row of `entries` [V, D] from x [N, D] (both f32).
void subtract_largest(StepContext& ctx, const View& scores, const View& entries, const View& x,
                      const View& codes, int64_t column);

}  // namespace syrinx
