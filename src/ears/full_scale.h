// Scales samples beyond full scale, which files of floats may hold, into [-1, 1]. One thread.
#pragma once

#include <algorithm>
#include <cmath>

namespace syrinx {

/// Fits samples into [-1, 1] one after another: each is divided by the largest magnitude so far, or
/// by 1. So a loud recording keeps its shape except for its first peaks, and the result does not
/// depend on how samples arrive. A value that is not finite becomes 0.
class FullScale {
 public:
  float operator()(float sample) {
    if (!std::isfinite(sample)) return 0;
    peak_ = std::max(peak_, std::abs(sample));
    return sample / peak_;
  }

 private:
  float peak_ = 1;
};

}  // namespace syrinx
