// For tests: comparisons with goldens that several families make in the same way.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "io/golden_samples.h"
#include "io/safetensors.h"
#include "kernels/sample.h"
#include "model/step_runner.h"

namespace syrinx {

/// Returns the samples that a chunk stage makes from a sequence's first `frames` frames in one
/// call. `last`: the stream ends with these frames.
inline std::vector<float> samples_of(const ChunkStage& stage, const Sequence& sequence,
                                     std::span<const int32_t> codes, int frames, bool last,
                                     StepContext& ctx) {
  const auto stream = open_stream(stage, sequence);
  std::vector<float> samples(static_cast<size_t>(frames * stage.out_width()));
  ChunkJob job;
  job.state = stream.get();
  job.codes = codes.first(static_cast<size_t>(frames * stage.in_width()));
  job.fresh = frames;
  job.last = last;
  job.out = samples;
  stage.run(ctx, std::span(&job, 1));
  return samples;
}

/// Compares the samples made from a golden's first `count` "frames" with the golden's "samples".
inline void expect_golden_samples(const ChunkStage& stage, const Sequence& sequence,
                                  const Safetensors& golden, int count, StepContext& ctx) {
  const GoldenSamples want(golden);
  const std::vector<float> got =
      samples_of(stage, sequence, ints(golden.view("frames")), count, true, ctx);
  ASSERT_EQ(want.count(), std::ssize(got));
  EXPECT_LT(want.distance(got), 1e-5f);
}

/// Compares the samples that a stage makes of a golden's "latents" with its "samples", to `bound`
/// (relative): made in one call, and `cut` frames at a time. A golden may have only the first ones.
inline void expect_golden_samples_of_latents(const ChunkStage& stage, const Safetensors& golden,
                                             int cut, float bound, StepContext& ctx) {
  const View want = golden.view("samples");
  const int frames = static_cast<int>(want.count()) / stage.out_width();
  std::vector<float> whole;
  for (const int each : {frames, 1, cut}) {
    const auto stream = stage.open({});
    std::vector<float> got(static_cast<size_t>(want.count()));
    for (int at = 0; at < frames; at += each) {
      const int n = std::min(each, frames - at);
      ChunkJob job;
      job.state = stream.get();
      job.values = floats(golden.view("latents").slice(at, at + n));
      job.fresh = n;
      job.out = std::span(got).subspan(static_cast<size_t>(at * stage.out_width()),
                                       static_cast<size_t>(n * stage.out_width()));
      stage.run(ctx, std::span(&job, 1));
    }
    if (each == frames) {
      whole = got;
      EXPECT_LT(relative(got, floats(want)), bound);
    }
    EXPECT_EQ(got, whole) << each << " frames at a time";
  }
}

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
