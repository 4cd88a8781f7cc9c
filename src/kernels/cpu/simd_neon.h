// The vectors of simd.h for NEON, as two halves of 4 lanes. Each function has the bits of the
// simd_avx2.h function of the same name, except the bits of a NaN. Only simd.h includes it.
#pragma once

struct V8 {  // 8 floats
  float32x4_t low, high;
};
struct I8 {  // 8 int32
  int32x4_t low, high;
};
struct Mask {  // each lane is all ones or all zeros
  uint32x4_t low, high;
};
using Pair = int16x4_t;  // two int16, repeated
struct Pairs {
  int16x8_t first, second;
};

SYRINX_INLINE V8 load(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }
SYRINX_INLINE V8 load(const uint16_t* f16) {
  const float16x8_t v = vreinterpretq_f16_u16(vld1q_u16(f16));
  return {vcvt_f32_f16(vget_low_f16(v)), vcvt_high_f32_f16(v)};
}
SYRINX_INLINE V8 widen_bf16(uint16x8_t v) {
  return {vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(v), 16)),
          vreinterpretq_f32_u32(vshll_high_n_u16(v, 16))};
}
SYRINX_INLINE V8 load_bf16(const uint16_t* p) { return widen_bf16(vld1q_u16(p)); }
SYRINX_INLINE void store(float* p, V8 v) {
  vst1q_f32(p, v.low);
  vst1q_f32(p + 4, v.high);
}
SYRINX_INLINE void store_f16(uint16_t* p, V8 v) {
  vst1q_u16(p, vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(v.low), v.high)));
}
SYRINX_INLINE float first(V8 v) { return vgetq_lane_f32(v.low, 0); }
SYRINX_INLINE V8 all(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x)}; }
SYRINX_INLINE V8 fma(V8 a, V8 b, V8 c) {
  return {vfmaq_f32(c.low, a.low, b.low), vfmaq_f32(c.high, a.high, b.high)};
}
SYRINX_INLINE V8 fnma(V8 a, V8 b, V8 c) {
  return {vfmsq_f32(c.low, a.low, b.low), vfmsq_f32(c.high, a.high, b.high)};
}
SYRINX_INLINE V8 add(V8 a, V8 b) { return {vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)}; }
SYRINX_INLINE V8 sub(V8 a, V8 b) { return {vsubq_f32(a.low, b.low), vsubq_f32(a.high, b.high)}; }
SYRINX_INLINE V8 mul(V8 a, V8 b) { return {vmulq_f32(a.low, b.low), vmulq_f32(a.high, b.high)}; }
SYRINX_INLINE V8 div(V8 a, V8 b) { return {vdivq_f32(a.low, b.low), vdivq_f32(a.high, b.high)}; }
// NEON's own max and min differ from these if one number is NaN or both numbers are zeros.
SYRINX_INLINE float32x4_t max(float32x4_t a, float32x4_t b) {
  return vbslq_f32(vcgtq_f32(a, b), a, b);
}
SYRINX_INLINE V8 max(V8 a, V8 b) { return {max(a.low, b.low), max(a.high, b.high)}; }
SYRINX_INLINE V8 min(V8 a, V8 b) {
  return {vbslq_f32(vcltq_f32(a.low, b.low), a.low, b.low),
          vbslq_f32(vcltq_f32(a.high, b.high), a.high, b.high)};
}
SYRINX_INLINE V8 round(V8 x) { return {vrndnq_f32(x.low), vrndnq_f32(x.high)}; }
SYRINX_INLINE V8 magnitude(V8 x) { return {vabsq_f32(x.low), vabsq_f32(x.high)}; }
SYRINX_INLINE V8 negative(V8 x) { return {vnegq_f32(x.low), vnegq_f32(x.high)}; }
SYRINX_INLINE V8 sign(V8 x) {
  const uint32x4_t bit = vdupq_n_u32(0x80000000);
  return {vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(x.low), bit)),
          vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(x.high), bit))};
}
SYRINX_INLINE V8 with_sign(V8 magnitude, V8 sign) {
  return {vreinterpretq_f32_u32(
              vorrq_u32(vreinterpretq_u32_f32(magnitude.low), vreinterpretq_u32_f32(sign.low))),
          vreinterpretq_f32_u32(
              vorrq_u32(vreinterpretq_u32_f32(magnitude.high), vreinterpretq_u32_f32(sign.high)))};
}
SYRINX_INLINE float sum(V8 v) {
  const float32x4_t four = vaddq_f32(v.low, v.high);
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
SYRINX_INLINE float largest(V8 v) {
  float32x4_t s = max(v.low, v.high);
  s = max(s, vextq_f32(s, s, 2));
  return vgetq_lane_f32(max(s, vextq_f32(s, s, 1)), 0);
}

SYRINX_INLINE Mask less(V8 a, V8 b) { return {vcltq_f32(a.low, b.low), vcltq_f32(a.high, b.high)}; }
SYRINX_INLINE Mask more(V8 a, V8 b) { return less(b, a); }
SYRINX_INLINE Mask at_least(V8 a, V8 b) {
  return {vcgeq_f32(a.low, b.low), vcgeq_f32(a.high, b.high)};
}
SYRINX_INLINE Mask not_less(V8 a, V8 b) {
  return {vmvnq_u32(vcltq_f32(a.low, b.low)), vmvnq_u32(vcltq_f32(a.high, b.high))};
}
SYRINX_INLINE Mask both(Mask a, Mask b) {
  return {vandq_u32(a.low, b.low), vandq_u32(a.high, b.high)};
}
SYRINX_INLINE V8 select(Mask mask, V8 yes, V8 no) {
  return {vbslq_f32(mask.low, yes.low, no.low), vbslq_f32(mask.high, yes.high, no.high)};
}
SYRINX_INLINE V8 keep(Mask mask, V8 v) { return select(mask, v, all(0)); }
SYRINX_INLINE int lanes_of(Mask mask) {
  static constexpr uint32_t kBits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
  const uint32x4_t bits =
      vorrq_u32(vandq_u32(mask.low, vld1q_u32(kBits)), vandq_u32(mask.high, vld1q_u32(kBits + 4)));
  return static_cast<int>(vaddvq_u32(bits));
}
SYRINX_INLINE Mask lanes_within(int64_t at, int64_t low, int64_t high) {
  static constexpr int32_t kLanes[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  const int32x4_t from = vdupq_n_s32(static_cast<int>(low - at)),
                  to = vdupq_n_s32(static_cast<int>(high - at));
  const int32x4_t a = vld1q_s32(kLanes), b = vld1q_s32(kLanes + 4);
  return {vandq_u32(vcgeq_s32(a, from), vcltq_s32(a, to)),
          vandq_u32(vcgeq_s32(b, from), vcltq_s32(b, to))};
}
SYRINX_INLINE Mask first_lanes(int64_t n) { return lanes_within(0, 0, n); }
SYRINX_INLINE V8 load_part(const float* p, int64_t n) {
  float part[8] = {};
  for (int64_t i = 0; i < n; ++i) part[i] = p[i];
  return load(part);
}
SYRINX_INLINE void store_part(float* p, V8 v, int64_t n) {
  float part[8];
  store(part, v);
  for (int64_t i = 0; i < n; ++i) p[i] = part[i];
}

SYRINX_INLINE I8 load(const int32_t* p) { return {vld1q_s32(p), vld1q_s32(p + 4)}; }
SYRINX_INLINE void store(int32_t* p, I8 v) {
  vst1q_s32(p, v.low);
  vst1q_s32(p + 4, v.high);
}
SYRINX_INLINE I8 all_int(int x) { return {vdupq_n_s32(x), vdupq_n_s32(x)}; }
SYRINX_INLINE I8 sub(I8 a, I8 b) { return {vsubq_s32(a.low, b.low), vsubq_s32(a.high, b.high)}; }
SYRINX_INLINE I8 max(I8 a, I8 b) { return {vmaxq_s32(a.low, b.low), vmaxq_s32(a.high, b.high)}; }
SYRINX_INLINE I8 half(I8 a) { return {vshrq_n_s32(a.low, 1), vshrq_n_s32(a.high, 1)}; }
SYRINX_INLINE I8 to_int(V8 v) { return {vcvtnq_s32_f32(v.low), vcvtnq_s32_f32(v.high)}; }
SYRINX_INLINE V8 to_float(I8 v) { return {vcvtq_f32_s32(v.low), vcvtq_f32_s32(v.high)}; }
SYRINX_INLINE I8 magnitude_bits(V8 x) {
  const V8 m = magnitude(x);
  return {vreinterpretq_s32_f32(m.low), vreinterpretq_s32_f32(m.high)};
}
SYRINX_INLINE float largest_bits(I8 v) {
  const int32_t top = vmaxvq_s32(vmaxq_s32(v.low, v.high));
  return vgetq_lane_f32(vreinterpretq_f32_s32(vdupq_n_s32(top)), 0);
}
SYRINX_INLINE float32x4_t pow2(int32x4_t n) {
  return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
}
SYRINX_INLINE V8 pow2(I8 n) { return {pow2(n.low), pow2(n.high)}; }
SYRINX_INLINE int16x8_t as_int16(V8 v) {
  const I8 n = to_int(v);
  return vqmovn_high_s32(vqmovn_s32(n.low), n.high);
}
SYRINX_INLINE void store_int16(int16_t* p, V8 v) { vst1q_s16(p, as_int16(v)); }
SYRINX_INLINE void store_int8(int8_t* p, V8 v) { vst1_s8(p, vqmovn_s16(as_int16(v))); }

SYRINX_INLINE Pair all_pair(const int16_t* p) {
  int32_t pair;
  __builtin_memcpy(&pair, p, 4);
  return vreinterpret_s16_s32(vdup_n_s32(pair));
}
SYRINX_INLINE Pairs load_pairs(const char* p) {
  const int8x8x2_t v = vld2_s8(reinterpret_cast<const int8_t*>(p));
  return {vmovl_s8(v.val[0]), vmovl_s8(v.val[1])};
}
SYRINX_INLINE I8 add_products(Pair x, Pairs y, I8 c) {
  c.low = vmlal_lane_s16(c.low, vget_low_s16(y.first), x, 0);
  c.low = vmlal_lane_s16(c.low, vget_low_s16(y.second), x, 1);
  c.high = vmlal_high_lane_s16(c.high, y.first, x, 0);
  c.high = vmlal_high_lane_s16(c.high, y.second, x, 1);
  return c;
}

SYRINX_INLINE uint16x4_t to_bf16(float32x4_t v) {
  const uint32x4_t bits = vreinterpretq_u32_f32(v);
  const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
  const uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
  // The addition could change a NaN to a number.
  const uint32x4_t nan = vorrq_u32(bits, vdupq_n_u32(0x400000));
  return vshrn_n_u32(vbslq_u32(vceqq_f32(v, v), rounded, nan), 16);
}
SYRINX_INLINE uint16x8_t halves(V8 v) { return vcombine_u16(to_bf16(v.low), to_bf16(v.high)); }
SYRINX_INLINE V8 to_bf16(V8 v) { return widen_bf16(halves(v)); }
SYRINX_INLINE void store_bf16(uint16_t* p, V8 v) { vst1q_u16(p, halves(v)); }
struct FloatPairs {
  V8 first, second;
};
SYRINX_INLINE FloatPairs load_bf16_pairs(const uint16_t* p) {
  const uint16x8x2_t v = vld2q_u16(p);
  return {widen_bf16(v.val[0]), widen_bf16(v.val[1])};
}
