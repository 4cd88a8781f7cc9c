// For tests: golden samples from an original implementation. A golden file of a long recording has
// both ends and every 7th number between (tests/parity/thin.py explains why this suffices).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "base/worst.h"
#include "io/safetensors.h"

namespace syrinx {

class GoldenSamples {
 public:
  /// The samples are views into `file`, which must outlive this object.
  explicit GoldenSamples(const Safetensors& file, const std::string& name = "samples")
      : kept_(file.view(name)), count_(kept_.count()) {
    if (const std::string told = "count." + name; file.find(told)) count_ = *file.view(told).i32();
  }

  /// Returns the number of samples before thinning.
  int64_t count() const { return count_; }

  /// Returns the largest difference between `got` and the kept samples; infinite if a sample is not
  /// finite, or if the lengths differ.
  float distance(std::span<const float> got) const {
    return std::ssize(got) == count_ ? distance_of_beginning(got)
                                     : std::numeric_limits<float>::infinity();
  }
  /// Compares the beginning: like distance(), but `got` may be shorter.
  float distance_of_beginning(std::span<const float> got) const {
    if (std::ssize(got) > count_) return std::numeric_limits<float>::infinity();
    float worst = 0;
    int64_t i = 0;  // index into the kept samples
    for (int64_t at = 0; at < std::ssize(got); at = next(at), ++i) {
      const float apart = std::fabs(got[static_cast<size_t>(at)] - kept_.f32()[i]);
      worst = worse(worst, apart);
    }
    return worst;
  }

 private:
  /// Returns the index of the kept sample after the sample at index `place`.
  int64_t next(int64_t place) const {
    const int64_t last = count_ - kEdge;
    if (kept_.count() == count_ || place + 1 < kEdge || place + 1 > last) return place + 1;
    return std::min(place + 1 == kEdge ? kEdge : place + kStride, last);
  }

  static constexpr int64_t kEdge = 2048, kStride = 7;
  View kept_;
  int64_t count_;
};

}  // namespace syrinx
