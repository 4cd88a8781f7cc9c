// The slowdown of new requests under load: the class alone, and in a scheduler on a scripted clock.
#include <gtest/gtest.h>

#include "engine/testing/scripted_asks.h"

namespace syrinx {
namespace {

TEST(Slowdown, ComparesWithARequestAlone) {
  Slowdown slowdown;
  EXPECT_EQ(slowdown.value(0, 0, 0), 1);
  slowdown.first_output(0.4, false, 1);
  EXPECT_EQ(slowdown.value(3, 4, 1), 1) << "nothing to compare with";
  EXPECT_FALSE(slowdown.is_slow(100));
  Slowdown cold;
  cold.first_output(0.3, true, 1);  // slow, because the caches are cold
  for (int i = 0; i < 6; ++i) cold.first_output(0.04, true, 20 + 20 * i);
  cold.first_output(0.08, true, 200);  // slow, because the prompt is long
  EXPECT_TRUE(cold.is_slow(0.06));
  EXPECT_FALSE(cold.is_slow(0.04));
}

TEST(Slowdown, FollowsNewcomersAndForgets) {
  Slowdown slowdown;
  slowdown.first_output(0.05, true, 0);
  EXPECT_NEAR(slowdown.value(0, 0, 0), 1, 1e-9);
  slowdown.first_output(0.2, false, 100);
  EXPECT_NEAR(slowdown.value(0, 0, 100), 2.5, 1e-9) << "one slow one is not the rule";
  for (int i = 0; i < 9; ++i) slowdown.first_output(0.2, false, 100);
  EXPECT_NEAR(slowdown.value(0, 0, 100), 41. / 11, 1e-9);
  const double later = slowdown.value(0, 0, 100 + Slowdown::kMemory_s);
  EXPECT_LT(later, 3.5);
  EXPECT_GT(later, 2);
  EXPECT_NEAR(slowdown.value(0, 0, 120), 1, 1e-2);
  // Requests that still wait count as slow, also before their first output.
  EXPECT_NEAR(slowdown.value(5 * 0.5, 5, 120), (0.05 + 2.5) / 6 / 0.05, 0.05);
  EXPECT_EQ(Slowdown::faded(4, 0), 4);
  EXPECT_NEAR(Slowdown::faded(4, Slowdown::kMemory_s), 1 + 3 / std::exp(1), 1e-9);
}

double slowdown_now(ScriptedMachine& machine) { return machine.model().metrics.slowdown.value(); }

/// Seats and capacity suffice for many requests, but each one waits for the prompts of the others.
TEST(Slowdown, IsFeltLongBeforeSeatsAreShort) {
  EngineOptions options = patient();
  options.max_prefill_rows = 64;
  ScriptedMachine machine({.options = options, .batch_s = [](const Batch& batch) {
                             return batch.units() * (batch.kind() == Plan::kAr ? 4e-4 : 1e-5);
                           }});
  ResidentModel& model = machine.add(make_toy_pipeline());
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(machine.submit(ask_bytes(200, i)));
    machine.run_to_end();
  }
  EXPECT_NEAR(slowdown_now(machine), 1, 0.05);
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(machine.submit(ask_bytes(200, i)));
  double most = 0;
  machine.turn();
  while (machine.next()) most = std::max(most, slowdown_now(machine));
  EXPECT_GT(most, 2.5);
  EXPECT_LT(12, machine.scheduler.load(model).seats / 2) << "seats are not short at all";
  // For a later request that is alone, the slowdown is 1 again.
  for (int i = 0; i < 3; ++i) {
    machine.platform.set(machine.now() + 10);
    ASSERT_TRUE(machine.submit(ask_bytes(200, i)));
    machine.run_to_end();
  }
  EXPECT_NEAR(slowdown_now(machine), 1, 0.1);
}

/// The slowdown ignores waits for the client's late text, and work in the background.
TEST(Slowdown, WaitsForTheClientDoNotCount) {
  ScriptedMachine machine({.options = patient()});
  machine.add(make_toy_pipeline());
  ASSERT_TRUE(machine.submit(ask_bytes(100)));
  machine.run_to_end();
  const auto open = machine.submit(ask_open(""));
  ASSERT_TRUE(open);
  machine.turn();
  machine.platform.set(machine.now() + 5);
  ASSERT_TRUE(machine.submit(ask_bytes(100)));
  machine.turn();
  for (int i = 0; i < 2000 && machine.next(); ++i) {
  }
  EXPECT_LT(slowdown_now(machine), 1.7);
}

}  // namespace
}  // namespace syrinx
