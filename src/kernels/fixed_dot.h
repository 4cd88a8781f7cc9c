// Sums of products in an order that does not depend on the compiler or the processor, so that a row
// has the same bits in any batch. Free function; any thread; no allocation.
#pragma once

#include <cstdint>

namespace syrinx {

/// Returns the sum of a[i] * b[i], i < count, in a fixed order that fits vector registers.
inline float fixed_dot(const float* a, const float* b, int64_t count) {
  constexpr int64_t kLanes = 8;
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] += a[i + l] * b[i + l];
  }
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  for (; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace syrinx
