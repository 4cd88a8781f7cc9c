// For tests: comparisons with goldens that several families make in the same way.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "kernels/sample.h"
#include "model/step_runner.h"

namespace syrinx {

/// Checks that a sentence is ready once the first letter of the next sentence has arrived.
inline void expect_a_sentence_to_be_taken(Sequence& state) {
  EXPECT_FALSE(state.ready());
  const char* const begin =
      "It has been a very long time since we have met in this town, has it not? A";
  EXPECT_TRUE(state.append_text(begin, false).ok());
  EXPECT_TRUE(state.ready());
  EXPECT_TRUE(state.append_text("nd you?", true).ok());
  EXPECT_FALSE(state.append_text("more", true).ok());
}

/// Checks that draws of the first codebook have the probabilities `chances` [R, V] of the authors'
/// program, to five standard deviations. Rows of `logits` [R, V] and `settings` [R, 3]
/// (temperature, top-p, top-k) are the inputs of that program.
inline void expect_chances(const View& logits, const View& settings, const View& chances,
                           SpeechRequest request, Runner& runner) {
  constexpr int kDraws = 20000;
  const int64_t ids = logits.shape[1];
  for (int64_t r = 0; r < logits.shape[0]; ++r) {
    const float* set = settings.f32() + r * 3;
    request.sampling.temperature = set[0], request.sampling.top_p = set[1],
    request.sampling.top_k = static_cast<int>(set[2]);
    const Track track = runner.open(request);
    SampleRow row{track.state->sampling(0), {}, {}, 7, 0, 0};
    std::vector<int> seen(static_cast<size_t>(ids), 0);
    for (int i = 0; i < kDraws; ++i) {
      row.step = static_cast<uint32_t>(i);
      int32_t id;
      SampleStatus status;
      sample(runner.context(), logits.slice(r, r + 1), std::span(&row, 1), std::span(&id, 1),
             std::span(&status, 1));
      ++seen[static_cast<size_t>(id)];
    }
    for (int64_t i = 0; i < ids; ++i) {
      const double p = chances.f32()[r * ids + i];
      EXPECT_NEAR(static_cast<double>(seen[static_cast<size_t>(i)]) / kDraws, p,
                  5 * std::sqrt(p * (1 - p) / kDraws) + 1e-9)
          << "setting " << r << " id " << i;
    }
  }
}

}  // namespace syrinx
