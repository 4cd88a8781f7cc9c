// Uniform numbers of Philox 4x32-10 (kernels/sample.h), many at once. Any thread.
#pragma once

#include <cstdint>
#include <span>

namespace syrinx {

/// Writes number i of Philox(seed, step, stream) to out[i]: uniform in [0, 1), 24 bits. For the
/// noise of vocoders.
void philox_uniforms(uint64_t seed, uint32_t step, uint32_t stream, std::span<float> out);

}  // namespace syrinx
