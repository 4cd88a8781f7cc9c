#include <cmath>

#include "kernels/sample_impl.h"
// clang-format off
#include "kernels/cpu/simd_begin.h"
#include "kernels/cpu/simd.h"
// clang-format on

namespace syrinx::simd {

bool copy_logits(const float* x, int64_t count, float* out, float* top) {
  const V8 infinity = all(INFINITY);
  V8 peak = all(-INFINITY);
  Mask good = less(peak, infinity);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const V8 v = load(x + i);
    store(out + i, v);
    peak = max(v, peak);
    good = both(good, less(v, infinity));
  }
  bool fine = lanes_of(good) == 0xff;
  float best = largest(peak);
  for (; i < count; ++i) {
    out[i] = x[i];
    fine = fine && x[i] < INFINITY;
    if (x[i] > best) best = x[i];
  }
  *top = best;
  return fine;
}

void divide(float* x, int64_t count, float divisor) {
  const V8 d = all(divisor);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) store(x + i, div(load(x + i), d));
  for (; i < count; ++i) x[i] /= divisor;
}

int64_t collect(const float* x, int64_t begin, int64_t end, float least, Candidate* out) {
  const V8 bar = all(least);
  int64_t found = 0, i = begin;
  for (; i + 8 <= end; i += 8) {
    int bits = lanes_of(at_least(load(x + i), bar));
    for (; bits; bits &= bits - 1) {
      const int64_t at = i + __builtin_ctz(static_cast<unsigned>(bits));
      out[found++] = {x[at], static_cast<int32_t>(at)};
    }
  }
  for (; i < end; ++i)
    if (x[i] >= least) out[found++] = {x[i], static_cast<int32_t>(i)};
  return found;
}

double exp_sum(const float* x, int64_t count, float shift) {
  constexpr int64_t kBlock = 1024;  // sums are f32 within a block and f64 across blocks
  const V8 s = all(shift);
  double total = 0;
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t end = start + kBlock < count ? start + kBlock : count;
    V8 a = all(0);
    int64_t i = start;
    for (; i + 8 <= end; i += 8) a = add(a, exp(sub(load(x + i), s)));
    if (i < end) {
      const V8 w = exp(sub(load_part(x + i, end - i), s));
      a = add(a, keep(first_lanes(end - i), w));
    }
    total += sum(a);
  }
  return total;
}

float largest_of(const float* x, int64_t count) {
  constexpr int kSide = 4;  // independent maxima, because each waits for its predecessor
  V8 peaks[kSide];
  for (V8& peak : peaks) peak = all(-INFINITY);
  int64_t i = 0;
  for (; i + 8 * kSide <= count; i += 8 * kSide)
    for (int j = 0; j < kSide; ++j) peaks[j] = max(load(x + i + 8 * j), peaks[j]);
  float best = largest(max(max(peaks[0], peaks[1]), max(peaks[2], peaks[3])));
  for (; i < count; ++i)
    if (x[i] > best) best = x[i];
  return best;
}

}  // namespace syrinx::simd
#include "kernels/cpu/simd_end.h"
