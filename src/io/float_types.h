// Scalar conversions between f32 and the 16-bit float types of checkpoints, exact in widening and
// rounding to nearest even in narrowing. For loading; the kernels have vector forms of their own.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace syrinx {

inline float bf16_to_f32(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// Not-a-number stays not-a-number.
inline uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 31u, fraction = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | fraction << 13);
  const float small = static_cast<float>(fraction) * 0x1p-24f;  // zero and subnormal numbers
  return sign ? -small : small;
}

}  // namespace syrinx
