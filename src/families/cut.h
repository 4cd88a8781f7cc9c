// The verdict for segments that reach their bound before the model ends them.
#pragma once

#include "model/sequence.h"

namespace syrinx {

/// Returns the verdict after a segment that was cut at its bound (Sequence::max_steps). `ended`:
/// the verdict if the model had ended it. If no segment follows, the request ends with kLength.
inline Verdict cut(Verdict ended) {
  if (ended.next == Verdict::kFinished) ended.reason = FinishReason::kLength;
  return ended;
}

}  // namespace syrinx
