// The modulation of adaptive norms (AdaLN), for inputs of a few rows. Header only; CPU only; any
// thread. R rows, W numbers per row, f32.
#pragma once

#include "tensor/tensor.h"

namespace syrinx {

/// Computes x = x * (1 + scale) + shift, in place. x [R, W]; `by` [R, 2 W or more]. Each row of
/// `by` begins with W numbers of shift, followed by W numbers of scale.
inline void modulate(const View& x, const View& by) {
  const int64_t width = x.shape[1], stride = by.shape[1];
  for (int64_t r = 0; r < x.shape[0]; ++r) {
    float* row = x.f32() + r * width;
    const float *shift = by.f32() + r * stride, *scale = shift + width;
    for (int64_t i = 0; i < width; ++i) row[i] = row[i] * (1 + scale[i]) + shift[i];
  }
}

}  // namespace syrinx
