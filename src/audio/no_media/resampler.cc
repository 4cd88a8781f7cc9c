// audio/resampler.h where FFmpeg is left out (SYRINX_MEDIA=OFF): recordings at a model's own rate,
// and those whose rate is changed by code of our own.
#include "audio/resampler.h"

#include "audio/hann_resampler.h"
#include "base/check.h"

namespace syrinx {

std::vector<float> resampled(std::span<const float> samples, int in_rate_hz, int out_rate_hz,
                             Resampling how) {
  if (how == Resampling::kHann) return hann_resampled(samples, in_rate_hz, out_rate_hz);
  SYRINX_CHECK(in_rate_hz == out_rate_hz, "[resampled] this build cannot change ", in_rate_hz,
               " Hz to ", out_rate_hz, " Hz: it has no FFmpeg");
  return {samples.begin(), samples.end()};
}

}  // namespace syrinx
