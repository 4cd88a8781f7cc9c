#include <cmath>

#include "kernels/sample_impl.h"

namespace syrinx::ref {

bool copy_logits(const float* x, int64_t count, float* out, float* largest) {
  float top = -INFINITY;
  bool good = true;
  for (int64_t i = 0; i < count; ++i) {
    out[i] = x[i];
    good = good && x[i] < INFINITY;
    if (x[i] > top) top = x[i];
  }
  *largest = top;
  return good;
}

void divide(float* x, int64_t count, float divisor) {
  for (int64_t i = 0; i < count; ++i) x[i] /= divisor;
}

int64_t collect(const float* x, int64_t begin, int64_t end, float least, Candidate* out) {
  int64_t found = 0;
  for (int64_t i = begin; i < end; ++i)
    if (x[i] >= least) out[found++] = {x[i], static_cast<int32_t>(i)};
  return found;
}

double exp_sum(const float* x, int64_t count, float shift) {
  double total = 0;
  for (int64_t i = 0; i < count; ++i) total += std::exp(x[i] - shift);
  return total;
}

float largest_of(const float* x, int64_t count) {
  float top = -INFINITY;
  for (int64_t i = 0; i < count; ++i)
    if (x[i] > top) top = x[i];
  return top;
}

}  // namespace syrinx::ref
