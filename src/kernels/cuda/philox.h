// The counter-based random numbers of sample.h (Philox 4x32-10, Salmon et al., SC 2011) in plain
// arithmetic for the device. A test compares them with the CPU's numbers.
#pragma once

#include <cstdint>

namespace syrinx::cuda {

/// Computes philox_uniform() of sample.h: a number in [0, 1) with 24 bits.
constexpr float device_uniform(uint64_t seed, uint32_t step, uint32_t codebook, uint32_t stream) {
  uint32_t c[4] = {step, codebook, stream, 0};
  uint32_t key[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * c[0], b = uint64_t{0xCD9E8D57u} * c[2];
    const uint32_t next[4] = {
        static_cast<uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(b),
        static_cast<uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(a)};
    for (int i = 0; i < 4; ++i) c[i] = next[i];
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return static_cast<float>(c[0] >> 8) * 0x1p-24f;
}

/// Map the bits of floats to unsigned integers that sort like the floats (keys), and back.
constexpr uint32_t order_of(uint32_t bits) {
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
constexpr uint32_t bits_of_order(uint32_t order) {
  return order & 0x80000000u ? order & 0x7fffffffu : ~order;
}

}  // namespace syrinx::cuda
