// For tests: the largest of many differences, of which none may hide. std::max(worst, NaN) is
// `worst`; here one difference that is not finite is worse than every bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace syrinx {

/// `a` or `b`, whichever is worse.
template <typename T>
T worse(T a, T b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<T>::infinity();
  return std::max(a, b);
}

}  // namespace syrinx
