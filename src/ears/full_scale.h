// Samples past full scale, as files of floats have them, made to fit. One thread.
#pragma once

#include <algorithm>
#include <cmath>

namespace syrinx {

/// Fits samples into [-1, 1] one after another: each is divided by the largest magnitude so far, or
/// by 1. So a loud recording keeps its shape but for its first crests, and the result does not
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
