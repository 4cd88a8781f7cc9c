// For tests: differences between computed numbers and golden numbers (those of the original code).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/worst.h"
#include "tensor/tensor.h"

namespace syrinx {

/// Returns the largest difference between `got` and `want`, for as many numbers as `want` has.
inline float largest_difference(std::span<const float> got, const View& want) {
  EXPECT_EQ(static_cast<int64_t>(got.size()), want.count());
  float worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    worst = worse(worst, std::fabs(got[i] - want.f32()[i]));
  }
  return worst;
}

/// Returns the largest difference, divided by the largest magnitude in `want`.
inline float relative_difference(std::span<const float> got, const View& want) {
  float top = 0;
  for (int64_t i = 0; i < want.count(); ++i) top = std::max(top, std::fabs(want.f32()[i]));
  return largest_difference(got, want) / top;
}

}  // namespace syrinx
