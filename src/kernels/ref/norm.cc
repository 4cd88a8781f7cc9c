#include <cmath>

#include "kernels/norm_impl.h"

namespace syrinx::ref {

void rms_norm_row(const float* x, const float* weight, int64_t width, float eps, float* out) {
  double squares = 0;
  for (int64_t i = 0; i < width; ++i) squares += double{x[i]} * x[i];
  const float factor = static_cast<float>(1 / std::sqrt(squares / width + eps));
  for (int64_t i = 0; i < width; ++i) out[i] = x[i] * factor * weight[i];
}

void add_row(float* x, const float* delta, int64_t width) {
  for (int64_t i = 0; i < width; ++i) x[i] += delta[i];
}

void layer_norm_row(const float* x, const float* weight, const float* bias, int64_t width,
                    float eps, float* out) {
  double total = 0, squares = 0;
  for (int64_t i = 0; i < width; ++i) total += x[i];
  const double mean = total / width;
  for (int64_t i = 0; i < width; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const double factor = 1 / std::sqrt(squares / width + eps);
  for (int64_t i = 0; i < width; ++i) {
    const float y = static_cast<float>((x[i] - mean) * factor);
    out[i] = y * (weight ? weight[i] : 1.f) + (bias ? bias[i] : 0.f);
  }
}

}  // namespace syrinx::ref
