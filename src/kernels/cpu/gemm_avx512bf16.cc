// Compiled for AVX512-BF16 and for the sets of gemm_avx512.cc.
#include "kernels/cpu/avx512bf16.h"
#include "kernels/cpu/gemm_avx512.h"

namespace syrinx::cpu {
namespace {

/// vdpbf16ps adds a1 b1 to c, rounds, adds a0 b0 and rounds; denormal numbers count as 0.
struct Dots : Avx512 {
  using X = uint16_t;
  using W = uint16_t;
  using Factor = __m512bh;
  static constexpr int kTileRows = 8, kStep = 2, kProducts = 1;
  static void weights(const W* b, int, Factor (&w)[1]) {
    w[0] = reinterpret_cast<Factor>(_mm512_loadu_si512(b));
  }
  static Factor number(const X* x, int) { return all_pairs(x); }
  static F dot(Factor x, Factor w, F c) { return _mm512_dpbf16_ps(c, x, w); }
};

void round_to_halves(const float* x, int64_t count, void* to) {
  auto* out = static_cast<uint16_t*>(to);
  for (int64_t i = 0; i < count; i += 16) {
    const auto mask = static_cast<__mmask16>(count - i < 16 ? (1u << (count - i)) - 1 : 0xffffu);
    const __m256bh halves = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, x + i));
    _mm256_mask_storeu_epi16(out + i, mask, reinterpret_cast<__m256i>(halves));
  }
}

}  // namespace

void use_avx512bf16(GemmKernels& kernels) {
  kernels.products_bf16a16 = products_of<Dots>;
  kernels.round = round_to_halves;
  kernels.rounded_bytes = sizeof(uint16_t);
}

}  // namespace syrinx::cpu
