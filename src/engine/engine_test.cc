#include "engine/engine.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "engine/failing_new_test.h"
#include "engine/machine.h"
#include "engine/testing/ear.h"
#include "engine/testing/idle.h"

namespace syrinx {
namespace {

TEST(Engine, SpeaksOneStepAByteAndReports) {
  Engine engine(make_toy_pipeline(), small());
  auto ear = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(say("hello"), ear).ok());
  const Outcome& outcome = ear->wait();
  EXPECT_EQ(outcome.reason, FinishReason::kStop);
  EXPECT_EQ(outcome.frames, 5);
  EXPECT_EQ(ear->samples().size(), 5u * 20);
  EXPECT_NEAR(outcome.audio_s, 0.1, 1e-9);
  EXPECT_GT(outcome.first_audio_s, 0);
  EXPECT_GE(outcome.total_s, outcome.first_audio_s);
}

TEST(Engine, SameSamplesAloneAndInAnyBatch) {
  std::vector<SpeechRequest> requests;
  for (int i = 0; i < 16; ++i) {
    requests.push_back(say(long_text(40 + 17 * i, i), 100 + i));
    if (i % 3 == 0) requests.back().sampling.temperature = 0.f;
    if (i % 4 == 1) requests.back().say.text[20] = '|';
  }
  Engine engine(make_toy_pipeline(), small());
  std::vector<std::shared_ptr<Ear>> ears;
  for (const SpeechRequest& request : requests) {
    ears.push_back(std::make_shared<Ear>());
    ASSERT_TRUE(engine.submit(request, ears.back()).ok());
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    ears[i]->wait();
    EXPECT_EQ(ears[i]->samples(), alone(requests[i])) << "request " << i;
  }
}

TEST(Engine, ASegmentMayBeginNewStreams) {
  SpeechRequest request = say("abcdefghijk@lmnopqr@s");
  request.sampling.temperature = 0.f;
  std::vector<float> expected;
  int64_t frames = 0;
  for (const char* part : {"abcdefghijk", "lmnopqr", "s"}) {
    SpeechRequest one = request;
    one.say.text = part;
    const std::vector<float> samples = alone(one);
    expected.insert(expected.end(), samples.begin(), samples.end());
    frames += std::ssize(one.say.text);
  }
  Engine engine(make_toy_pipeline(), small());
  std::vector<std::shared_ptr<Ear>> ears(5);
  for (auto& ear : ears) {
    ear = std::make_shared<Ear>();
    ASSERT_TRUE(engine.submit(request, ear).ok());
  }
  for (const auto& ear : ears) {
    EXPECT_EQ(ear->wait().frames, frames);
    EXPECT_EQ(ear->samples(), expected);
  }
  request.say.text = "abcdefghijk|lmnopqr|s";
  EXPECT_NE(alone(request), expected) << "one stream hears what is beside it";
}

TEST(Engine, SameSamplesWithAnyPolicyOnAnyExecutors) {
  std::vector<SpeechRequest> requests;
  for (int i = 0; i < 12; ++i) {
    requests.push_back(say(long_text(60 + 23 * i, i), 100 + i));
    requests.back().terms.max_frames = 330;
    if (i % 4 == 1) requests.back().say.text[30] = '|';
    if (i % 3 == 2) requests.back().sampling.guidance = 1.5f;
    if (i % 2 == 0) requests.back().say.instructions = long_text(40 + i, 3);
  }
  std::vector<std::vector<float>> expected;
  for (const SpeechRequest& request : requests) expected.push_back(alone(request));
  for (const char* policy : {"streaming", "throughput", "fcfs"}) {
    for (Executors executors : {Executors::kShared, Executors::kSplit, Executors::kEach}) {
      EngineOptions options = with_pages(40);
      options.policy = policy;
      options.executors = executors;
      options.threads = 3;
      options.max_batch = 5;
      options.max_prefill_rows = 17;
      Engine engine(make_toy_pipeline(), options);
      std::vector<std::shared_ptr<Ear>> ears;
      for (const SpeechRequest& request : requests) {
        ears.push_back(std::make_shared<Ear>());
        ASSERT_TRUE(engine.submit(request, ears.back()).ok());
      }
      for (size_t i = 0; i < requests.size(); ++i) {
        EXPECT_EQ(ears[i]->wait().reason, FinishReason::kStop) << ears[i]->wait().error.message;
        EXPECT_EQ(ears[i]->samples(), expected[i])
            << policy << " " << static_cast<int>(executors) << " request " << i;
      }
      EXPECT_TRUE(all_pages_free(engine));
    }
  }
}

TEST(Engine, EqualPrefixesAreComputedOnceAndSoundTheSame) {
  EngineOptions apart = small();
  apart.share_prefixes = false;
  for (Executors executors : {Executors::kShared, Executors::kEach}) {
    EngineOptions options = small();
    options.executors = executors;
    Engine engine(make_toy_pipeline(), options);
    for (int i = 0; i < 6; ++i) {
      SpeechRequest request = say(long_text(50, i), i);
      request.say.instructions = long_text(100, 5);
      if (i >= 3) request.say.instructions += long_text(20, i);  // prompts differ inside a page
      if (i % 2 == 1) request.sampling.guidance = 2.f;
      auto ear = std::make_shared<Ear>();
      ASSERT_TRUE(engine.submit(request, ear).ok());
      EXPECT_EQ(ear->wait().reason, FinishReason::kStop);
      EXPECT_EQ(ear->samples(), alone(request, apart)) << i;
    }
    EXPECT_GE(engine.metrics().prefix_rows.value(), 5 * 96);
    EXPECT_TRUE(all_pages_free(engine));
  }
}

TEST(Engine, PreemptionAndSharedPrefixesGetAlong) {
  Engine engine(make_toy_pipeline(), with_pages(16));
  std::vector<std::shared_ptr<Ear>> ears;
  std::vector<SpeechRequest> requests;
  for (int i = 0; i < 8; ++i) {
    requests.push_back(say(long_text(120, i), i));
    requests.back().say.instructions = long_text(70, 1) + long_text(30, i % 3);
    requests.back().terms.max_frames = 125;
    if (i % 2) requests.back().sampling.guidance = 1.4f;
    ears.push_back(std::make_shared<Ear>());
    ASSERT_TRUE(engine.submit(requests.back(), ears.back()).ok());
  }
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(ears[i]->wait().reason, FinishReason::kStop) << ears[i]->wait().error.message;
    EXPECT_EQ(ears[i]->samples(), alone(requests[i])) << "request " << i;
  }
  EXPECT_GT(engine.stats().preemptions, 0) << "no preemption was forced";
  EXPECT_GT(engine.metrics().prefix_rows.value(), 0);
}

TEST(Engine, CancelsAndLateTextWhileBatchesAreInFlight) {
  EngineOptions options = small();
  options.executors = Executors::kEach;
  Engine engine(make_toy_pipeline(), options);
  for (int round = 0; round < 30; ++round) {
    SpeechRequest open = say("", 4);
    open.say.open = true;
    auto doomed = std::make_shared<Ear>(), kept = std::make_shared<Ear>();
    const auto a = engine.submit(open, doomed), b = engine.submit(open, kept);
    const std::string text = long_text(60, round);
    for (size_t i = 0; i < text.size(); i += 5) {
      engine.append_text(a.value(), text.substr(i, 5), false);
      engine.append_text(b.value(), text.substr(i, 5), i + 5 >= text.size());
    }
    engine.cancel(a.value());
    EXPECT_EQ(doomed->wait().reason, FinishReason::kCancelled);
    EXPECT_EQ(kept->wait().reason, FinishReason::kStop);
    if (round % 10 == 0) {
      EXPECT_EQ(kept->samples(), alone(say(text, 4)));
    }
  }
  EXPECT_TRUE(wait_until_idle(engine, 30));
  EXPECT_TRUE(all_pages_free(engine));
}

TEST(Engine, SeedsMatter) {
  EXPECT_EQ(alone(say(long_text(50, 0), 5)), alone(say(long_text(50, 0), 5)));
  EXPECT_NE(alone(say(long_text(50, 0), 5)), alone(say(long_text(50, 0), 6)));
}

TEST(Engine, OneThreadOrManyPromptInPiecesOrWhole) {
  const SpeechRequest request = say(long_text(200, 3));
  EngineOptions other = small();
  other.threads = 1;
  other.max_prefill_rows = 1;
  EXPECT_EQ(alone(request), alone(request, other));
}

TEST(Engine, PreemptionLosesNothing) {
  // 14 pages of 32 positions: 8 requests with up to 7 pages each do not fit at once.
  Engine engine(make_toy_pipeline(), with_pages(14));
  std::vector<std::shared_ptr<Ear>> ears;
  std::vector<SpeechRequest> requests;
  for (int i = 0; i < 8; ++i) {
    requests.push_back(say(long_text(205, i), i));
    requests.back().terms.max_frames = 210;
    ears.push_back(std::make_shared<Ear>());
    ASSERT_TRUE(engine.submit(requests.back(), ears.back()).ok());
  }
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(ears[i]->wait().reason, FinishReason::kStop);
    EXPECT_EQ(ears[i]->samples(), alone(requests[i])) << "request " << i;
  }
  EXPECT_GT(engine.stats().preemptions, 0) << "no preemption was forced";
}

TEST(Engine, TextThatArrivesLateSoundsTheSame) {
  const std::string text = long_text(60, 9);
  Engine engine(make_toy_pipeline(), small());
  SpeechRequest request = say("", 4);
  request.say.open = true;
  auto late = std::make_shared<Ear>();
  const auto id = engine.submit(request, late);
  ASSERT_TRUE(id.ok());
  for (size_t i = 0; i < text.size(); i += 7) {
    // Another request runs while the first one waits for text. A waiting request delays no other.
    auto other = std::make_shared<Ear>();
    ASSERT_TRUE(engine.submit(say("other"), other).ok());
    other->wait();
    EXPECT_FALSE(late->done());
    engine.append_text(id.value(), text.substr(i, 7), i + 7 >= text.size());
  }
  EXPECT_EQ(late->wait().reason, FinishReason::kStop);
  EXPECT_EQ(late->samples(), alone(say(text, 4)));
}

TEST(Engine, CancelEndsOneRequestOnly) {
  Engine engine(make_toy_pipeline(), small());
  SpeechRequest endless = say("", 1);
  endless.say.open = true;
  auto first = std::make_shared<Ear>(), second = std::make_shared<Ear>();
  const auto a = engine.submit(endless, first);
  const auto b = engine.submit(endless, second);
  engine.append_text(a.value(), long_text(100, 1), false);
  engine.append_text(b.value(), long_text(100, 1).substr(0, 99), false);
  first->wait_for_audio();
  engine.cancel(a.value());
  EXPECT_EQ(first->wait().reason, FinishReason::kCancelled);
  EXPECT_FALSE(second->done());
  engine.append_text(b.value(), long_text(100, 1).substr(99), true);
  EXPECT_EQ(second->wait().reason, FinishReason::kStop);
  EXPECT_EQ(second->samples(), alone(say(long_text(100, 1), 1)));
  engine.cancel(12345);  // the id of an unknown request
}

TEST(Engine, FaultsStayWithTheirBatchOrRow) {
  Engine engine(make_toy_pipeline(), small());
  auto nan = std::make_shared<Ear>(), good = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(say("abc~def"), nan).ok());
  ASSERT_TRUE(engine.submit(say(long_text(80, 2)), good).ok());
  EXPECT_EQ(nan->wait().reason, FinishReason::kError);
  EXPECT_EQ(nan->wait().error.message, "the logits are not finite");
  EXPECT_EQ(good->wait().reason, FinishReason::kStop);
  EXPECT_EQ(good->samples(), alone(say(long_text(80, 2))));

  auto broken = std::make_shared<Ear>(), after = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(say("abc^def"), broken).ok());
  EXPECT_EQ(broken->wait().reason, FinishReason::kError);
  EXPECT_NE(broken->wait().error.message.find("stumbled"), std::string::npos);
  ASSERT_TRUE(engine.submit(say("fine"), after).ok());
  EXPECT_EQ(after->wait().reason, FinishReason::kStop);
  EXPECT_TRUE(all_pages_free(engine));
}

TEST(Engine, CountsWhatItDoes) {
  EngineOptions options = small();
  options.trace_file = ::testing::TempDir() + "syrinx_engine_trace.json";
  {
    Engine engine(make_toy_pipeline(), options);
    auto ear = std::make_shared<Ear>();
    ASSERT_TRUE(engine.submit(say(long_text(100, 1)), ear).ok());
    ear->wait();
    ASSERT_TRUE(wait_until_idle(engine, 10));
    std::string text;
    std::vector<LabelledMetrics> lists;
    engine.metrics().append_to(lists, "a \"toy\"");
    write_prometheus(lists, text);
    EXPECT_NE(text.find("syrinx_requests_accepted_total{model=\"a \\\"toy\\\"\"} 1\n"),
              std::string::npos);
    EXPECT_NE(text.find("syrinx_first_audio_seconds_count{model=\"a \\\"toy\\\"\"} 1\n"),
              std::string::npos);
    EXPECT_NE(text.find("syrinx_audio_seconds_total{model=\"a \\\"toy\\\"\"} 2\n"),
              std::string::npos)
        << text;
    EXPECT_EQ(engine.stats().finished, 1);
    EXPECT_GT(engine.metrics().busy_s.value(), 0);
  }
  std::ifstream file(options.trace_file);
  const std::string trace((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(trace.find("\"name\":\"vocoder\",\"pid\":1"), std::string::npos);
  EXPECT_NE(trace.find("\"reason\":\"stop\""), std::string::npos);
  EXPECT_NE(trace.find("\"events_left_out\":\"0\""), std::string::npos);
}

TEST(Engine, PromptsMayBeMadeOnAHostThread) {
  Engine engine(make_toy_pipeline(), small());
  auto bad = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit_soon(say(""), bad).ok()) << "what is wrong comes to the sink";
  EXPECT_EQ(bad->wait().reason, FinishReason::kError);
  EXPECT_EQ(bad->wait().error.code, ErrorCode::kInvalid);
  SpeechRequest wrong = say("x");
  wrong.voice.speed = 7;
  EXPECT_FALSE(engine.submit_soon(wrong, bad).ok()) << "but what PipelineInfo says comes at once";
  for (int round = 0; round < 20; ++round) {
    SpeechRequest open = say("", 4);
    open.say.open = true;
    auto doomed = std::make_shared<Ear>(), kept = std::make_shared<Ear>();
    const auto a = engine.submit_soon(open, doomed), b = engine.submit_soon(open, kept);
    engine.append_text(b.value(), "some te", false);
    engine.cancel(a.value());
    engine.append_text(b.value(), "xt", true);
    EXPECT_EQ(doomed->wait().reason, FinishReason::kCancelled);
    EXPECT_EQ(kept->wait().reason, FinishReason::kStop);
    EXPECT_EQ(kept->samples(), alone(say("some text", 4)));
  }
  EXPECT_TRUE(wait_until_idle(engine, 30));
  EXPECT_EQ(engine.stats().requests, 0);
}

}  // namespace
}  // namespace syrinx
