// Built with AVX512-VNNI beside what gemm_avx512.cc has. vpdpwssd adds the same products of pairs
// as vpmaddwd and vpaddd do, in one instruction: the same sums.
#include "kernels/cpu/gemm_avx512.h"

namespace syrinx::cpu {
namespace {

struct Avx512Vnni : Avx512 {
  static constexpr int kTileRows = 8;
  static I madd(I a, I b, I c) { return _mm512_dpwssd_epi32(c, a, b); }
};

}  // namespace

GemmProducts gemm_q8_avx512vnni() { return products_q8<Avx512Vnni>; }

}  // namespace syrinx::cpu
