// For tests of families that speak text in segments of a prompt each.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/step.h"

namespace syrinx {

/// The prompts of a request whose `text` comes in pieces of so many bytes. `say` says some frames
/// of a segment, `end` ends it. `end_code` is forced where all was spoken before the text was
/// closed.
template <typename Say, typename End>
std::vector<std::vector<int32_t>> prompts_of_late_text(Sequence& state, const std::string& text,
                                                       size_t piece, int64_t end_code, Say say,
                                                       End end) {
  EXPECT_FALSE(state.ready());
  std::vector<std::vector<int32_t>> all;
  for (size_t at = 0; at < text.size(); at += piece) {
    EXPECT_TRUE(state.append_text(text.substr(at, piece), at + piece >= text.size()).ok());
    while (state.ready() && state.prompt_ids().size() > 0) {
      all.emplace_back(state.prompt_ids().begin(), state.prompt_ids().end());
      say(state);
      const Verdict verdict = end(state);
      if (verdict.next == Verdict::kFinished) return all;
      EXPECT_EQ(verdict.next, Verdict::kNextSegment);
    }
  }
  EXPECT_TRUE(state.ready());
  EXPECT_EQ(state.rule(0).forced, end_code);
  EXPECT_EQ(end(state).next, Verdict::kFinished);
  return all;
}

/// How many segments are spoken where none is ended by the model: `step` takes one step of the
/// segment. Each takes its bound, and the last is told as cut.
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
