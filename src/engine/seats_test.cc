// The assignment of seats on a scripted clock: limits, several models, refusals, requests whose
// prompts are still being made, models that leave.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/testing/scripted_asks.h"

namespace syrinx {
namespace {

/// Returns the time of a batch: a second of audio takes half a second, so two streams can be fed.
double half_a_second_each(const Batch& batch) {
  return batch.units() * (batch.kind() == Plan::kAr ? 9e-3 : 5e-4);
}

TEST(Seats, AFewAreGivenHoweverSlowTheMachineIs) {
  ScriptedMachine machine({.options = patient(), .batch_s = half_a_second_each});
  ResidentModel& model = machine.add(make_toy_pipeline());
  warm_up(machine);
  ASSERT_LT(model.load.capacity(), 3);
  EXPECT_EQ(machine.scheduler.load(model).seats, 8);
}

TEST(Seats, AreNotLimitedBeforeEnoughWasMade) {
  ScriptedMachine machine({.options = patient(), .batch_s = half_a_second_each});
  ResidentModel& model = machine.add(make_toy_pipeline());
  // these requests have 18 s of audio together
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(machine.submit(ask_bytes(100)));
  machine.run_to_end();
  ASSERT_GT(model.load.capacity(), 0);
  EXPECT_EQ(machine.scheduler.load(model).seats, model.options.max_requests);
  ASSERT_TRUE(machine.submit(ask_bytes(150)));  // this request adds 3 s
  machine.run_to_end();
  EXPECT_EQ(machine.scheduler.load(model).seats, 8);
}

TEST(Seats, OnlyThePolicyWithDeadlinesLimitsAndRefuses) {
  EngineOptions options = patient();
  options.policy = "throughput";
  options.max_requests = 3;
  options.max_wait_s = 0.1;
  ScriptedMachine machine({.options = options, .batch_s = half_a_second_each});
  ResidentModel& model = machine.add(make_toy_pipeline());
  std::vector<Client> clients;
  for (int i = 0; i < 12; ++i) clients.push_back(machine.submit(ask_bytes(100, i)));
  machine.turn();
  EXPECT_EQ(machine.scheduler.load(model).running, 3);
  EXPECT_EQ(machine.scheduler.load(model).waiting, 9);
  machine.run_to_end();
  for (const Client& client : clients) EXPECT_EQ(client->outcome.reason, FinishReason::kStop);
  EXPECT_GT(clients.back()->outcome.waited_s, 0.5);
  EXPECT_NEAR(clients.front()->outcome.waited_s, 0, 1e-6);
  ASSERT_GT(model.load.made_s(), 20);
  EXPECT_EQ(machine.scheduler.load(model).seats, 3);
}

TEST(Seats, OneModelsStreamsTakeFromTheOthersShare) {
  ScriptedMachine machine({.options = patient(), .batch_s = ninety_ms_a_second});
  ResidentModel& one = machine.add(make_toy_pipeline());
  ResidentModel& other = machine.add(make_toy_pipeline());
  for (int round = 0; round < 4; ++round) {  // much longer than the requests below
    warm_up(machine, 0);
    warm_up(machine, 1);
  }
  const double before = machine.scheduler.load(other).seats;
  ASSERT_GT(before, 9);
  ASSERT_LT(before, 12);
  ASSERT_TRUE(machine.submit(ask_bytes(400)));
  machine.turn();
  const double after = machine.scheduler.load(other).seats;
  EXPECT_NEAR(before - after, other.load.capacity() / one.load.capacity(), 0.1);
}

TEST(Seats, RequestsEndAsFastAsTheirAudioIsMade) {
  ScriptedMachine machine({.options = patient(), .batch_s = ninety_ms_a_second});
  ResidentModel& model = machine.add(make_toy_pipeline());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(machine.submit(ask_bytes(200)));
  machine.run_to_end();
  EXPECT_NEAR(model.load.mean_made_s(), 4, 1e-9);
  EXPECT_NEAR(machine.scheduler.load(model).finish_rate, model.load.capacity() / 4, 1e-6);
  ASSERT_TRUE(machine.submit(ask_bytes(100)));
  machine.run_to_end();
  EXPECT_NEAR(model.load.mean_made_s(), 4 - 0.02 * 2, 1e-9) << "the newest counts a little";
  // Requests end at a rate that follows from the seat limit, not from the larger capacity.
  for (int look = 0; look < 40; ++look) {
    model.load.limit().chunk(true);
    model.load.limit().observe(machine.now() + 0.3 * look, 5, machine.now() + 0.3 * look);
  }
  ASSERT_LT(model.load.limit().seats(), model.load.capacity());
  const Load load = machine.scheduler.load(model);
  EXPECT_NEAR(load.finish_rate, model.load.limit().seats() / model.load.mean_made_s(), 1e-9);
  EXPECT_NEAR(machine.scheduler.look_again_s(), SeatLimit::kLook_s, 1e-9)
      << "a limit is looked at again though nobody waits";
}

/// A client's requests to one model do not count towards its seats of another model.
TEST(Seats, FairnessIsReckonedForEachModel) {
  EngineOptions options = patient();
  ScriptedMachine machine({.options = options, .batch_s = ninety_ms_a_second});
  machine.add(make_toy_pipeline());
  options.max_requests = 200;
  ResidentModel& tight = machine.add(make_toy_pipeline(), options);
  warm_up(machine, 1);
  SpeechRequest first = ask_bytes(100), second = first;
  first.terms.client = 1, second.terms.client = 2;
  SpeechRequest elsewhere = ask_bytes(2000);
  elsewhere.terms.client = 1;
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(machine.submit(elsewhere, 0));
  machine.turn();
  std::vector<Client> holders;
  for (int i = 0; i < 12; ++i) {
    SpeechRequest other = ask_bytes(100 + 7 * i);  // seats become free one at a time
    other.terms.client = 100 + static_cast<uint64_t>(i);
    holders.push_back(machine.submit(other, 1));
  }
  machine.turn();
  ASSERT_GT(machine.scheduler.load(tight).waiting, 0) << "the test forced nothing";
  const Client one = machine.submit(first, 1), two = machine.submit(second, 1);
  while (!one->active->promoted && !two->active->promoted) ASSERT_TRUE(machine.next());
  EXPECT_EQ(machine.scheduler.load(machine.model(0)).running, 6) << "the test forced nothing";
  EXPECT_TRUE(one->active->promoted) << "it came first, and has nothing of this model";
  EXPECT_FALSE(two->active->promoted) << "the test forced nothing";
}

TEST(Seats, ARequestWhosePromptsAreStillMadeHasNoSeat) {
  EngineOptions options = patient();
  options.policy = "throughput";
  options.max_requests = 1;
  double takes_s = 5;
  ScriptedMachine machine({.options = options, .job_s = [&](const HostJob&) { return takes_s; }});
  ResidentModel& model = machine.add(make_toy_pipeline());
  const Client slow = machine.submit_soon(ask_open("", 2)), quick = machine.submit(ask_bytes(20));
  machine.scheduler.append_text(slow->id, "some ", false);
  machine.scheduler.append_text(slow->id, "text", true);
  machine.turn();
  EXPECT_TRUE(quick->active->promoted);
  machine.run_until(4);
  EXPECT_TRUE(quick->done);
  EXPECT_FALSE(slow->done);
  machine.run_to_end();
  EXPECT_EQ(slow->samples, heard_alone(ask("some text", 2))) << "its early text, in order";
  EXPECT_EQ(model.metrics.prompt_rows.value(), 3 + 3) << "each prompt was begun once";

  // The request is cancelled while its prompts are made. The client gets the end immediately, and
  // the scheduler removes the request when the prompts are back.
  const Client gone = machine.submit_soon(ask_bytes(10));
  machine.turn();
  machine.scheduler.cancel(gone->id);
  machine.turn();
  EXPECT_TRUE(gone->done);
  EXPECT_EQ(model.requests, 1);
  machine.run_to_end();
  EXPECT_EQ(model.requests, 0);
  // These requests fail, because their prompts cannot be made or never fit into the cache.
  takes_s = 0.1;
  const Client empty = machine.submit_soon(ask(""));
  machine.run_to_end();
  EXPECT_EQ(empty->outcome.error.code, ErrorCode::kInvalid);
  EXPECT_EQ(model.requests, 0);
}

/// The promised wait is a wait for a seat. A request whose prompts take longer is served if a seat
/// is free, and refused otherwise.
TEST(Seats, SlowPromptsAreRefusedOnlyWithoutAFreeSeat) {
  EngineOptions options = patient();
  options.max_wait_s = 0.5;
  ScriptedMachine machine({.options = options,
                           .batch_s = ninety_ms_a_second,
                           .job_s = [](const HostJob&) { return 3.0; }});
  machine.add(make_toy_pipeline());
  const Client alone = machine.submit_soon(ask_bytes(20));
  machine.run_to_end();
  EXPECT_EQ(alone->outcome.reason, FinishReason::kStop) << alone->outcome.error.message;
  warm_up(machine);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(machine.submit(ask_bytes(2000)));
  machine.turn();
  ASSERT_GT(machine.scheduler.load(machine.model()).waiting, 0) << "the test forced nothing";
  const Client late = machine.submit_soon(ask_bytes(20));
  machine.run_to_end();
  EXPECT_EQ(late->outcome.error.code, ErrorCode::kOverloaded);
}

TEST(Seats, AModelLeavesWhenItsLastRequestHas) {
  EngineOptions options = patient();
  options.policy = "throughput";
  options.max_requests = 1;
  ScriptedMachine machine({.options = options,
                           .slots = {{{1, true}, {1, true}}, false, false},
                           .batch_s = [](const Batch&) { return 0.1; }});
  machine.add(make_toy_pipeline());
  ResidentModel& leaving = machine.add(make_toy_pipeline());
  const Client stays = machine.submit(ask_bytes(20, 3)), running = machine.submit(ask_bytes(20), 1),
               waiting = machine.submit(ask_bytes(20), 1);
  machine.turn();
  ASSERT_TRUE(running->active->promoted);
  ASSERT_FALSE(waiting->active->promoted);
  machine.scheduler.remove(leaving);
  EXPECT_EQ(running->outcome.reason, FinishReason::kCancelled);
  EXPECT_EQ(waiting->outcome.reason, FinishReason::kCancelled);
  machine.turn();
  EXPECT_EQ(leaving.requests, 1) << "a batch is still under way";
  EXPECT_TRUE(machine.scheduler.has(leaving));
  machine.run_to_end();
  EXPECT_EQ(leaving.requests, 0);
  EXPECT_FALSE(machine.scheduler.has(leaving));
  EXPECT_EQ(stays->samples, heard_alone(ask_bytes(20, 3)));
}

/// With split executors, the AR nodes of different models get different executors, even the
/// executor that otherwise runs only chunks.
TEST(Seats, ModelsTakeTurnsInHavingAnExecutorForTheirSteps) {
  ScriptedMachine machine({.options = patient(), .slots = {{{1, false}, {1, true}}, false, true}});
  ResidentModel& one = machine.add(make_toy_pipeline());
  ResidentModel& other = machine.add(make_toy_pipeline());
  ResidentModel& third = machine.add(make_toy_pipeline());
  EXPECT_EQ(one.nodes[0].slot, 1);
  EXPECT_EQ(other.nodes[0].slot, 0);
  EXPECT_EQ(third.nodes[0].slot, 1);
  machine.script.begins = [&](const Batch& batch) {
    if (batch.kind() != Plan::kAr) return;
    EXPECT_EQ(batch.executor, batch.model->nodes[0].slot);
  };
  std::vector<Client> clients;
  for (size_t m = 0; m < 3; ++m) clients.push_back(machine.submit(ask_bytes(30, m), m));
  machine.run_to_end();
  for (size_t m = 0; m < 3; ++m) EXPECT_EQ(clients[m]->samples, heard_alone(ask_bytes(30, m)));
}

TEST(Seats, NoRequestWaitsOnAnExecutorBehindAnotherModel) {
  EngineOptions options = patient();
  options.policy = "fcfs";
  ScriptedMachine machine({.options = options, .batch_s = [](const Batch&) { return 0.01; }});
  machine.add(make_toy_pipeline());
  machine.add(make_toy_pipeline());
  std::vector<const Batch*> running;
  machine.script.begins = [&](const Batch& batch) {
    for (const Batch* other : running) {
      EXPECT_EQ(other->model, batch.model);
    }
    running.push_back(&batch);
  };
  machine.script.ends = [&](Batch& batch) { std::erase(running, &batch); };
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(machine.submit(ask_bytes(60, i), 0));
    ASSERT_TRUE(machine.submit(ask_bytes(60, i), 1));
  }
  machine.run_to_end();
}

/// A paused client that reads again sends no signal, so the engine polls it.
TEST(Seats, AReaderThatGoesOnIsNoticedSoon) {
  ScriptedMachine machine({.options = patient(), .batch_s = [](const Batch&) { return 1e-3; }});
  machine.add(make_toy_pipeline());
  const Client client = machine.submit(ask_bytes(50));
  machine.turn();
  while (client->pieces.empty()) ASSERT_TRUE(machine.next());
  client->unread = 1e6;
  machine.run_until(machine.now() + 1);
  EXPECT_FALSE(client->done);
  EXPECT_LE(machine.next_s(), machine.now() + 0.011);
  client->unread = 0;
  machine.run_to_end();
  EXPECT_EQ(client->samples, heard_alone(ask_bytes(50)));
}

// ---------------------------------------------------------------------------- what fits

TEST(Seats, WhatJustFitsIsTakenAndOneRowMoreIsNot) {
  ScriptedMachine machine({.options = patient(2)});  // two pages of 32 rows
  machine.add(make_toy_pipeline());
  SpeechRequest request = ask_bytes(10);
  request.terms.max_frames = 61;  // 64 rows with the three rows of the prompt
  EXPECT_TRUE(machine.submit(request)) << machine.refusal.message;
  request.terms.max_frames = 62;
  EXPECT_FALSE(machine.submit(request));
  EXPECT_EQ(machine.refusal.message, "the text may need 65 positions, but there is room for 64");
  request.sampling.guidance = 2.f;
  request.terms.max_frames = 29;
  EXPECT_TRUE(machine.submit(request)) << machine.refusal.message;
  request.terms.max_frames = 30;
  EXPECT_FALSE(machine.submit(request)) << "a pair has half of the pages";
  machine.run_to_end();
}

TEST(Seats, AStreamEndsAtItsLength) {
  ScriptedMachine machine({.options = patient()});
  machine.add(make_toy_pipeline());
  SpeechRequest request = ask_bytes(40);
  request.terms.max_frames = 10;
  const Client client = machine.submit(request);
  machine.run_to_end();
  EXPECT_EQ(client->outcome.reason, FinishReason::kLength);
  EXPECT_EQ(client->outcome.frames, 10);
  EXPECT_EQ(client->samples, heard_alone(request));
}

/// A node that has ended keeps no pages while chunk nodes still process its frames.
TEST(Seats, PagesGoWithTheLastStep) {
  ScriptedMachine machine({.options = patient(), .batch_s = [](const Batch& batch) {
                             return batch.kind() == Plan::kAr ? 1e-4 : 0.1;
                           }});
  const ResidentModel& model = machine.add(make_toy_pipeline());
  const Client client = machine.submit(ask_bytes(60));
  machine.turn();
  while (client->active->runs[0].ar->open) ASSERT_TRUE(machine.next());
  EXPECT_FALSE(client->done);
  EXPECT_EQ(model.nodes[0].pages->available(), model.nodes[0].pages->total());
  machine.run_to_end();
  EXPECT_EQ(client->outcome.reason, FinishReason::kStop);
}

// ---------------------------------------------------------------------------- prefixes, pages

double prefix_rows(ScriptedMachine& machine) { return machine.model().metrics.prefix_rows.value(); }

TEST(Seats, ASegmentTakesWhatTheOneBeforeItLeft) {
  ScriptedMachine machine({.options = patient()});
  machine.add(make_toy_pipeline());
  SpeechRequest request = ask("abc|def|ghi", 4);
  request.say.instructions = std::string(40, 'x');
  const Client client = machine.submit(request);
  machine.run_to_end();
  EXPECT_EQ(client->samples, heard_alone(request));
  EXPECT_EQ(prefix_rows(machine), 2 * 40) << "the second and the third";
}

/// A prompt that runs in pieces is published as a whole. Requests that arrived at the same time
/// share it.
TEST(Seats, WaitingRequestsTakePrefixesPublishedMeanwhile) {
  EngineOptions options = patient();
  options.max_prefill_rows = 8;
  ScriptedMachine machine({.options = options});
  machine.add(make_toy_pipeline());
  SpeechRequest request = ask_bytes(20);
  request.say.instructions = std::string(64, 'x');
  const Client one = machine.submit(request), two = machine.submit(request);
  machine.run_to_end();
  EXPECT_EQ(prefix_rows(machine), 64);
  EXPECT_EQ(one->samples, two->samples);
  EXPECT_EQ(one->samples, heard_alone(request));
}

TEST(Seats, APairComputesItsCommonBeginningOnce) {
  for (const int common : {7, 8, 40}) {
    EngineOptions options = patient();
    options.share_prefixes = true;
    ScriptedMachine machine({.options = options});
    machine.add(make_toy_pipeline());
    SpeechRequest request = ask_bytes(12, 9);
    request.say.instructions = std::string(static_cast<size_t>(common), 'y');
    request.sampling.guidance = 1.7f;
    int rows = 0;
    machine.script.begins = [&](const Batch& batch) {
      if (batch.kind() == Plan::kAr) rows += batch.units();
    };
    const Client client = machine.submit(request);
    machine.run_to_end();
    EXPECT_EQ(client->samples, heard_alone(request));
    // 3 and 2 rows after the instructions, then eleven steps of the sequence and its companion.
    EXPECT_EQ(rows, (common >= 8 ? common : 2 * common) + 5 + 2 * 11) << common;
  }
}

/// A request that is paused by its reader loses its pages before a request that can continue.
TEST(Seats, APausedRequestLosesItsPagesFirst) {
  ScriptedMachine machine({.options = patient(4)});
  const ResidentModel& model = machine.add(make_toy_pipeline());
  SpeechRequest a = ask_bytes(100, 1), b = ask_bytes(60, 2), c = ask_bytes(60, 3);
  a.terms.max_frames = 110, b.terms.max_frames = c.terms.max_frames = 61;
  const Client first = machine.submit(a), paused = machine.submit(b);
  machine.turn();
  while (paused->pieces.empty()) ASSERT_TRUE(machine.next());
  paused->unread = 1e6;
  const Client last = machine.submit(c);
  const auto holds = [](const Client& client) {
    const ArRun& run = *client->active->runs[0].ar;
    return run.holds() || !run.open;
  };
  machine.turn();
  while (last->pieces.empty()) ASSERT_TRUE(machine.next());
  EXPECT_EQ(model.metrics.running.value(), 2) << "a paused request has no seat";
  // The oldest request needs a third page and the youngest a second page. Neither can continue.
  while (holds(paused) && holds(last)) {
    ASSERT_TRUE(machine.next());
    ASSERT_FALSE(first->done || last->done) << "the test forced nothing";
  }
  EXPECT_FALSE(holds(paused));
  EXPECT_TRUE(holds(last)) << "the youngest lost its pages first";
  paused->unread = 0;
  machine.run_to_end();
  EXPECT_EQ(paused->samples, heard_alone(b));
  EXPECT_EQ(last->samples, heard_alone(c));
}

}  // namespace
}  // namespace syrinx
