#include "kernels/ref/linear_ref.h"

#include <cmath>

namespace syrinx::ref {

void linear(const View& x, const View& weight, const View& bias, const View& out) {
  const int64_t n = x.shape[0], in = x.shape[1], o_count = weight.shape[0];
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t o = 0; o < o_count; ++o) {
      double sum = bias.empty() ? 0.0 : bias.f32()[o];
      for (int64_t i = 0; i < in; ++i) {
        sum += double{x.f32()[r * in + i]} * weight.f32()[o * in + i];
      }
      out.f32()[r * o_count + o] = static_cast<float>(sum);
    }
  }
}

void silu_gate(const View& gate, const View& up, const View& out) {
  for (int64_t i = 0; i < out.count(); ++i) {
    const double g = gate.f32()[i];
    out.f32()[i] = static_cast<float>(g / (1 + std::exp(-g)) * up.f32()[i]);
  }
}

}  // namespace syrinx::ref
