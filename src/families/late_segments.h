// For tests of families in which each segment has its own prompt.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/step.h"

namespace syrinx {

/// Returns the number of spoken segments if the model ends none. `step` takes one step of a
/// segment. Checks that each segment reaches its bound, and that the last one is reported as cut.
template <typename Step>
int segments_without_ends(Sequence& state, Step step) {
  for (int segments = 1;; ++segments) {
    const int most = state.max_steps();
    Verdict verdict;
    for (int i = 0; i < most; ++i) {
      EXPECT_EQ(verdict.next, Verdict::kContinue) << i << " of " << most;
      verdict = step(i);
    }
    if (verdict.next == Verdict::kNextSegment) continue;
    EXPECT_EQ(verdict.next, Verdict::kFinished);
    EXPECT_EQ(verdict.reason, FinishReason::kLength);
    return segments;
  }
}

}  // namespace syrinx
