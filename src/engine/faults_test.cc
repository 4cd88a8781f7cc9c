// CONTRACT.md, I8: any function that the engine calls may throw. Then the request fails or
// continues; others are not affected. At the end no page, seat, sequence or stream is in use.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <new>
#include <string>

#include "base/fault.h"
#include "engine/failing_new_test.h"
#include "engine/testing/breakable_model.h"
#include "engine/testing/scripted_asks.h"

namespace syrinx {
namespace {

constexpr int kSteps = 10;  // steps of each request

SpeechRequest ask_to_break(const std::string& how, uint64_t seed) {
  SpeechRequest request = ask(how.empty() ? "none 0" : how, seed);
  request.terms.max_frames = kSteps;
  return request;
}

/// Returns the samples of a request of the breakable model.
std::vector<float> frames_of(uint64_t seed) {
  std::vector<float> out;
  for (uint64_t step = 0; step < kSteps; ++step) {
    const auto code = static_cast<float>((seed + 7 * step) % 64);
    out.insert(out.end(), {code, code + 100});
  }
  return out;
}

EngineOptions roomy() {
  EngineOptions options = patient();
  options.kv_bytes = 1 << 20;
  return options;
}

void expect_nothing_left(ScriptedMachine& machine, const BreakableModel& model,
                         const std::string& what) {
  const ResidentModel& resident = machine.model();
  machine.turn();
  EXPECT_EQ(resident.requests, 0) << what;
  EXPECT_EQ(resident.nodes[0].steps_in_flight, 0) << what;
  EXPECT_EQ(resident.nodes[0].pages->available(), resident.nodes[0].pages->total()) << what;
  EXPECT_EQ(machine.scheduler.in_flight(), 0) << what;
  EXPECT_EQ(machine.scheduler.load(resident).running, 0) << what;
  EXPECT_EQ(model.alive->sequences, 0) << what;
  EXPECT_EQ(model.alive->streams, 0) << what;
}

const std::array kSlots = {
    SlotsSpec{{{1, true}}, true, false},
    SlotsSpec{{{1, false}, {1, true}}, false, true},
    SlotsSpec{{{1, true}, {1, true}}, false, false},
};

/// A sequence throws in each of its functions, at several calls. Each time only its request fails.
TEST(Faults, I8_ASequenceThatThrowsAnywhereFailsItsRequestOnly) {
  int failed = 0;
  for (const char* where :
       {"open", "open_stream", "prompt_rows", "companion_rows", "max_steps", "ready", "known_rows",
        "guidance", "prefix_keys", "scores", "advance", "append_text", "cut"}) {
    for (const char* what : {"", " memory", " nothing", " number"}) {
      for (const int call : {1, 2, 7, 23}) {
        const std::string how = concat(where, " ", call, what);
        ScriptedMachine machine(
            {.options = roomy(), .slots = kSlots[static_cast<size_t>(call) % 3]});
        const auto model = std::make_shared<BreakableModel>();
        machine.add(model);
        SpeechRequest bad = ask_to_break(how, 5), pair = ask_to_break("", 3);
        if (call % 2 == 1) bad.sampling.guidance = 2.f;
        pair.sampling.guidance = 1.5f;
        bad.say.open = std::string(where) == "append_text";
        const Client one = machine.submit(ask_to_break("", 1));
        const Client broken = machine.submit_soon(bad);
        const Client two = machine.submit(pair);
        machine.turn();
        for (int i = 0; i < 30; ++i) {
          machine.scheduler.append_text(broken->id, "x", i == 29);
          machine.next();
        }
        const Client three = machine.submit(ask_to_break("", 9));
        machine.run_to_end();
        EXPECT_EQ(one->samples, frames_of(1)) << how;
        EXPECT_EQ(two->samples, frames_of(3)) << how;
        EXPECT_EQ(three->samples, frames_of(9)) << how;
        ASSERT_TRUE(broken->done) << how;
        if (broken->outcome.reason == FinishReason::kError) {
          ++failed;
          EXPECT_EQ(broken->outcome.error.code, ErrorCode::kInternal) << how;
        } else {
          EXPECT_EQ(broken->samples, frames_of(5)) << how << ": it was never called so often";
        }
        expect_nothing_left(machine, *model, how);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(failed, 100);
}

/// A stage that throws fails the requests of its batch. Later requests are served, also when they
/// use the same Batch object.
TEST(Faults, I8_AStageThatThrowsFailsItsBatchOnly) {
  for (const char* where : {"forward", "logits", "run", "sampling", "rule", "history"}) {
    for (const char* what : {"", " memory", " nothing", " number"}) {
      for (const int call : {1, 2, 3}) {
        for (const SlotsSpec& slots : kSlots) {
          const std::string how = concat(where, " ", call, what);
          ScriptedMachine machine({.options = roomy(), .slots = slots});
          const auto model = std::make_shared<BreakableModel>();
          machine.add(model);
          std::vector<const Active*> hit;
          machine.script.ends = [&](Batch& batch) {
            if (!batch.fault.empty()) hit.assign(batch.owners.begin(), batch.owners.end());
          };
          const Client bad = machine.submit(ask_to_break(how, 5));
          machine.run_until(1e-3);
          const Client beside = machine.submit(ask_to_break("", 2));
          machine.run_to_end();
          EXPECT_EQ(bad->outcome.reason, FinishReason::kError) << how;
          EXPECT_FALSE(bad->outcome.error.message.empty()) << how;
          EXPECT_EQ(bad->outcome.error.code, ErrorCode::kInternal) << how;
          if (beside->outcome.reason != FinishReason::kError) {
            EXPECT_EQ(beside->samples, frames_of(2)) << how;
          } else {
            EXPECT_GT(hit.size(), 1u) << how << ": it failed and was not in that batch";
          }
          const Client after = machine.submit(ask_to_break("", 4));
          machine.run_to_end();
          EXPECT_EQ(after->samples, frames_of(4)) << how << ": " << after->outcome.error.message;
          expect_nothing_left(machine, *model, how);
          if (HasFailure()) return;
        }
      }
    }
  }
}

/// A fault while the results of a batch are applied fails the requests of the batch only, whatever
/// is thrown.
TEST(Faults, I8_AFaultOfACommitFailsItsBatchOnly) {
  for (const char* what : {"", " memory", " nothing", " number"}) {
    ScriptedMachine machine({.options = roomy()});
    const auto model = std::make_shared<BreakableModel>();
    machine.add(model);
    const Client bad = machine.submit(ask_to_break("", 5));
    machine.script.ends = [&](Batch& batch) {
      if (batch.owners.front() == bad->active && batch.kind() == Plan::kAr)
        model->break_stage(concat("traits 1", what));
    };
    machine.run_to_end();
    EXPECT_EQ(bad->outcome.reason, FinishReason::kError) << what;
    EXPECT_EQ(bad->outcome.error.code, ErrorCode::kInternal) << what;
    EXPECT_FALSE(bad->outcome.error.message.empty()) << what;
    machine.script.ends = {};
    const Client after = machine.submit(ask_to_break("", 4));
    machine.run_to_end();
    EXPECT_EQ(after->samples, frames_of(4)) << what << after->outcome.error.message;
    expect_nothing_left(machine, *model, what);
  }
}

/// A batch that no executor accepts fails only its own requests, whose frames it has taken.
TEST(Faults, I8_ABatchThatFindsNoExecutorFailsItsRequestsOnly) {
  for (const auto kind : {Plan::kAr, Plan::kChunks}) {
    for (int at = 1; at < 6; ++at) {
      const std::string what = concat(kind == Plan::kAr ? "step " : "chunk ", at);
      std::vector<const Active*> lost;
      int batches = 0;
      ScriptedMachine machine({.options = roomy(), .slots = kSlots[static_cast<size_t>(at) % 3]});
      machine.script.begins = [&](const Batch& batch) {
        if (batch.kind() != kind || ++batches != at) return;
        lost.assign(batch.owners.begin(), batch.owners.end());
        throw std::runtime_error("no executor takes it");
      };
      const auto model = std::make_shared<BreakableModel>();
      machine.add(model);
      const std::array clients = {machine.submit(ask_to_break("", 1)),
                                  machine.submit(ask_to_break("", 2))};
      machine.run_to_end();
      ASSERT_GE(batches, at) << what;
      ASSERT_FALSE(lost.empty()) << what;
      for (size_t i = 0; i < clients.size(); ++i) {
        if (std::count(lost.begin(), lost.end(), clients[i]->active) == 0) {
          EXPECT_EQ(clients[i]->samples, frames_of(i + 1)) << what;
          continue;
        }
        EXPECT_EQ(clients[i]->outcome.error.message, "no executor takes it") << what;
        EXPECT_EQ(clients[i]->outcome.error.code, ErrorCode::kInternal) << what;
      }
      const Client after = machine.submit(ask_to_break("", 4));
      machine.run_to_end();
      EXPECT_EQ(after->samples, frames_of(4)) << what;
      expect_nothing_left(machine, *model, what);
      if (HasFailure()) return;
    }
  }
}

/// A row with logits that are not finite fails only its own request.
TEST(Faults, I8_LogitsThatAreNotFiniteFailTheirRequest) {
  for (const char* text : {"abc~defghi", "abc`defghi"}) {  // NaN for all codes, or for the second
    ScriptedMachine machine({.options = patient()});
    machine.add(make_toy_pipeline());
    const Client bad = machine.submit(ask(text)), good = machine.submit(ask_bytes(20, 3));
    machine.run_to_end();
    EXPECT_EQ(bad->outcome.error.message, "the logits are not finite") << text;
    EXPECT_EQ(bad->outcome.error.code, ErrorCode::kInternal);
    EXPECT_EQ(good->samples, heard_alone(ask_bytes(20, 3)));
  }
}

/// The last resort of the engine's thread works without memory for the message of a fault.
TEST(Faults, I8_AFaultNeedsNoMemory) {
  const std::runtime_error error(std::string(100, 'x'));
  const auto fault = fault_of([&] {
    allocations::fail_after(1);
    throw error;
  });
  EXPECT_TRUE(allocations::fail_after(0)) << "the message took no memory";
  EXPECT_EQ(fault, "no memory");
  ScriptedMachine machine({.options = roomy()});
  const auto model = std::make_shared<BreakableModel>();
  machine.add(model);
  const std::array clients = {machine.submit(ask_to_break("", 1)),
                              machine.submit(ask_to_break("", 2))};
  const std::string why = error.what();
  allocations::fail_after(1);
  machine.scheduler.fail_all(why);
  EXPECT_TRUE(allocations::fail_after(0)) << "the messages took no memory";
  for (const Client& client : clients) {
    EXPECT_EQ(client->outcome.error.code, ErrorCode::kInternal);
    EXPECT_FALSE(client->outcome.error.message.empty());
  }
  machine.run_to_end();
  expect_nothing_left(machine, *model, "");
}

/// The n-th allocation of a turn fails, for every n: in planning, building, committing and in calls
/// of sinks. An unexpected exception may fail the present requests, because the engine's thread
/// then calls fail_all(). But no pages or seats stay in use, and later requests are served.
TEST(Faults, I8_AnAllocationThatFailsLeavesNothingBehind) {
  int failures = 0, last_resorts = 0;
  for (int begin = 0; begin < 4; ++begin) {
    for (int n = 1; n < 120; ++n) {
      const std::string what = concat("allocation ", n, " after turn ", 3 * begin);
      ScriptedMachine machine({.options = roomy(), .slots = kSlots[static_cast<size_t>(n) % 3]});
      const auto model = std::make_shared<BreakableModel>();
      machine.add(model);
      SpeechRequest pair = ask_to_break("", 3), open = ask_to_break("", 6);
      pair.sampling.guidance = 1.5f;
      open.say.open = true;
      const std::vector<Client> clients = {
          machine.submit(ask_to_break("", 1)), machine.submit(pair),
          machine.submit_soon(ask_to_break("", 2)), machine.submit(open)};
      const auto turn = [&](auto&& work) {
        try {
          work();
        } catch (const std::exception& e) {
          allocations::fail_after(0);
          ++last_resorts;
          machine.scheduler.fail_all(e.what());
        }
      };
      const auto dispatch = [&] {
        for (int i = 0; machine.scheduler.dispatch(); ++i) ASSERT_LT(i, 1000) << what;
      };
      for (int turns = 0; turns < 200 && !HasFatalFailure(); ++turns) {
        if (turns == 3 * begin) allocations::fail_after(n);
        turn([&] { machine.platform.hand_back(machine.scheduler); });
        if (turns == 3 * begin + 1) {
          turn([&] { machine.scheduler.append_text(clients[3]->id, "x", true); });
        }
        turn(dispatch);
        if (turns == 3 * begin + 2 && allocations::fail_after(0)) ++failures;
        const double next_s = machine.next_s();
        if (!std::isfinite(next_s)) break;
        machine.platform.set(next_s);
      }
      allocations::fail_after(0);
      machine.scheduler.append_text(clients[3]->id, "x", true);  // in case it was not called above
      machine.run_to_end();
      for (const Client& client : clients) {
        ASSERT_TRUE(client->done) << what << ": request " << client->id;
      }
      const Client after = machine.submit(ask_to_break("", 8));
      machine.run_to_end();
      EXPECT_EQ(after->samples, frames_of(8)) << what << ": " << after->outcome.error.message;
      expect_nothing_left(machine, *model, what);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(failures, 50) << "the test forced nothing";
  EXPECT_GT(last_resorts, 0);
}

/// A request that fails for lack of memory during its admission gets that error.
TEST(Faults, I8_AdmittedRequestsAreNotLost) {
  int failed = 0;
  for (int n = 1; n < 20; ++n) {
    for (const bool soon : {false, true}) {
      ScriptedMachine machine({.options = roomy()});
      const auto model = std::make_shared<BreakableModel>();
      ResidentModel& resident = machine.add(model);
      const auto client = std::make_shared<ScriptedClient>(machine.platform, 24000);
      const SpeechRequest request = ask_to_break("", 1);
      std::unique_ptr<Active> one =
          soon ? make_active(resident, request, client, machine.now()).take()
               : open_active(resident, request, client, machine.now()).take();
      one->id = 77;
      allocations::fail_after(n);
      machine.scheduler.take_in(std::move(one));
      failed += allocations::fail_after(0) ? 1 : 0;
      machine.run_to_end();
      EXPECT_TRUE(client->done) << n;
      if (client->outcome.reason != FinishReason::kError) {
        EXPECT_EQ(client->samples, frames_of(1));
      }
      const Client after = machine.submit(ask_to_break("", 2));
      machine.run_to_end();
      EXPECT_EQ(after->samples, frames_of(2)) << n;
      expect_nothing_left(machine, *model, concat("allocation ", n));
    }
  }
  EXPECT_GT(failed, 0) << "the test forced nothing";
}

/// A sink that throws affects only its own request.
TEST(Faults, I8_AClientThatThrowsHarmsNoOther) {
  class Thrower : public Sink {
   public:
    explicit Thrower(bool at_end) : at_end_(at_end) {}
    void audio(std::span<const float>) override {
      if (!at_end_) throw std::runtime_error("the client broke");
    }
    void finished(const Outcome& ended) override {
      ++ends, outcome = ended;
      if (at_end_) throw std::runtime_error("the client broke at its end");
    }
    int ends = 0;
    Outcome outcome;

   private:
    bool at_end_;
  };
  for (const bool at_end : {false, true}) {
    for (const bool cancelled : {false, true}) {
      ScriptedMachine machine({.options = roomy()});
      const auto model = std::make_shared<BreakableModel>();
      ResidentModel& resident = machine.add(model);
      const auto thrower = std::make_shared<Thrower>(at_end);
      auto opened = open_active(resident, ask_to_break("", 1), thrower, machine.now());
      opened.value()->id = 77;
      const Client good = machine.submit(ask_to_break("", 2));
      machine.scheduler.take_in(opened.take());
      machine.turn();
      if (cancelled) machine.scheduler.cancel(77);
      machine.run_to_end();
      EXPECT_EQ(thrower->ends, 1);
      EXPECT_EQ(good->samples, frames_of(2)) << good->outcome.error.message;
      expect_nothing_left(machine, *model, "a client that throws");
    }
  }
}

/// The clock jumps by a third of a second, or by an hour, in each turn. No request is refused or
/// fails.
TEST(Faults, I8_AClockThatJumpsFailsNoRequest) {
  for (const double jump_s : {0.3, 3600.0}) {
    for (int at = 1; at < 40; ++at) {
      int batches = 0;
      ScriptedMachine machine(
          {.options = patient(),
           .slots = kSlots[static_cast<size_t>(at) % 3],
           .batch_s = [&](const Batch&) { return ++batches == at ? jump_s : 1e-3; }});
      const ResidentModel& model = machine.add(make_toy_pipeline());
      const Client one = machine.submit(ask_bytes(20, 1)), two = machine.submit(ask_bytes(30, 2));
      machine.run_to_end();
      EXPECT_EQ(one->samples, heard_alone(ask_bytes(20, 1))) << at;
      EXPECT_EQ(two->samples, heard_alone(ask_bytes(30, 2))) << at;
      EXPECT_LE(one->outcome.underruns, 1) << at;
      EXPECT_LE(two->outcome.underruns, 1) << at;
      EXPECT_FALSE(model.load.limit().limited());
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace syrinx
