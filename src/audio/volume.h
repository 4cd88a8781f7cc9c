// Louder or softer. Each sample by itself, so that it makes no difference how a stream is cut.
#pragma once

#include <span>
#include <vector>

namespace syrinx {

constexpr double kMinVolume = 0.1, kMaxVolume = 4;  ///< factors: -20 dB to +12 dB

/// Samples of the range [-1, 1] times `volume`. Nothing is clipped: where a factor above 1 takes a
/// sample past 0.8 it approaches 1 along a tanh, which sounds fuller before it sounds broken. A
/// factor of at most 1 is exact. `out` is overwritten.
void change_volume(std::span<const float> samples, double volume, std::vector<float>& out);

}  // namespace syrinx
