// Tests a toy model, in which a thinker feeds a talker, with random schedules (mixed_schedules.h).
#include "model/toy/duet.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace syrinx
