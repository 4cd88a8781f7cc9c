#include <cmath>

#include "kernels/channels_impl.h"

namespace syrinx::ref {

void channel_sums(const float* x, const float* pivot, int64_t rows, int64_t width, float* sums) {
  for (int64_t c = 0; c < width; ++c) {
    double sum = 0, squares = 0;
    for (int64_t t = 0; t < rows; ++t) {
      const double d = double{x[t * width + c]} - pivot[c];
      sum += d;
      squares += d * d;
    }
    sums[c] = static_cast<float>(sum);
    sums[width + c] = static_cast<float>(squares);
  }
}

void scale_row(const float* x, const float* factor, const float* summand, int64_t width,
               float* out) {
  for (int64_t c = 0; c < width; ++c) out[c] = x[c] * factor[c] + summand[c];
}

void scale_snake_row(const float* x, const float* factor, const float* summand, const float* alpha,
                     const float* inv_beta, int64_t width, float* out) {
  for (int64_t c = 0; c < width; ++c) {
    const float y = x[c] * factor[c] + summand[c];
    const double s = std::sin(double{alpha[c] * y});
    out[c] = static_cast<float>(y + s * s * inv_beta[c]);
  }
}

}  // namespace syrinx::ref
