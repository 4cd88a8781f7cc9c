// Compiled for dot products and for the set of gemm_neon.cc. Called only if the processor has dot
// products.
#include "kernels/cpu/gemm_neon.h"

namespace syrinx::cpu {
namespace {

/// SDOT multiplies signed bytes, so the weights need no offset.
struct Bytes : GroupScales<Neon> {
  static constexpr int kPairs = 2;
  using X = int8_t;
  /// Loads the weights of 4 outputs for four k; each output's four weights become adjacent bytes.
  static I pairs(const uint8_t* p) {
    const uint8x8_t first = vld1_u8(p), second = vld1_u8(p + 2 * kPanel);
    return vreinterpretq_s32_u16(
        vcombine_u16(vzip1_u16(vreinterpret_u16_u8(first), vreinterpret_u16_u8(second)),
                     vzip2_u16(vreinterpret_u16_u8(first), vreinterpret_u16_u8(second))));
  }
  static I set1_pair(const int8_t* p) { return set1_quad(p); }
  static void madd(I& c, I a, I b) {
    c = vdotq_s32(c, vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b));
  }
};

struct Nibbles : Neon {
  static I dot(I w, I x, I c) {
    return vdotq_s32(c, vreinterpretq_s8_s32(w), vreinterpretq_s8_s32(x));
  }
  static I total(I c) { return c; }
};

}  // namespace

void use_neondot(GemmKernels& kernels) {
  kernels.products_q8a8 = products_q8<Bytes>;
  kernels.products_q4 = products_q4<Nibbles>;
  kernels.quantize_groups = quantize_groups<Bytes>;
}

}  // namespace syrinx::cpu
