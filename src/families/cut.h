// Segments that reach their bound before the model ends them.
#pragma once

#include "model/sequence.h"

namespace syrinx {

/// The verdict after a segment that was cut at its bound (Sequence::max_steps), from what would
/// follow its end: text that waits is spoken, and where none does the request was cut.
inline Verdict cut(Verdict ended) {
  if (ended.next == Verdict::kFinished) ended.reason = FinishReason::kLength;
  return ended;
}

}  // namespace syrinx
