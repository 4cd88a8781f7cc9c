// Scalar conversions between f32 and the 16-bit float types. Widening is exact, narrowing rounds to
// nearest even, and NaN stays NaN. Loops over these functions can be vectorised. Kernels have their
// own vector versions.
#pragma once

#include <bit>
#include <cstdint>

namespace syrinx {

inline float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

/// Rounds to the nearest bf16, ties to even; returns its bits.
inline uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, nan = bits >> 16 | 0x40;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : nearest);
}

/// Converts the bits of an f16, exactly.
inline float f16_to_f32(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16, rest = bits & 0x7fffu;
  // The factor 2^112 converts the exponent bias of f16 to that of f32, also for subnormal numbers.
  const float finite = std::bit_cast<float>(rest << 13) * 0x1p112f;
  const uint32_t magnitude =
      rest >= 0x7c00 ? 0x7f800000u | (rest & 0x3ff) << 13 : std::bit_cast<uint32_t>(finite);
  return std::bit_cast<float>(magnitude | sign);
}

/// Rounds to the nearest f16, ties to even; numbers beyond 65504 become infinite.
inline uint16_t f32_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffffu;
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  if (magnitude > 0x7f800000u) return sign | 0x7e00;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00;  // rounds to 65536 or more, i.e. infinity
  if (magnitude < 0x38800000u) {  // subnormal: adding 0.5 rounds to a multiple of 2^-24
    const float scaled = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(scaled) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

}  // namespace syrinx
