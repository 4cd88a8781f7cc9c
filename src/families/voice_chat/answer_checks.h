// For tests of models that write and speak in one stream of ids.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "model/step_runner.h"

namespace syrinx {

/// Returns the sampled ids of an answer so far. Valid as long as the track.
inline std::span<const int32_t> made_of(const Track& track) {
  const Sequence& answer = *track.state;
  return answer.history(0).subspan(answer.prompt_ids().size());
}

/// Checks that a text read aloud with a bound has exactly that many codes. The ids of its text do
/// not count. `is_code` separates codes from text. The text must be so long that it cannot end
/// before the bound.
template <typename IsCode>
void expect_so_many_codes(const Pipeline& model, SpeechRequest request, IsCode&& is_code) {
  for (const int codes : {10, 50}) {
    request.terms.max_frames = codes;
    Runner runner(model);
    Track track = runner.open(request);
    ASSERT_TRUE(track.state);
    while (!track.finished) runner.step(track);
    const auto made = made_of(track);
    EXPECT_EQ(std::count_if(made.begin(), made.end(), is_code), codes);
  }
}

}  // namespace syrinx
