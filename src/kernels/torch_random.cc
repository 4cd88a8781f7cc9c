#include "kernels/torch_random.h"

#include <cmath>
#include <numbers>
#include <random>

#include "base/check.h"

namespace syrinx {

void torch_randn(uint32_t seed, std::span<float> out) {
  constexpr size_t kBlock = 16;
  SYRINX_CHECK(!out.empty() && out.size() % kBlock == 0,
               "[torch_randn] the size must be a multiple of ", kBlock, ", got ", out.size());
  std::mt19937 engine(seed);
  for (float& value : out) value = static_cast<float>(engine() & 0xFFFFFFu) * 0x1p-24f;
  for (size_t i = 0; i < out.size(); i += kBlock) {
    for (size_t j = i; j < i + kBlock / 2; ++j) {
      const float radius = std::sqrt(-2 * std::log(1 - out[j]));
      const float angle = 2 * std::numbers::pi_v<float> * out[j + kBlock / 2];
      out[j] = radius * std::cos(angle);
      out[j + kBlock / 2] = radius * std::sin(angle);
    }
  }
}

}  // namespace syrinx
