// Arithmetic of the toy models: fixed noise for weights, and a product with a fixed summing order.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/sample.h"

namespace syrinx {

/// Returns fixed noise in [-1, 1).
inline std::vector<float> toy_noise(size_t count, uint32_t stream) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) {
    out[i] = 2 * philox_uniform(7, static_cast<uint32_t>(i), stream) - 1;
  }
  return out;
}

/// Computes y[j] = sum_i x[i] w[i * outs + j].
inline void toy_matvec(const float* x, const std::vector<float>& w, int ins, int outs, float* y) {
  for (int j = 0; j < outs; ++j) {
    float sum = 0;
    for (int i = 0; i < ins; ++i) sum += x[i] * w[static_cast<size_t>(i) * outs + j];
    y[j] = sum;
  }
}

}  // namespace syrinx
