// Implements audio/resampler.h in builds without FFmpeg (SYRINX_MEDIA=OFF). Changes rates only by
// the method kHann; with the other methods, a recording must already have the model's rate.
#include "audio/resampler.h"

#include "audio/hann_resampler.h"
#include "base/check.h"

namespace syrinx {

void Resampler::Free::operator()(SwrContext*) const {}
Resampler::Resampler(int in_rate_hz, int out_rate_hz, Resampling how)
    : in_rate_hz_(in_rate_hz), out_rate_hz_(out_rate_hz), how_(how) {
  SYRINX_CHECK(in_rate_hz == out_rate_hz, "[resampler] this build cannot change ", in_rate_hz,
               " Hz to ", out_rate_hz, " Hz: it has no FFmpeg");
}
Resampler::~Resampler() = default;
void Resampler::push(std::span<const float> samples, std::vector<float>& out) {
  out.insert(out.end(), samples.begin(), samples.end());
}
void Resampler::flush(std::vector<float>&) {}

std::vector<float> resampled(std::span<const float> samples, int in_rate_hz, int out_rate_hz,
                             Resampling how) {
  if (how == Resampling::kHann) return hann_resampled(samples, in_rate_hz, out_rate_hz);
  SYRINX_CHECK(in_rate_hz == out_rate_hz, "[resampled] this build cannot change ", in_rate_hz,
               " Hz to ", out_rate_hz, " Hz: it has no FFmpeg");
  return {samples.begin(), samples.end()};
}

}  // namespace syrinx
