// Random numbers of torch's CPU generator, for models with a fixed seed.
// Formula: pytorch:aten/src/ATen/native/cpu/DistributionTemplates.h (normal_fill) over MT19937.
#pragma once

#include <cstdint>
#include <span>

namespace syrinx {

/// Computes torch.manual_seed(seed); torch.randn(out.size()), within 1e-6. The size must be a
/// multiple of 16 and at least 16, because torch uses another method for other sizes.
void torch_randn(uint32_t seed, std::span<float> out);

}  // namespace syrinx
