// For tests: the largest of many differences, including NaN. std::max(worst, NaN) is `worst`; here
// a difference that is not finite is larger than every bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace syrinx {

/// Returns the larger of `a` and `b`; one that is not finite counts as larger.
template <typename T>
T worse(T a, T b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<T>::infinity();
  return std::max(a, b);
}

}  // namespace syrinx
