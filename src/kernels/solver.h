// Arithmetic of solvers that lead noise to numbers by a network's estimates. Rows are independent.
// R rows, W numbers per row, f32.
#pragma once

#include "tensor/context.h"

namespace syrinx {

/// Sets all numbers of x to 0.
void fill_zeros(StepContext& ctx, const View& x);

/// Computes out = a * x + b * y for any shape. `out` may be x or y.
void weighted_sum(StepContext& ctx, float a, const View& x, float b, const View& y,
                  const View& out);

/// Computes the guidance of CFG-zero* (arXiv 2503.18886) in place of c: c = f u + s (c - f u),
/// where f = c u / (|u|^2 + 1e-8) minimizes the distance of f u and c. Scale 1 gives c. c, u [R,
/// W]; scales [R], s.
void guide_zero_star(StepContext& ctx, const View& c, const View& u, const View& scales);

}  // namespace syrinx
