// Whether weights are numbers. A NaN or an infinity in a checkpoint spoils everything after it, so
// it is looked for when weights are converted or packed: each row right after it was read.
#pragma once

#include "base/error.h"
#include "tensor/tensor.h"

namespace syrinx {

/// A weight is NaN or infinite. Thrown where the tensor's name is not known; Weights::build() adds
/// it.
class NotFinite : public LoadError {
 public:
  NotFinite() : LoadError("weights are NaN or infinite") {}
};

/// False when one of the elements [begin, begin + count) is NaN or infinite; true for integers.
bool all_finite(const View& view, int64_t begin, int64_t count);

}  // namespace syrinx
