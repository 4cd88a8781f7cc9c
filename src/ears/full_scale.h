// Scales samples beyond [-1, 1], which floating-point files may contain, to [-1, 1]. One thread.
#pragma once

#include <algorithm>
#include <cmath>

namespace syrinx {

/// Scales samples one after another: each sample is divided by the largest magnitude so far, but at
/// least by 1. So a loud recording keeps its shape except at its first peaks. The result does not
/// depend on how the samples are divided into calls. A value that is not finite becomes 0.
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
