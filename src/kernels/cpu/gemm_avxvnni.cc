// Built with AVX-VNNI beside what gemm_avx2.cc has, for processors with dot products and without
// AVX-512. See gemm_avx512vnni.cc.
#include "kernels/cpu/gemm_avx2.h"

namespace syrinx::cpu {
namespace {

struct AvxVnni : Avx2 {
  static I madd(I a, I b, I c) { return _mm256_dpwssd_avx_epi32(c, a, b); }
};

}  // namespace

GemmProducts gemm_q8_avxvnni() { return products_q8<AvxVnni>; }

}  // namespace syrinx::cpu
