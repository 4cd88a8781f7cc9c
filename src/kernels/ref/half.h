// Conversions of single f16 and bf16 numbers, plain arithmetic for any machine.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace syrinx::ref {

inline float bf16_to_f32(uint16_t h) { return std::bit_cast<float>(uint32_t{h} << 16); }

/// Rounds to nearest even; NaN stays NaN.
inline uint16_t f32_to_bf16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return static_cast<uint16_t>((u >> 16) | 0x40);
  return static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

inline float f16_to_f32(uint16_t h) {
  const uint32_t sign = uint32_t{h & 0x8000u} << 16;
  const uint32_t e = (h >> 10) & 31, m = h & 0x3ff;
  if (e == 31) return std::bit_cast<float>(sign | 0x7f800000u | (m << 13));
  if (e == 0) {
    const float tiny = static_cast<float>(m) * 0x1p-24f;
    return sign ? -tiny : tiny;
  }
  return std::bit_cast<float>(sign | ((e + 112) << 23) | (m << 13));
}

/// Rounds to nearest even; beyond 65504 infinite; NaN stays NaN.
inline uint16_t f32_to_f16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  const uint16_t sign = static_cast<uint16_t>((u >> 16) & 0x8000);
  const uint32_t a = u & 0x7fffffff;
  if (a > 0x7f800000) return sign | 0x7e00;
  if (a >= 0x477ff000) return sign | 0x7c00;  // rounds to 65536 or more
  if (a < 0x38800000) {                       // denormal: let the adder round at 2^-24
    const float scaled = std::bit_cast<float>(a) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(scaled) - 0x3f000000u));
  }
  const uint32_t rounded = a + 0xfff + ((a >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

}  // namespace syrinx::ref
