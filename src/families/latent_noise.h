// The noise from which a head makes latents. Header only; any thread.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/sample.h"
#include "tensor/context.h"

namespace syrinx {

/// The noise of a request's next latent: `scale` times philox_normal() of the request's seed and
/// the number of its latents so far.
struct LatentNoise {
  uint64_t seed = 0;
  int64_t latent = 0;
  float scale = 1;
};

/// Draws the noise [states, width] of sequences that have a LatentNoise noise(), in ctx.host.
template <typename State>
std::span<float> draw_noise(StepContext& ctx, std::span<State* const> states, int64_t width) {
  constexpr uint32_t kNoiseStream = 0;
  const std::span<float> all = take_array<float>(ctx, std::ssize(states) * width);
  for (size_t i = 0; i < states.size(); ++i) {
    const LatentNoise noise = states[i]->noise();
    const std::span<float> own =
        all.subspan(i * static_cast<size_t>(width), static_cast<size_t>(width));
    philox_normal(noise.seed, static_cast<uint32_t>(noise.latent), kNoiseStream, own);
    for (float& x : own) x *= noise.scale;
  }
  return all;
}

}  // namespace syrinx
