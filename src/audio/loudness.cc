#include "audio/loudness.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace syrinx {
namespace {

// Length of a block in seconds, and the step from block to block as a fraction of the block.
constexpr double kBlockSeconds = 0.4, kStep = 0.25;
constexpr double kSilence = -70, kBelowMean = 10;  // gates: in LUFS; in LU below the mean
constexpr double kOffset = -0.691;

/// A biquad of the Audio EQ Cookbook, coefficients divided by a0.
struct Biquad {
  double b0, b1, b2, a1, a2;

  void run(std::vector<double>& samples) const {
    double x1 = 0, x2 = 0, y1 = 0, y2 = 0;
    for (double& sample : samples) {
      const double x = sample;
      sample = b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2;
      x2 = x1, x1 = x, y2 = y1, y1 = sample;
    }
  }
};

Biquad high_shelf(double gain_db, double q, double hertz, int rate) {
  const double a = std::pow(10, gain_db / 40), w = 2 * std::numbers::pi * hertz / rate;
  const double c = std::cos(w), beta = 2 * std::sqrt(a) * std::sin(w) / (2 * q);
  const double a0 = a + 1 - (a - 1) * c + beta;
  return {a * (a + 1 + (a - 1) * c + beta) / a0, -2 * a * (a - 1 + (a + 1) * c) / a0,
          a * (a + 1 + (a - 1) * c - beta) / a0, 2 * (a - 1 - (a + 1) * c) / a0,
          (a + 1 - (a - 1) * c - beta) / a0};
}

Biquad high_pass(double q, double hertz, int rate) {
  const double w = 2 * std::numbers::pi * hertz / rate, c = std::cos(w);
  const double alpha = std::sin(w) / (2 * q), a0 = 1 + alpha;
  return {(1 + c) / 2 / a0, -(1 + c) / a0, (1 + c) / 2 / a0, -2 * c / a0, (1 - alpha) / a0};
}

double lufs(double power) { return kOffset + 10 * std::log10(power); }

/// Returns the mean power of the blocks louder than `gate` LUFS (or equally loud); 0 without any.
double mean_above(const std::vector<double>& powers, double gate, bool or_equal) {
  double sum = 0;
  int count = 0;
  for (const double power : powers) {
    const double level = lufs(power);
    if (level > gate || (or_equal && level == gate)) sum += power, ++count;
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace

std::optional<double> loudness(std::span<const float> samples, int rate) {
  const double seconds = static_cast<double>(samples.size()) / rate;
  if (seconds < kBlockSeconds) return {};
  std::vector<double> heard(samples.begin(), samples.end());
  high_shelf(4, std::numbers::sqrt2 / 2, 1500, rate).run(heard);
  high_pass(0.5, 38, rate).run(heard);
  const auto blocks = std::nearbyint((seconds - kBlockSeconds) / (kBlockSeconds * kStep)) + 1;
  std::vector<double> powers;
  for (double block = 0; block < blocks; ++block) {
    const auto begin = static_cast<size_t>(kBlockSeconds * block * kStep * rate);
    const auto end = static_cast<size_t>(kBlockSeconds * (block * kStep + 1) * rate);
    double sum = 0;
    for (size_t i = begin; i < std::min(end, heard.size()); ++i) sum += heard[i] * heard[i];
    powers.push_back(sum / (kBlockSeconds * rate));
  }
  const double loud = mean_above(powers, kSilence, true);
  if (loud == 0) return {};
  const double mean = mean_above(powers, std::max(kSilence, lufs(loud) - kBelowMean), false);
  if (mean == 0) return {};
  return lufs(mean);
}

void bring_to_loudness(std::span<float> samples, int rate, double target) {
  const std::optional<double> level = loudness(samples, rate);
  if (!level) return;
  const auto gain = static_cast<float>(std::pow(10, (target - *level) / 20));
  for (float& sample : samples) sample *= gain;
}

}  // namespace syrinx
