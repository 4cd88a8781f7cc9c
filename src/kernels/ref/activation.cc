#include <cmath>

#include "kernels/activation_impl.h"

namespace syrinx::ref {
namespace {

double apply(Activation f, double x) {
  switch (f) {
    case Activation::kNone:
      return x;
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kGelu:
      return 0.5 * x * (1 + std::erf(x * 0.70710678118654752440));
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case Activation::kElu:
      return x > 0 ? x : std::expm1(x);
    case Activation::kRelu:
      return x > 0 || std::isnan(x) ? x : 0;
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::kMish:
      return x * std::tanh(std::log1p(std::exp(x)));
  }
  return x;
}

}  // namespace

void activate(Activation f, const float* x, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(apply(f, x[i]));
}

void silu_mul(const float* gate, const float* up, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<float>(apply(Activation::kSilu, gate[i]) * up[i]);
}

void gelu_tanh_mul(const float* gate, const float* up, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<float>(apply(Activation::kGeluTanh, gate[i]) * up[i]);
}

void snake_each(const float* x, const float* alpha, const float* inv_beta, float* out,
                int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const double s = std::sin(double{alpha[i] * x[i]});
    out[i] = static_cast<float>(x[i] + s * s * inv_beta[i]);
  }
}

void snake_one(const float* x, float alpha, float inv_beta, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) snake_each(x + i, &alpha, &inv_beta, out + i, 1);
}

void add(float* x, const float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) x[i] += y[i];
}

void add_scaled(float* x, const float* y, const float* gain, int64_t count) {
  for (int64_t i = 0; i < count; ++i) x[i] += y[i] * gain[i];
}

}  // namespace syrinx::ref
