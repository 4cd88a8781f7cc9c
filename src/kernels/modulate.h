// The modulation of adaptive norms (AdaLN): each row has its own shift, scale and gate, which are
// adjacent parts of a row of `by`. Rows are independent. R rows, W numbers per row, f32.
#pragma once

#include "tensor/context.h"

namespace syrinx {

/// Computes x = x * (1 + scale) + shift, in place. x [R, W]; `by` [R, 2 W or more]. Each row of
/// `by` begins with W numbers of shift, followed by W numbers of scale.
void modulate(StepContext& ctx, const View& x, const View& by);
/// Computes x += gate * y, in place. x, y [R, W]; `by` [R, 3 W], whose rows end with W numbers of
/// gate.
void add_gated(StepContext& ctx, const View& x, const View& y, const View& by);

}  // namespace syrinx
