#include "kernels/activation_impl.h"
// clang-format off
#include "kernels/cpu/simd_begin.h"
#include "kernels/cpu/simd.h"
// clang-format on

namespace syrinx::simd {
namespace {

// The vector code computes every element, and masks the last few, so that an element's bits do not
// depend on its position.
template <typename F>
SYRINX_INLINE void each(float* out, int64_t count, F f) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    store(out + i, f([i](const float* p) SYRINX_LAMBDA { return load(p + i); }));
  if (i < count)
    store_part(out + i,
               f([i, count](const float* p) SYRINX_LAMBDA { return load_part(p + i, count - i); }),
               count - i);
}

SYRINX_INLINE V8 gelu(V8 x) {
  const V8 h = mul(all(0.5f), x);
  return fma(h, erf(mul(x, all(0.70710678118654752440f))), h);
}

SYRINX_INLINE V8 gelu_tanh(V8 x) {
  const V8 cube = mul(mul(x, x), x);
  const V8 inner = mul(all(0.79788456080286535588f), fma(all(0.044715f), cube, x));
  const V8 h = mul(all(0.5f), x);
  return fma(h, tanh(inner), h);
}

/// Returns x for x > 0, else e^x - 1 without cancellation near 0.
SYRINX_INLINE V8 elu(V8 x) {
  V8 p = all(1.f / 5040);  // Taylor to x^7 for |x| < 0.35: error 2e-9
  p = fma(p, x, all(1.f / 720));
  p = fma(p, x, all(1.f / 120));
  p = fma(p, x, all(1.f / 24));
  p = fma(p, x, all(1.f / 6));
  p = fma(p, x, all(0.5f));
  const V8 near = fma(mul(p, x), x, x);
  const V8 far = sub(exp(x), all(1.f));
  return select(more(x, all(0)), x, select(less(x, all(-0.35f)), far, near));
}

/// Computes tanh(log(1 + e^x)) = (n^2 + 2n) / (n^2 + 2n + 2) with n = e^x; 1 for large x.
SYRINX_INLINE V8 mish(V8 x) {
  const V8 n = exp(min(all(20.f), x));
  const V8 m = mul(n, add(n, all(2.f)));
  return mul(x, div(m, add(m, all(2.f))));
}

SYRINX_INLINE V8 snake(V8 x, V8 alpha, V8 inv_beta) {
  return fma(sin_squared(mul(alpha, x)), inv_beta, x);
}

}  // namespace

void activate(Activation f, const float* x, float* out, int64_t count) {
  switch (f) {
    case Activation::kNone:
      return each(out, count, [x](auto get) SYRINX_LAMBDA { return get(x); });
    case Activation::kSilu:
      return each(out, count, [x](auto get) SYRINX_LAMBDA {
        const V8 v = get(x);
        return mul(v, sigmoid(v));
      });
    case Activation::kGelu:
      return each(out, count, [x](auto get) SYRINX_LAMBDA { return gelu(get(x)); });
    case Activation::kGeluTanh:
      return each(out, count, [x](auto get) SYRINX_LAMBDA { return gelu_tanh(get(x)); });
    case Activation::kElu:
      return each(out, count, [x](auto get) SYRINX_LAMBDA { return elu(get(x)); });
    case Activation::kRelu:
      return each(out, count, [x](auto get) SYRINX_LAMBDA { return max(all(0), get(x)); });
    case Activation::kTanh:
      return each(out, count, [x](auto get) SYRINX_LAMBDA { return tanh(get(x)); });
    case Activation::kSigmoid:
      return each(out, count, [x](auto get) SYRINX_LAMBDA { return sigmoid(get(x)); });
    case Activation::kMish:
      return each(out, count, [x](auto get) SYRINX_LAMBDA { return mish(get(x)); });
  }
}

void silu_mul(const float* gate, const float* up, float* out, int64_t count) {
  each(out, count, [gate, up](auto get) SYRINX_LAMBDA {
    const V8 g = get(gate);
    return mul(mul(g, sigmoid(g)), get(up));
  });
}

void gelu_tanh_mul(const float* gate, const float* up, float* out, int64_t count) {
  each(out, count,
       [gate, up](auto get) SYRINX_LAMBDA { return mul(gelu_tanh(get(gate)), get(up)); });
}

void snake_each(const float* x, const float* alpha, const float* inv_beta, float* out,
                int64_t count) {
  each(out, count,
       [=](auto get) SYRINX_LAMBDA { return snake(get(x), get(alpha), get(inv_beta)); });
}

void snake_one(const float* x, float alpha, float inv_beta, float* out, int64_t count) {
  const V8 a = all(alpha), b = all(inv_beta);
  each(out, count, [=](auto get) SYRINX_LAMBDA { return snake(get(x), a, b); });
}

void add(float* x, const float* y, int64_t count) {
  each(x, count, [=](auto get) SYRINX_LAMBDA { return add(get(x), get(y)); });
}

void add_scaled(float* x, const float* y, const float* gain, int64_t count) {
  each(x, count, [=](auto get) SYRINX_LAMBDA { return fma(get(y), get(gain), get(x)); });
}

}  // namespace syrinx::simd
#include "kernels/cpu/simd_end.h"
