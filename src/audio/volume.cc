#include "audio/volume.h"

#include <cmath>

namespace syrinx {
namespace {

constexpr float kKnee = 0.8f;

float bent(float sample) {
  const float size = std::fabs(sample);
  if (size <= kKnee) return sample;
  return std::copysign(kKnee + (1 - kKnee) * std::tanh((size - kKnee) / (1 - kKnee)), sample);
}

}  // namespace

void change_volume(std::span<const float> samples, double volume, std::vector<float>& out) {
  const auto factor = static_cast<float>(volume);
  out.assign(samples.begin(), samples.end());
  for (float& sample : out) sample *= factor;
  if (factor <= 1) return;
  for (float& sample : out) sample = bent(sample);
}

}  // namespace syrinx
