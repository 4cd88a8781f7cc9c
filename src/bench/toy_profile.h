// An invented profile with round numbers, for tests.
#pragma once

#include "bench/step_profile.h"

namespace syrinx {

/// Returns a profile with one code per frame and 20 frames per second. A step of B sequences takes
/// 1 + 0.1 B ms. A chunk takes 1 ms, plus 0.1 ms per frame. All times are multiplied by `slower`.
/// Its utterance has 40 frames, i.e. 2 s.
inline StepProfile toy_profile(double slower = 1) {
  StepProfile profile;
  profile.model = "toy";
  profile.weights = "f32";
  profile.sample_rate = 1000;
  profile.page_rows = 16;
  profile.pages = 1024;
  profile.ars.resize(1);
  for (const int batch : {1, 32}) {
    profile.ars.front().decode.push_back(
        {batch, {1, 101}, {slower * (1e-3 + 1e-4 * batch), slower * (1e-3 + 1e-4 * batch)}});
  }
  LinkProfile link;
  link.name = "codec";
  link.policy = {.initial = 1, .steady = 4, .left = 1, .lookahead = 1};
  link.samples_per_frame = 50;
  link.jobs = {1, 32};
  link.frames = {1, 16};
  for (const int jobs : link.jobs) {
    link.seconds.push_back({slower * (1e-3 + 1e-4 * jobs), slower * (1e-3 + 16e-4 * jobs)});
  }
  profile.links = {link};
  profile.utterances = {{10, 5e-4, {{{1, 0, 40, 40, 1}}}}};
  return profile;
}

}  // namespace syrinx
