// How loud a recording is to a listener, by ITU-R BS.1770-4 (as pyloudnorm 0.2 computes it), and
// bringing it to a given loudness. Free functions; any thread. One channel.
#pragma once

#include <optional>
#include <span>

namespace syrinx {

/// Integrated loudness in LUFS of samples at `rate` Hz. Unset where the standard has none: for less
/// than 0.4 s, and where all of it is below -70 LUFS.
std::optional<double> loudness(std::span<const float> samples, int rate);

/// Scales the samples so that their loudness is `target` LUFS; those without one stay.
void bring_to_loudness(std::span<float> samples, int rate, double target);

}  // namespace syrinx
