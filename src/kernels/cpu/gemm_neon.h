// Vectors of NEON for gemm_impl.h. Every aarch64 has NEON. Only for files compiled for aarch64.
#pragma once

#include <arm_neon.h>

#include "kernels/cpu/gemm_impl.h"

namespace syrinx::cpu {
namespace {

struct Neon {
  static constexpr int kLanes = 4, kUnroll = 4, kTileRows = 6, kTilePanels = 1;
  using F = float32x4_t;
  using I = int32x4_t;
  static F load(const float* p) { return vld1q_f32(p); }
  static void store(float* p, F v) { vst1q_f32(p, v); }
  static F first_of(const uint16_t* p) {
    return vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_u16(vld1q_u16(p)), 16));
  }
  static F second_of(const uint16_t* p) {
    const uint32x4_t both = vreinterpretq_u32_u16(vld1q_u16(p));
    return vreinterpretq_f32_u32(vandq_u32(both, vdupq_n_u32(0xffff0000)));
  }
  static void widen(const uint16_t* p, F (&w)[4]) {
    w[0] = first_of(p);
    w[1] = first_of(p + 8);
    w[2] = second_of(p);
    w[3] = second_of(p + 8);
  }
  static F split(const uint16_t* p, bool second) { return second ? second_of(p) : first_of(p); }
  static F set1(float v) { return vdupq_n_f32(v); }
  static F add(F a, F b) { return vaddq_f32(a, b); }
  static F mul(F a, F b) { return vmulq_f32(a, b); }
  static F div(F a, F b) { return vdivq_f32(a, b); }
  // As on x86, returns the second operand if one operand is NaN.
  static F max(F a, F b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
  static F min(F a, F b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
  static F fma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
  static F round(F v) { return vrndnq_f32(v); }
  static float largest(F v) { return vmaxvq_f32(v); }
  static float sum(F v) { return vaddvq_f32(v); }
  static F pow2(F n) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127)), 23));
  }
  static I set1_i(int32_t v) { return vdupq_n_s32(v); }
  /// Puts the first number of each pair into the lower half and the second into the upper half:
  /// products of int16 then need no sum across lanes.
  static I pairs(const uint8_t* p) {
    const int8x8_t order = vcreate_s8(0x0705030106040200);
    const int8x8_t apart = vtbl1_s8(vld1_s8(reinterpret_cast<const int8_t*>(p)), order);
    return vreinterpretq_s32_s16(vmovl_s8(apart));
  }
  static I set1_pair(const int16_t* p) {
    int both;
    __builtin_memcpy(&both, p, 4);
    return vdupq_n_s32(both);
  }
  static void madd(I& c, I a, I b) {
    const int16x4_t x = vget_low_s16(vreinterpretq_s16_s32(a));
    const int16x8_t w = vreinterpretq_s16_s32(b);
    c = vmlal_high_lane_s16(vmlal_lane_s16(c, vget_low_s16(w), x, 0), w, x, 1);
  }
  static F to_f(I v) { return vcvtq_f32_s32(v); }
  static void nibbles(const uint8_t* p, I& low, I& high) {
    const uint8x16_t both = vld1q_u8(p);
    low = vreinterpretq_s32_u8(vandq_u8(both, vdupq_n_u8(15)));
    high = vreinterpretq_s32_u8(vshrq_n_u8(both, 4));
  }
  static I set1_quad(const int8_t* p) {
    int four;
    __builtin_memcpy(&four, p, 4);
    return vdupq_n_s32(four);
  }
  // Sums of pairs are int16; a sum of 8 pairs is at most 30480.
  static I dot(I w, I x, I c) {
    const int8x16_t a = vreinterpretq_s8_s32(w), b = vreinterpretq_s8_s32(x);
    const int16x8_t first = vmull_s8(vget_low_s8(a), vget_low_s8(b));
    const int16x8_t sums = vpaddq_s16(first, vmull_high_s8(a, b));
    return vreinterpretq_s32_s16(vaddq_s16(vreinterpretq_s16_s32(c), sums));
  }
  static I total(I c) { return vpaddlq_s16(vreinterpretq_s16_s32(c)); }
  static F f16(const uint16_t* p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
  static F u8(const uint8_t* p) {
    uint32_t four;
    __builtin_memcpy(&four, p, 4);
    const uint16x8_t wide = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(four)));
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(wide)));
  }
  static void store_i16(int16_t* p, F v) { vst1_s16(p, vqmovn_s32(vcvtnq_s32_f32(v))); }
};

}  // namespace
}  // namespace syrinx::cpu
