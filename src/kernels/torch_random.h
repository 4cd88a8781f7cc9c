// Random numbers as torch's CPU generator gives them, for models that fix theirs by a seed.
// Formula: pytorch:aten/src/ATen/native/cpu/DistributionTemplates.h (normal_fill) over MT19937.
#pragma once

#include <cstdint>
#include <span>

namespace syrinx {

/// out = torch.manual_seed(seed); torch.randn(out.size()), within 1e-6. At least 16 numbers, a
/// multiple of 16: torch makes others in another way.
void torch_randn(uint32_t seed, std::span<float> out);

}  // namespace syrinx
