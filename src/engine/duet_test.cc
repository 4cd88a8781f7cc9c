// Tests toy models with random schedules (mixed_schedules.h): a thinker that feeds a talker, and a
// recogniser, whose chunk node feeds its AR node.
#include "model/toy/duet.h"

#include <gtest/gtest.h>

#include "engine/testing/dice.h"
#include "engine/testing/mixed_schedules.h"

namespace syrinx {
namespace {

constexpr size_t kDuetPage = KvPool::kPageRows * 2 * 16 * sizeof(float);

std::vector<ExpectedAnswer> duets(Executor& executor) {
  std::vector<ExpectedAnswer> out;
  for (int i = 0; i < 8; ++i) {
    SpeechRequest request;
    for (int c = 0; c < 1 + 9 * i; ++c)
      request.say.text += static_cast<char>('a' + (7 * c + i) % 26);
    request.sampling.seed = static_cast<uint64_t>(i);
    request.writing.text_only = i % 3 == 2;
    out.push_back(run_alone(make_duet_pipeline(), request, executor));
    EXPECT_EQ(out.back().text.size(), request.say.text.size());
    EXPECT_EQ(out.back().samples.size(),
              request.writing.text_only ? 0 : 20 * request.say.text.size());
  }
  return out;
}

TEST(Duet, IsTheSameUnderAnySchedule) {
  Executor executor(1);
  const std::vector<ExpectedAnswer> expected = duets(executor);
  const auto pipeline = make_duet_pipeline();
  double preemptions = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const size_t kv_bytes = (seed % 2 == 0 ? 14 : 200) * kDuetPage;
    preemptions += MixedSchedule(seed, pipeline, expected, kv_bytes, executor).run().preemptions;
    if (HasFailure()) FAIL() << "in schedule " << seed;
  }
  EXPECT_GT(preemptions, 0) << "no preemption was forced";
}

TEST(Duet, IsCancelledAtAnyMoment) {
  Executor executor(1);
  const std::vector<ExpectedAnswer> expected = duets(executor);
  for (const size_t i : {2, 3}) cancel_at_any_moment(make_duet_pipeline(), expected[i], executor);
}

TEST(Duet, TextAloneOpensNoTalker) {
  Executor executor(1);
  Script script;
  std::vector<int> batches(3);
  script.begins = [&](const Batch& batch) { ++batches[static_cast<size_t>(batch.node)]; };
  ScriptedMachine machine(script, &executor);
  machine.add(make_duet_pipeline());
  SpeechRequest request;
  request.say.text = "only to be read";
  const auto heard = machine.submit(request);
  machine.run_to_end();
  EXPECT_GT(batches[1], 0);
  EXPECT_GT(batches[2], 0);
  batches.assign(3, 0);
  request.writing.text_only = true;
  const auto read = machine.submit(request);
  EXPECT_FALSE(read->active->speaks());
  machine.run_to_end();
  EXPECT_EQ(read->written, heard->written);
  EXPECT_TRUE(read->samples.empty());
  EXPECT_GT(batches[0], 0);
  EXPECT_EQ(batches[1] + batches[2], 0);
  expect_clean(machine, 2);
}

/// A thinker continues after its slow talker has reached its limit, although ids wait in its edge.
TEST(Duet, ATalkerThatEndedDoesNotStopItsThinker) {
  Executor executor(1);
  for (const int window : {1, 3, 100}) {
    ScriptedMachine machine(
        {.slots = {{{1, true}, {1, true}}},
         .batch_s = [](const Batch& batch) { return batch.node == 1 ? 0.5 : 1e-3; }},
        &executor);
    machine.add(rewired(make_duet_pipeline(), [window](Edge& edge) {
      if (edge.from.node == 0) edge.window = window;
    }));
    SpeechRequest request;
    request.say.text = std::string(60, 'x');
    request.terms.max_frames = 3;
    const auto client = machine.submit(request);
    machine.run_to_end();
    EXPECT_TRUE(client->done) << window;
    EXPECT_EQ(client->written.size(), request.say.text.size()) << window;
    EXPECT_EQ(client->samples.size(), 30u) << window;
    expect_clean(machine, 1);
  }
}

// ---------------------------------------------------------------------------- the recogniser

SpeechRequest heard(int frames, int seed = 0) {
  SpeechRequest request;
  for (int i = 0; i < frames; ++i) request.say.text += static_cast<char>('a' + (7 * i + seed) % 26);
  return request;
}

std::vector<ExpectedAnswer> hearings(Executor& executor) {
  std::vector<ExpectedAnswer> out;
  for (int i = 0; i < 8; ++i) {
    out.push_back(run_alone(make_hearer_pipeline(), heard(1 + 20 * i, i), executor));
    const size_t rows = static_cast<size_t>(kHearerRows) * out.back().request.say.text.size();
    EXPECT_EQ(out.back().text.size(), (rows + kHearerRowsAStep - 1) / kHearerRowsAStep);
  }
  return out;
}

/// In many schedules, the window has fewer rows than a step needs.
TEST(Hearer, IsTheSameUnderAnySchedule) {
  Executor executor(1);
  const std::vector<ExpectedAnswer> expected = hearings(executor);
  const auto pipeline = make_hearer_pipeline();
  double preemptions = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const size_t kv_bytes = (seed % 2 == 0 ? 4 : 200) * kDuetPage;
    preemptions += MixedSchedule(seed, pipeline, expected, kv_bytes, executor).run().preemptions;
    if (HasFailure()) FAIL() << "in schedule " << seed;
  }
  EXPECT_GT(preemptions, 0) << "no preemption was forced";
}

TEST(Hearer, IsCancelledAtAnyMoment) {
  Executor executor(1);
  const std::vector<ExpectedAnswer> expected = hearings(executor);
  cancel_at_any_moment(make_hearer_pipeline(), expected[3], executor);
}

/// The rows of a long recording that comes at once do not pile up before a slow AR node.
TEST(Hearer, AFullEdgeStopsTheChunkNodeBeforeIt) {
  Executor executor(1);
  for (const int window : {1, 10, 100}) {
    ScriptedMachine machine(
        {.slots = {{{1, true}, {1, true}}},
         .batch_s = [](const Batch& batch) { return batch.kind() == Plan::kAr ? 0.5 : 1e-3; }},
        &executor);
    machine.add(rewired(make_hearer_pipeline(), [window](Edge& edge) {
      if (edge.from.node == 0) edge.window = window;
    }));
    const auto client = machine.submit(heard(140));
    machine.turn();
    const Sequence& sequence = *client->active->runs[1].ar->sequence;
    int64_t most = 0;
    while (!client->done) {
      most = std::max(most, sequence.unused_frames());
      ASSERT_TRUE(machine.next());
    }
    EXPECT_EQ(client->written, run_alone(make_hearer_pipeline(), heard(140), executor).text);
    // A chunk has at most 4 frames.
    EXPECT_LE(most, std::max(window, kHearerRowsAStep) - 1 + 4 * kHearerRows) << window;
    EXPECT_GE(most, std::min(window, kHearerRowsAStep));
  }
}

/// Samples arrive in pieces, while their request waits for a full edge or for more samples.
TEST(Hearer, TakesSamplesInAnyPieces) {
  Executor executor(1);
  const SpeechRequest whole = heard(120);
  const std::string expected = run_alone(make_hearer_pipeline(), whole, executor).text;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Dice dice(seed);
    Script script;
    script.slots = {std::vector<SlotSpec>(dice.between(1, 3)), false, false};
    script.batch_s = [&](const Batch&) { return dice.seconds(2e-3); };
    ScriptedMachine machine(script, &executor);
    machine.add(rewired(make_hearer_pipeline(), [&](Edge& edge) {
      if (edge.from.node == 0) edge.window = dice.between(1, 20);
    }));
    SpeechRequest request = whole;
    request.say.open = true;
    size_t at = dice.below(100);
    request.say.text.resize(at);
    const auto client = machine.submit(request);
    while (at < whole.say.text.size()) {
      machine.run_until(machine.now() + dice.seconds(0.02));
      const std::string piece = whole.say.text.substr(at, dice.between(1, 50));
      at += piece.size();
      machine.scheduler.append_samples(client->id, hearer_samples(piece),
                                       at == whole.say.text.size());
    }
    machine.run_to_end();
    ASSERT_TRUE(client->done) << seed;
    EXPECT_EQ(client->written, expected) << seed;
    expect_clean(machine, 1);
  }
}

}  // namespace
}  // namespace syrinx
