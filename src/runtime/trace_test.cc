#include "runtime/trace.h"

#include <gtest/gtest.h>

#include "engine/collector.h"
#include "engine/engine.h"
#include "families/family.h"
#include "model/toy/toy.h"
#include "runtime/runtime.h"

namespace syrinx {
namespace {

SpeechRequest greedy_request(const char* text) {
  SpeechRequest request;
  request.say.text = text;
  request.sampling.temperature = 0.0f;
  return request;
}

TEST(Trace, EqualsTheEngine) {
  const auto pipeline = make_toy_pipeline();
  for (const char* text : {"a few words", "two|segments", "x"}) {
    for (const bool guided : {false, true}) {
      SpeechRequest request = greedy_request(text);
      if (guided) request.sampling.guidance = 2.f;
      const Result<Trace> trace = trace_request(*pipeline, request, {.threads = 1});
      ASSERT_TRUE(trace.ok());
      EngineOptions options;
      options.threads = 1;
      Engine engine(pipeline, options);
      const auto collector = std::make_shared<Collector>();
      ASSERT_TRUE(engine.submit(request, collector).ok());
      const Outcome& outcome = collector->wait();
      EXPECT_EQ(trace.value().reason, outcome.reason);
      EXPECT_EQ(static_cast<int64_t>(trace.value().frames.size()) / trace.value().frame_codes,
                outcome.frames);
      EXPECT_EQ(trace.value().samples, collector->samples());
    }
  }
}

TEST(Trace, KeepsTheFirstLogits) {
  const auto pipeline = make_toy_pipeline();
  const Trace trace =
      trace_request(*pipeline, greedy_request("a few words"), {.threads = 1, .logit_steps = 3})
          .take();
  const std::vector<int>& vocab = pipeline->graph().ar().traits().vocab;
  EXPECT_EQ(trace.logit_steps, 3);
  ASSERT_EQ(trace.logits.size(), vocab.size());
  for (size_t k = 0; k < vocab.size(); ++k) {
    EXPECT_EQ(trace.logits[k].size(), 3u * static_cast<size_t>(vocab[k]));
  }
  EXPECT_EQ(trace.codes.size(), static_cast<size_t>(trace.steps) * vocab.size());
}

/// Trace::frames omits the chunk node before the AR node of a model that receives recordings.
TEST(Trace, FramesAreWhatWasSaid) {
  std::shared_ptr<const Pipeline> model;
  for (const Family& family : families()) {
    if (std::string_view(family.name) != "glm4_voice") continue;
    model = family.load({SYRINX_BINARY_DIR "/parity/glm4_voice/golden/checkpoint", "glm"});
  }
  ASSERT_TRUE(model);
  SpeechRequest request = greedy_request("It is read.");
  request.terms.max_frames = 24;
  const Trace trace = trace_request(*model, request, {.threads = 1}).take();
  constexpr int32_t kFirstCode = 352, kCodes = 64;
  std::vector<int32_t> said;
  for (const int32_t id : trace.codes)
    if (id >= kFirstCode && id < kFirstCode + kCodes) said.push_back(id - kFirstCode);
  EXPECT_FALSE(said.empty());
  EXPECT_EQ(trace.frame_codes, 1);
  EXPECT_EQ(trace.frames, said);
  EXPECT_TRUE(trace.rows.empty());
}

TEST(Trace, ReportsWhyItEndedAndWhatItCannotDo) {
  const auto pipeline = make_toy_pipeline();
  SpeechRequest request = greedy_request("a few words");
  request.terms.max_frames = 2;
  EXPECT_EQ(trace_request(*pipeline, request, {.threads = 1}).value().reason,
            FinishReason::kLength);
  request.say.open = true;
  const Result<Trace> open = trace_request(*pipeline, request, {.threads = 1});
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().param, "text");
}

}  // namespace
}  // namespace syrinx
