#include "kernels/channels_impl.h"
// clang-format off
#include "kernels/cpu/simd_begin.h"
#include "kernels/cpu/simd.h"
// clang-format on

namespace syrinx::simd {
namespace {

/// Sums N vectors of channels at the same time, so that an addition need not wait for the addition
/// before it.
template <int N>
SYRINX_INLINE void sum_columns(const float* x, const float* pivot, int64_t rows, int64_t width,
                               float* sums, float* squares) {
  V8 p[N], s[N], q[N];
  for (int n = 0; n < N; ++n) p[n] = load(pivot + 8 * n), s[n] = all(0), q[n] = all(0);
  for (int64_t t = 0; t < rows; ++t) {
    for (int n = 0; n < N; ++n) {
      const V8 d = sub(load(x + t * width + 8 * n), p[n]);
      s[n] = add(s[n], d);
      q[n] = fma(d, d, q[n]);
    }
  }
  for (int n = 0; n < N; ++n) store(sums + 8 * n, s[n]), store(squares + 8 * n, q[n]);
}

SYRINX_INLINE V8 snaked(V8 x, V8 alpha, V8 inv_beta) {
  return fma(sin_squared(mul(alpha, x)), inv_beta, x);
}

}  // namespace

void channel_sums(const float* x, const float* pivot, int64_t rows, int64_t width, float* sums) {
  float* squares = sums + width;
  int64_t c = 0;
  for (; c + 32 <= width; c += 32) {
    sum_columns<4>(x + c, pivot + c, rows, width, sums + c, squares + c);
  }
  for (; c + 8 <= width; c += 8) {
    sum_columns<1>(x + c, pivot + c, rows, width, sums + c, squares + c);
  }
  if (c == width) return;
  const int64_t left = width - c;
  const V8 p = load_part(pivot + c, left);
  V8 s = all(0), q = all(0);
  for (int64_t t = 0; t < rows; ++t) {
    const V8 d = sub(load_part(x + t * width + c, left), p);
    s = add(s, d);
    q = fma(d, d, q);
  }
  store_part(sums + c, s, left);
  store_part(squares + c, q, left);
}

void scale_row(const float* x, const float* factor, const float* summand, int64_t width,
               float* out) {
  int64_t c = 0;
  for (; c + 8 <= width; c += 8) {
    store(out + c, fma(load(x + c), load(factor + c), load(summand + c)));
  }
  if (c == width) return;
  const int64_t left = width - c;
  store_part(out + c,
             fma(load_part(x + c, left), load_part(factor + c, left), load_part(summand + c, left)),
             left);
}

void scale_snake_row(const float* x, const float* factor, const float* summand, const float* alpha,
                     const float* inv_beta, int64_t width, float* out) {
  int64_t c = 0;
  for (; c + 8 <= width; c += 8) {
    const V8 y = fma(load(x + c), load(factor + c), load(summand + c));
    store(out + c, snaked(y, load(alpha + c), load(inv_beta + c)));
  }
  if (c == width) return;
  const int64_t left = width - c;
  const V8 y =
      fma(load_part(x + c, left), load_part(factor + c, left), load_part(summand + c, left));
  store_part(out + c, snaked(y, load_part(alpha + c, left), load_part(inv_beta + c, left)), left);
}

}  // namespace syrinx::simd
#include "kernels/cpu/simd_end.h"
