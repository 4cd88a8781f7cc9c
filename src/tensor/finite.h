// Checks that weights are finite, because a NaN or an infinity in a checkpoint would invalidate all
// results that depend on it. The check runs when weights are converted or packed, right after each
// row is read.
#pragma once

#include "base/error.h"
#include "tensor/tensor.h"

namespace syrinx {

/// Reports that a weight is NaN or infinite. The code that throws it lacks the tensor's name;
/// Weights::build() adds the name.
class NotFinite : public LoadError {
 public:
  NotFinite() : LoadError("weights are NaN or infinite") {}
};

/// Returns whether all elements [begin, begin + count) are finite: neither NaN nor infinite.
/// Integers are always finite.
bool all_finite(const View& view, int64_t begin, int64_t count);

}  // namespace syrinx
