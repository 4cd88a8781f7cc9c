// A toy model whose steps yield latents, like models with a diffusion head, for tests of values
// beside codes and of guidance by phase. First it takes a few steps without guidance. Then it makes
// three latents for every byte of its text, guided if the request uses guidance. Each latent is fed
// back and becomes ten samples.
#pragma once

#include <memory>

#include "model/pipeline.h"

namespace syrinx {

inline constexpr int kLatentThoughts = 5, kLatentsAByte = 3, kLatentSamples = 10;

/// Makes the toy pipeline. A text with '^' yields values that are not finite.
std::shared_ptr<const Pipeline> make_latent_pipeline();

}  // namespace syrinx
