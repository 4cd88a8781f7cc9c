// audio/resampler.h where FFmpeg is left out (SYRINX_MEDIA=OFF): recordings at a model's own rate.
#include "audio/resampler.h"

#include "base/check.h"

namespace syrinx {

std::vector<float> resampled(std::span<const float> samples, int in_rate_hz, int out_rate_hz) {
  SYRINX_CHECK(in_rate_hz == out_rate_hz, "[resampled] this build cannot change ", in_rate_hz,
               " Hz to ", out_rate_hz, " Hz: it has no FFmpeg");
  return {samples.begin(), samples.end()};
}

}  // namespace syrinx
