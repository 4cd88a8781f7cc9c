// The loudness of a recording by ITU-R BS.1770-4 (as pyloudnorm 0.2 computes it), and scaling to a
// given loudness. Free functions; any thread. One channel.
#pragma once

#include <optional>
#include <span>

namespace syrinx {

/// Returns the integrated loudness in LUFS of samples at `rate` Hz. Empty if the standard does not
/// define it: for less than 0.4 s, or if all blocks are below -70 LUFS.
std::optional<double> loudness(std::span<const float> samples, int rate);

/// Scales the samples to a loudness of `target` LUFS. Does nothing if their loudness is
/// undefined.
void bring_to_loudness(std::span<float> samples, int rate, double target);

}  // namespace syrinx
