// Tests engines with several models and with graphs: pairs with guidance, a thinker that feeds a
// talker, and latents.
#include <gtest/gtest.h>

#include "engine/machine.h"
#include "engine/testing/ear.h"
#include "model/toy/duet.h"
#include "model/toy/latent.h"

namespace syrinx {
namespace {

TEST(Engine, GuidanceChangesTheSpeechAndScaleOneDoesNot) {
  SpeechRequest plain = say(long_text(80, 2), 7), one = plain, strong = plain;
  plain.sampling.temperature = one.sampling.temperature = strong.sampling.temperature = 0.f;
  one.sampling.guidance = 1.f;
  strong.sampling.guidance = 3.f;
  // With scale 1, guided logits are the sequence's own, rounded. Rounding changes no choice here.
  EXPECT_EQ(alone(plain), alone(one));
  EXPECT_NE(alone(plain), alone(strong));
}

TEST(Engine, AGuidedFaultEndsTheRequestOnly) {
  Engine engine(make_toy_pipeline(), small());
  SpeechRequest bad = say("abc~def"), good = say(long_text(60, 1));
  bad.sampling.guidance = good.sampling.guidance = 2.f;
  auto first = std::make_shared<Ear>(), second = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(bad, first).ok());
  ASSERT_TRUE(engine.submit(good, second).ok());
  EXPECT_EQ(first->wait().reason, FinishReason::kError);
  EXPECT_EQ(second->wait().reason, FinishReason::kStop);
  EXPECT_EQ(second->samples(), alone(good));
}

TEST(Engine, APairNeedsABatchOfTwo) {
  EngineOptions options = small();
  options.max_batch = 1;
  Engine engine(make_toy_pipeline(), options);
  SpeechRequest request = say(long_text(40, 1));
  request.sampling.guidance = 2.f;
  EXPECT_EQ(engine.submit(request, std::make_shared<Ear>()).error().code, ErrorCode::kUnsupported);
  request.sampling.guidance.reset();
  auto ear = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(request, ear).ok());
  ear->wait();
  EXPECT_EQ(ear->samples(), alone(request));
}

/// Several models on one machine yield the same samples as alone, while other models are added and
/// removed.
TEST(Engine, SharesItsMachineWithOthers) {
  for (Executors executors : {Executors::kShared, Executors::kSplit, Executors::kEach}) {
    EngineOptions options = with_pages(40);
    options.executors = executors;
    const auto machine = std::make_shared<Machine>(options);
    Engine first(make_toy_pipeline(), options, machine);
    Engine second(make_toy_pipeline({.steps_per_byte = 2}), options, machine);
    auto third = std::make_unique<Engine>(make_toy_pipeline(), options, machine);
    std::vector<std::shared_ptr<Ear>> ears, doomed;
    std::vector<SpeechRequest> requests;
    for (int i = 0; i < 12; ++i) {
      requests.push_back(say(long_text(60 + 13 * i, i), i));
      requests.back().terms.max_frames = 450;
      ears.push_back(std::make_shared<Ear>());
      doomed.push_back(std::make_shared<Ear>());
      ASSERT_TRUE((i % 2 ? second : first).submit(requests.back(), ears.back()).ok());
      SpeechRequest open = requests.back();
      open.say.open = true;
      ASSERT_TRUE(third->submit(open, doomed.back()).ok());
    }
    third.reset();  // waits until its requests have ended
    for (const auto& ear : doomed) EXPECT_TRUE(ear->done());
    for (int i = 0; i < 12; ++i) {
      EXPECT_EQ(ears[i]->wait().reason, FinishReason::kStop) << ears[i]->wait().error.message;
      if (i % 2 == 0) {
        EXPECT_EQ(ears[i]->samples(), alone(requests[i])) << "request " << i;
      } else {
        EXPECT_EQ(ears[i]->samples().size(), 2 * 20 * requests[i].say.text.size());
      }
    }
    Engine late(make_toy_pipeline(), options, machine);
    auto ear = std::make_shared<Ear>();
    ASSERT_TRUE(late.submit(requests[0], ear).ok());
    ear->wait();
    EXPECT_EQ(ear->samples(), alone(requests[0]));
  }
}

/// An AR node feeds another one. Executors, batches and page limits must not change the results.
TEST(Engine, AThinkerFeedsATalker) {
  struct Said {
    std::string text;
    std::vector<float> samples;
    bool operator==(const Said&) const = default;
  };
  const auto run = [](const SpeechRequest& request, EngineOptions options) {
    Engine engine(make_duet_pipeline(), options);
    auto ear = std::make_shared<Ear>();
    EXPECT_TRUE(engine.submit(request, ear).ok());
    EXPECT_EQ(ear->wait().reason, FinishReason::kStop) << ear->wait().error.message;
    EXPECT_EQ(ear->wait().prompt_tokens, static_cast<int>(request.say.text.size()));
    EXPECT_EQ(ear->wait().completion_tokens, static_cast<int>(request.say.text.size()));
    return Said{ear->text(), ear->samples()};
  };
  EngineOptions options = small();
  options.executors = Executors::kShared;
  std::vector<SpeechRequest> requests;
  std::vector<Said> expected;
  for (int i = 0; i < 12; ++i) {
    requests.push_back(say(long_text(1 + 17 * i, i), 50 + i));
    expected.push_back(run(requests.back(), options));
    EXPECT_EQ(expected.back().text.size(), requests.back().say.text.size());
    EXPECT_EQ(expected.back().samples.size(), 2 * 10 * requests.back().say.text.size());
  }
  for (Executors executors : {Executors::kSplit, Executors::kEach}) {
    for (const int pages : {200, 26}) {
      EngineOptions other = with_pages(pages);
      other.executors = executors;
      other.threads = 3;
      other.max_batch = 5;
      other.max_prefill_rows = 13;
      Engine engine(make_duet_pipeline(), other);
      std::vector<std::shared_ptr<Ear>> ears;
      for (const SpeechRequest& request : requests) {
        ears.push_back(std::make_shared<Ear>());
        ASSERT_TRUE(engine.submit(request, ears.back()).ok());
      }
      const auto gone = std::make_shared<Ear>();
      engine.cancel(engine.submit(requests.back(), gone).value());
      EXPECT_EQ(gone->wait().reason, FinishReason::kCancelled);
      for (size_t i = 0; i < requests.size(); ++i) {
        EXPECT_EQ(ears[i]->wait().reason, FinishReason::kStop) << ears[i]->wait().error.message;
        EXPECT_EQ((Said{ears[i]->text(), ears[i]->samples()}), expected[i]) << "request " << i;
      }
      if (pages < 100) {
        EXPECT_GT(engine.stats().preemptions, 0) << "no preemption was forced";
      }
      EXPECT_TRUE(all_pages_free(engine));
    }
  }
}

/// Until the first guided step, companions of many requests have equal rows and share their pages.
TEST(Engine, CompanionsShareWhatTheyAreFed) {
  Engine engine(make_latent_pipeline(), small());
  const auto rows_of = [&](int length, uint64_t seed) {
    SpeechRequest request = say(long_text(length, static_cast<int>(seed)), seed);
    request.sampling.guidance = 2.f;
    const double before = engine.metrics().stages[0].units.value();
    const auto ear = std::make_shared<Ear>();
    EXPECT_TRUE(engine.submit(request, ear).ok());
    EXPECT_EQ(ear->wait().reason, FinishReason::kStop);
    return static_cast<int>(engine.metrics().stages[0].units.value() - before);
  };
  const int steps = kLatentThoughts + kLatentsAByte * 41 - 1;
  EXPECT_EQ(rows_of(41, 1), 41 + 43 + 2 * steps);
  EXPECT_LE(rows_of(41, 2), 41 + 2 * steps) << "another text: the companion's prompt was there";
  EXPECT_EQ(rows_of(41, 1), 2 + steps + steps - kLatentThoughts) << "all but the last rows";
}

/// Steps that yield latents: first without guidance (thinking), then with guidance (speech).
TEST(Engine, LatentsAndGuidanceByPhase) {
  const auto model = make_latent_pipeline();
  const auto run = [&](const SpeechRequest& request, const EngineOptions& options) {
    Engine engine(model, options);
    auto ear = std::make_shared<Ear>();
    EXPECT_TRUE(engine.submit(request, ear).ok());
    EXPECT_EQ(ear->wait().reason, FinishReason::kStop) << ear->wait().error.message;
    return std::pair(ear->samples(), engine.metrics().stages[0].units.value());
  };
  std::vector<SpeechRequest> requests;
  std::vector<std::vector<float>> expected;
  for (int i = 0; i < 12; ++i) {
    SpeechRequest request = say(long_text(3 + 11 * i, i), 90 + i);
    if (i % 3 > 0) request.sampling.guidance = i % 3 == 1 ? 2.f : 1.f;
    requests.push_back(request);
    const auto [samples, rows] = run(request, small());
    expected.push_back(samples);
    const size_t length = request.say.text.size(), steps = kLatentThoughts + kLatentsAByte * length;
    EXPECT_EQ(samples.size(), kLatentSamples * kLatentsAByte * length);
    // Rows of the sequence, without the last step's row. With speech, the companion has rows too.
    const size_t own = length + steps - 1;
    EXPECT_EQ(rows, i % 3 == 1 ? own + own + 2 : own) << "request " << i;
    if (i % 3 > 0) {
      request.sampling.guidance.reset();
      EXPECT_EQ(run(request, small()).first == samples, i % 3 == 2) << "scale 1 is none";
    }
  }
  for (Executors executors : {Executors::kShared, Executors::kEach}) {
    for (const int pages : {200, 42}) {
      EngineOptions options = with_pages(pages);
      options.executors = executors;
      options.max_batch = 5;
      options.max_prefill_rows = 13;
      Engine engine(model, options);
      std::vector<std::shared_ptr<Ear>> ears;
      for (const SpeechRequest& request : requests) {
        ears.push_back(std::make_shared<Ear>());
        ASSERT_TRUE(engine.submit(request, ears.back()).ok());
      }
      const auto broken = std::make_shared<Ear>();
      ASSERT_TRUE(engine.submit(say("ab^c", 1), broken).ok());
      EXPECT_EQ(broken->wait().reason, FinishReason::kError);
      EXPECT_NE(broken->wait().error.message.find("NaN or infinity"), std::string::npos);
      for (size_t i = 0; i < requests.size(); ++i) {
        EXPECT_EQ(ears[i]->wait().reason, FinishReason::kStop) << ears[i]->wait().error.message;
        EXPECT_EQ(ears[i]->samples(), expected[i]) << "request " << i;
      }
      if (pages < 100) {
        EXPECT_GT(engine.stats().preemptions, 0) << "no preemption was forced";
      }
      EXPECT_TRUE(all_pages_free(engine));
    }
  }
}

}  // namespace
}  // namespace syrinx
