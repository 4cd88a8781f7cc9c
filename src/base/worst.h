// For tests: the largest of many differences, including NaN. std::max(worst, NaN) returns `worst`
// and hides the NaN. Here a difference that is not finite exceeds every bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace syrinx {

/// Returns the larger of `a` and `b`. A value that is not finite counts as larger.
template <typename T>
T worse(T a, T b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<T>::infinity();
  return std::max(a, b);
}

}  // namespace syrinx
