// For x86-64 without AVX2, and for processors other than x86-64 and aarch64: plain loops that the
// compiler vectorises for the base instruction set. Multiply and add are not fused. The warning is
// disabled because vectors of 32 bytes are not passed to other files.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "kernels/cpu/gemm_impl.h"

namespace syrinx::cpu {
namespace {

#if defined(__x86_64__) || defined(__aarch64__)
constexpr int kRows = 3;  // only tests and machines before 2014 use it, so less is compiled
#else
constexpr int kRows = 6;
#endif

struct Portable {
  static constexpr int kLanes = 8, kUnroll = 1, kTileRows = kRows, kTilePanels = 1;
  typedef float F __attribute__((vector_size(32)));
  typedef int32_t I __attribute__((vector_size(32)));

  static F load(const float* p) {
    F v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
  static void store(float* p, F v) { __builtin_memcpy(p, &v, sizeof v); }
  static F bits(I v) { return reinterpret_cast<F>(v); }
  static void widen(const uint16_t* p, F (&w)[2]) {
    I both;
    __builtin_memcpy(&both, p, sizeof both);
    w[0] = bits(both << 16);
    w[1] = bits(both & -65536);
  }
  static F split(const uint16_t* p, bool second) {
    I both;
    __builtin_memcpy(&both, p, sizeof both);
    return bits(second ? both & -65536 : both << 16);
  }
  static F set1(float v) { return F{} + v; }
  static F add(F a, F b) { return a + b; }
  static F mul(F a, F b) { return a * b; }
  static F div(F a, F b) { return a / b; }
  static F max(F a, F b) { return a > b ? a : b; }
  static F min(F a, F b) { return a < b ? a : b; }
  static F fma(F a, F b, F c) { return a * b + c; }
  static F round(F v) {
    // Adding 1.5 * 2^23 leaves the nearest integer in the low bits; |v| < 2^22 here.
    const F magic = set1(12582912.0f);
    return (v + magic) - magic;
  }
  static float largest(F v) {
    float top = v[0];
    for (int i = 1; i < 8; ++i) top = v[i] > top ? v[i] : top;
    return top;
  }
  static float sum(F v) {
    float sum = v[0];
    for (int i = 1; i < 8; ++i) sum += v[i];
    return sum;
  }
  static F pow2(F n) { return bits((__builtin_convertvector(n, I) + 127) << 23); }
  static I set1_i(int32_t v) { return I{} + v; }
  static I pairs(const uint8_t* p) {
    // Converts two adjacent int8 to two int16 in one int32, as the vector code does.
    I out;
    for (int i = 0; i < 8; ++i) {
      const auto low = static_cast<int8_t>(p[2 * i]), high = static_cast<int8_t>(p[2 * i + 1]);
      out[i] = (low & 0xffff) | high * 65536;
    }
    return out;
  }
  static I set1_pair(const int16_t* p) {
    int32_t both;
    __builtin_memcpy(&both, p, sizeof both);
    return I{} + both;
  }
  static void madd(I& c, I a, I b) {
    c += (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
  }
  static F to_f(I v) { return __builtin_convertvector(v, F); }
  static void nibbles(const uint8_t* p, I& low, I& high) {
    I both;
    __builtin_memcpy(&both, p, sizeof both);
    low = both & 0x0f0f0f0f;
    high = both >> 4 & 0x0f0f0f0f;
  }
  static I set1_quad(const int8_t* p) {
    int32_t four;
    __builtin_memcpy(&four, p, sizeof four);
    return I{} + four;
  }
  static I dot(I w, I x, I c) {
    for (int shift = 24; shift >= 0; shift -= 8) c += (w << shift >> 24) * (x << shift >> 24);
    return c;
  }
  static I total(I c) { return c; }
  static F f16(const uint16_t* p) {
    // Scales are positive and finite, so the factor 2^112 converts the exponent from f16 to f32.
    I wide;
    for (int i = 0; i < 8; ++i) wide[i] = p[i];
    return bits(wide << 13) * set1(0x1p112f);
  }
  static F u8(const uint8_t* p) {
    I wide;
    for (int i = 0; i < 8; ++i) wide[i] = p[i];
    return to_f(wide);
  }
  static void store_i16(int16_t* p, F v) {
    for (int i = 0; i < 8; ++i) p[i] = static_cast<int16_t>(v[i]);
  }
};

}  // namespace

const GemmKernels& gemm_kernels_portable() { return kKernels<Portable>; }

}  // namespace syrinx::cpu
