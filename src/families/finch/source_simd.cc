#include "families/finch/source_loops.h"
// clang-format off
#include "kernels/cpu/simd_begin.h"
#include "kernels/cpu/simd.h"
// clang-format on

namespace syrinx::finch::simd {
namespace {

using namespace syrinx::simd;  // NOLINT(google-build-using-namespace): its vectors

/// Returns e^x of up to 8 numbers, limited to e^kMaxGain.
SYRINX_INLINE V8 gain(const float* x, int count) {
  return exp(min(all(kMaxGain), load_part(x, count)));  // NaN: min() returns its second argument
}

/// Returns the phases of tones, limited. Larger phases have no meaning, and their sines would be
/// wrong.
SYRINX_INLINE V8 turn(const float* x, int count) {
  return max(all(-8192.f), min(all(8192.f), load_part(x, count)));
}

}  // namespace

void tones(const float* head, int bins, float* tone, float* hiss) {
  for (int k = 0; k < bins; k += 8) {
    const int count = bins - k < 8 ? bins - k : 8;
    const V8 loud = gain(head + k, count), phase = turn(head + bins + k, count);
    float re[8], im[8];
    store(re, mul(loud, cos(phase)));
    store(im, mul(loud, sin(phase)));
    for (int i = 0; i < count; ++i) tone[2 * (k + i)] = re[i], tone[2 * (k + i) + 1] = im[i];
    store_part(hiss + k, gain(head + 2 * bins + k, count), count);
  }
}

}  // namespace syrinx::finch::simd
#include "kernels/cpu/simd_end.h"
