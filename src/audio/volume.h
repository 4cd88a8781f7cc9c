// Changes the volume. Each sample is computed separately, so a stream may be cut anywhere.
#pragma once

#include <span>
#include <vector>

namespace syrinx {

constexpr double kMinVolume = 0.1, kMaxVolume = 4;  ///< factors: -20 dB to +12 dB

/// Multiplies samples in [-1, 1] by `volume`. Does not clip: if a factor above 1 takes a sample
/// past 0.8, the sample approaches 1 along a tanh, which distorts less than clipping. A factor of
/// at most 1 is exact. Overwrites `out`.
void change_volume(std::span<const float> samples, double volume, std::vector<float>& out);

}  // namespace syrinx
