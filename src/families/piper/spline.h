// The inverse of a monotonic rational-quadratic spline. Free function; any thread.
// Formula: Neural Spline Flows (arXiv 1906.04032); source: vits:transforms.py
// (unconstrained_rational_quadratic_spline with linear tails).
#pragma once

#include <span>

namespace syrinx::piper {

constexpr float kSplineBound = 5;  ///< outside [-5, 5] the spline is the identity
constexpr int kMostBins = 64;

/// Returns the x whose image is y, for a spline of K <= kMostBins bins. `widths` and `heights` [K]
/// are before their softmax. `slopes` [K - 1], at the inner knots, are before their softplus.
/// Returns NaN for NaN.
float inverse_spline(float y, std::span<const float> widths, std::span<const float> heights,
                     std::span<const float> slopes);

}  // namespace syrinx::piper
