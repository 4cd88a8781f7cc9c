// A recording at another rate as torchaudio's resampling does it by default: each new
// sample is a sum over the old ones by a sinc in a Hann window, six zeros a side, that lets 99 % of
// the lower rate's band through. Source of the formula: torchaudio.functional.resample. Any thread.
#pragma once

#include <span>
#include <vector>

namespace syrinx {

/// ceil(n * out / in) samples; rates in Hz, above 0. Silence stands before and behind the
/// recording.
std::vector<float> hann_resampled(std::span<const float> samples, int in_rate_hz, int out_rate_hz);

}  // namespace syrinx
