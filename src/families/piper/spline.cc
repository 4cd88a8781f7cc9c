#include "families/piper/spline.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace syrinx::piper {
namespace {

constexpr float kLeast = 1e-3f;  // least width and height of a bin, and least slope

/// Writes knots from -kSplineBound to kSplineBound. Their distances are proportional to the softmax
/// of `values`, but have a minimum.
void place_knots(std::span<const float> values, float* knots) {
  const float top = *std::max_element(values.begin(), values.end());
  std::array<float, kMostBins> shares;
  float sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += shares[i] = std::exp(values[i] - top);
  const float rest = 1 - kLeast * static_cast<float>(values.size());
  float at = 0;
  knots[0] = -kSplineBound;
  for (size_t i = 0; i < values.size(); ++i) {
    at += kLeast + rest * (shares[i] / sum);
    knots[i + 1] = 2 * kSplineBound * at - kSplineBound;
  }
  knots[values.size()] = kSplineBound;
}

float slope_of(float value) { return kLeast + (value > 20 ? value : std::log1p(std::exp(value))); }

}  // namespace

float inverse_spline(float y, std::span<const float> widths, std::span<const float> heights,
                     std::span<const float> slopes) {
  const size_t bins = widths.size();
  SYRINX_CHECK(
      bins >= 1 && bins <= kMostBins && heights.size() == bins && slopes.size() + 1 == bins,
      "[piper] invalid spline of ", bins, " bins");
  if (!(y >= -kSplineBound && y <= kSplineBound)) return y;
  std::array<float, kMostBins + 1> x, v;
  place_knots(widths, x.data());
  place_knots(heights, v.data());
  size_t bin = 0;
  while (bin + 1 < bins && y >= v[bin + 1]) ++bin;
  // At both ends the slope is 1, because the spline is the identity outside its bounds.
  const float left = bin == 0 ? 1.f : slope_of(slopes[bin - 1]);
  const float right = bin + 1 == bins ? 1.f : slope_of(slopes[bin]);
  const float width = x[bin + 1] - x[bin], height = v[bin + 1] - v[bin];
  const float delta = height / width, rise = y - v[bin], bend = left + right - 2 * delta;
  const float a = rise * bend + height * (delta - left);
  const float b = height * left - rise * bend;
  const float c = -delta * rise;
  const float root = 2 * c / (-b - std::sqrt(std::max(0.f, b * b - 4 * a * c)));
  return root * width + x[bin];
}

}  // namespace syrinx::piper
