// Philox 4x32-10: the random numbers of sampling and of noise.
#include <cmath>
#include <numbers>

#include "kernels/sample.h"
#include "kernels/uniforms.h"

namespace syrinx {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * c[0], b = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return c;
}

namespace {
std::array<uint32_t, 2> key_of(uint64_t seed) {
  return {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
}
}  // namespace

float philox_uniform(uint64_t seed, uint32_t step, uint32_t codebook, uint32_t stream) {
  return static_cast<float>(philox({step, codebook, stream, 0}, key_of(seed))[0] >> 8) * 0x1p-24f;
}

void philox_uniforms(uint64_t seed, uint32_t step, uint32_t stream, std::span<float> out) {
  for (size_t i = 0; i < out.size(); i += 4) {
    const auto bits = philox({step, static_cast<uint32_t>(i / 4), stream, 2}, key_of(seed));
    for (size_t j = 0; j < 4 && i + j < out.size(); ++j)
      out[i + j] = static_cast<float>(bits[j] >> 8) * 0x1p-24f;
  }
}

void philox_normal(uint64_t seed, uint32_t step, uint32_t stream, std::span<float> out) {
  for (size_t i = 0; i < out.size(); i += 4) {
    const auto bits = philox({step, static_cast<uint32_t>(i / 4), stream, 1}, key_of(seed));
    for (size_t j = 0; j < 4 && i + j < out.size(); ++j) {
      const double u = (bits[j & ~size_t{1}] + 0.5) * 0x1p-32;  // greater than 0
      const double angle = 2 * std::numbers::pi * bits[j | 1] * 0x1p-32;
      const double radius = std::sqrt(-2 * std::log(u));
      out[i + j] = static_cast<float>(radius * (j % 2 ? std::sin(angle) : std::cos(angle)));
    }
  }
}

}  // namespace syrinx
