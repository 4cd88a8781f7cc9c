#include "audio/hann_resampler.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>

#include "base/check.h"

namespace syrinx {
namespace {

constexpr double kZeros = 6, kBand = 0.99;

/// The weights of the old samples from which a new sample is computed. `first` is the index of the
/// first weighted old sample, counted from the beginning of the period; it may be negative.
struct Taps {
  int64_t first;
  std::vector<float> weights;
};

/// Returns the weights of new sample number `phase` of a period. A period has `in` old samples and
/// `out` new samples.
Taps taps_of(int64_t phase, int64_t in, int64_t out) {
  const double zeros_per_sample = kBand * static_cast<double>(std::min(in, out)) / in;
  // The position in old samples. torchaudio computes the fraction of the period in float32.
  const double place =
      static_cast<double>(static_cast<float>(phase) / static_cast<float>(out)) * in;
  const double reach = kZeros / zeros_per_sample;
  Taps taps{static_cast<int64_t>(std::ceil(place - reach)), {}};
  for (int64_t i = taps.first; i <= place + reach; ++i) {
    const double x = (i - place) * zeros_per_sample * std::numbers::pi;
    const double window = std::cos(x / kZeros / 2);
    const double sinc = x == 0 ? 1 : std::sin(x) / x;
    taps.weights.push_back(static_cast<float>(sinc * window * window * zeros_per_sample));
  }
  return taps;
}

}  // namespace

std::vector<float> hann_resampled(std::span<const float> samples, int in_rate_hz, int out_rate_hz) {
  SYRINX_CHECK(in_rate_hz > 0 && out_rate_hz > 0, "[hann_resampled] invalid: ", in_rate_hz,
               " Hz to ", out_rate_hz, " Hz");
  if (in_rate_hz == out_rate_hz) return {samples.begin(), samples.end()};
  const int64_t common = std::gcd(in_rate_hz, out_rate_hz);
  const int64_t in = in_rate_hz / common, out = out_rate_hz / common, n = std::ssize(samples);
  std::vector<float> made(static_cast<size_t>((n * out + in - 1) / in));
  for (int64_t phase = 0; phase < std::min<int64_t>(out, std::ssize(made)); ++phase) {
    const Taps taps = taps_of(phase, in, out);
    const int64_t count = std::ssize(taps.weights);
    for (int64_t to = phase, period = 0; to < std::ssize(made); to += out, period += in) {
      const int64_t at = period + taps.first;
      float sum = 0;
      for (int64_t i = std::max<int64_t>(0, -at); i < std::min(count, n - at); ++i) {
        sum += taps.weights[i] * samples[at + i];
      }
      made[to] = sum;
    }
  }
  return made;
}

}  // namespace syrinx
