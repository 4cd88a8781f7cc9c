// Resamples a recording as torchaudio does by default. Each new sample is a weighted sum of old
// samples. The weights are a sinc in a Hann window with six zeros on each side, which passes 99 %
// of the lower rate's band. Source of the formula: torchaudio.functional.resample. Any thread.
#pragma once

#include <span>
#include <vector>

namespace syrinx {

/// Returns ceil(n * out / in) samples; rates are in Hz, above 0. Samples before and after the
/// recording count as zeros.
std::vector<float> hann_resampled(std::span<const float> samples, int in_rate_hz, int out_rate_hz);

}  // namespace syrinx
