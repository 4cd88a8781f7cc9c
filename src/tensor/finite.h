// Checks that weights are finite. A NaN or an infinity in a checkpoint would invalidate all results
// that depend on it. The check runs when weights are converted or packed, for each row right after
// it is read.
#pragma once

#include "base/error.h"
#include "tensor/tensor.h"

namespace syrinx {

/// A weight is NaN or infinite. Thrown by code that does not know the tensor's name;
/// Weights::build() adds it.
class NotFinite : public LoadError {
 public:
  NotFinite() : LoadError("weights are NaN or infinite") {}
};

/// Returns false if one of the elements [begin, begin + count) is NaN or infinite; true for
/// integers.
bool all_finite(const View& view, int64_t begin, int64_t count);

}  // namespace syrinx
