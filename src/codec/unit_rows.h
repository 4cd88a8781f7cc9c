// Scales rows to length 1, for quantizers that select entries by their angle. Header only.
#pragma once

#include <algorithm>
#include <cmath>

#include "tensor/tensor.h"

namespace syrinx {

/// Scales the rows of x [N, D], f32 on the host, to length 1, as torch's normalize() does.
inline void scale_rows_to_length_1(const View& x) {
  constexpr float kLeast = 1e-12f;  // a shorter row is divided by this length, as in torch
  const int64_t dim = x.shape[1];
  for (int64_t r = 0; r < x.shape[0]; ++r) {
    float* row = x.f32() + r * dim;
    double power = 0;
    for (int64_t i = 0; i < dim; ++i) power += double{row[i]} * row[i];
    const float length = std::max(static_cast<float>(std::sqrt(power)), kLeast);
    for (int64_t i = 0; i < dim; ++i) row[i] /= length;
  }
}

}  // namespace syrinx
