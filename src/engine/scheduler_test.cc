// The scheduler on a scripted clock: load, lateness, preemption and faults at chosen moments.
#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/testing/rewired.h"
#include "engine/testing/scripted_asks.h"
#include "model/toy/duet.h"
#include "model/toy/toy.h"

namespace syrinx {
namespace {

// ---------------------------------------------------------------------------- seats

TEST(Scheduler, LimitedSeatsGoToTheOldest) {
  std::vector<RequestId> begun;
  ScriptedMachine machine({.options = patient(), .batch_s = ninety_ms_a_second});
  machine.add(make_toy_pipeline());
  warm_up(machine);
  machine.script.begins = [&](const Batch& batch) {
    for (const Active* owner : batch.owners) {
      if (std::find(begun.begin(), begun.end(), owner->id) == begun.end())
        begun.push_back(owner->id);
    }
  };
  std::vector<Client> clients;
  for (int i = 0; i < 30; ++i) clients.push_back(machine.submit(ask_bytes(100)));
  machine.turn();
  const Load load = machine.scheduler.load(machine.model());
  EXPECT_NEAR(load.seats, 0.95 / 0.09, 1.2);
  EXPECT_EQ(load.running, std::ceil(load.seats));
  EXPECT_EQ(load.waiting, 30 - load.running);
  machine.run_to_end();
  ASSERT_EQ(begun.size(), clients.size());
  EXPECT_TRUE(std::is_sorted(begun.begin(), begun.end()));
}

TEST(Scheduler, SeatsOfAnEndedRushAreFree) {
  ScriptedMachine machine({.options = patient(), .batch_s = ninety_ms_a_second});
  ResidentModel& model = machine.add(make_toy_pipeline());
  warm_up(machine);
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(machine.submit(ask_bytes(100)));
  machine.run_to_end();
  EXPECT_EQ(machine.scheduler.load(model).running, 0);
  EXPECT_EQ(predicted_wait_s(machine.scheduler.load(model)), 0);
}

TEST(Scheduler, AClientWithFewerSeatsComesFirst) {
  ScriptedMachine machine({.options = patient(), .batch_s = ninety_ms_a_second});
  machine.add(make_toy_pipeline());
  warm_up(machine);
  SpeechRequest greedy = ask_bytes(100), modest = greedy;
  greedy.terms.client = 1, modest.terms.client = 2;
  std::vector<Client> many;
  for (int i = 0; i < 20; ++i) many.push_back(machine.submit(greedy));
  const Client one = machine.submit(modest);
  machine.turn();
  EXPECT_TRUE(one->active->promoted);
  EXPECT_FALSE(many.back()->active->promoted);
}

/// The smaller of two limits counts: the learned capacity, or the limit set after overload.
TEST(Scheduler, SeatsAreTakenBackWhenListenersRunDry) {
  ScriptedMachine machine({.options = patient(), .batch_s = ninety_ms_a_second});
  ResidentModel& model = machine.add(make_toy_pipeline());
  warm_up(machine);
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(machine.submit(ask_bytes(200)));
  while (machine.now() < 30 && model.load.limit().seats() > 0.8 * model.load.capacity()) {
    model.load.limit().chunk(true);  // chunks are late for a reason outside the costs
    ASSERT_TRUE(machine.next());
  }
  const double seats = machine.scheduler.load(model).seats;
  EXPECT_EQ(seats, std::max(8.0, model.load.limit().seats()));
  EXPECT_LE(seats, 0.8 * model.load.capacity());
}

TEST(Scheduler, OneSeatIsLeftHoweverLate) {
  SeatLimit limit;
  double busy_s = 0;
  for (int look = 1; look < 100; ++look) {
    limit.chunk(true);
    limit.observe(busy_s += 1, 1, look);
    ASSERT_GE(limit.seats(), 1);
  }
  EXPECT_TRUE(limit.limited());
}

TEST(Scheduler, AReaderThatPausesHoldsNoSeat) {
  ScriptedMachine machine({.options = patient(), .batch_s = ninety_ms_a_second});
  machine.add(make_toy_pipeline());
  warm_up(machine);
  std::vector<Client> slow;
  for (int i = 0; i < 14; ++i) slow.push_back(machine.submit(ask_bytes(200)));
  machine.turn();
  const Client quick = machine.submit(ask_bytes(50));
  machine.run_until(machine.now() + 0.2);
  EXPECT_FALSE(quick->active->promoted);
  for (const Client& client : slow) client->unread = 1e6;
  machine.script.begins = [&](const Batch& batch) {
    for (const Active* owner : batch.owners) {
      EXPECT_TRUE(owner->id == quick->id || !owner->output.heard()) << "I9: a paused request runs";
    }
  };
  machine.run_until(machine.now() + 5);
  EXPECT_TRUE(quick->done);
  EXPECT_EQ(machine.scheduler.load(machine.model()).running, 0);
  machine.script.begins = {};
  for (const Client& client : slow) client->unread = 0;
  machine.run_to_end();
  for (const Client& client : slow) EXPECT_EQ(client->outcome.reason, FinishReason::kStop);
}

TEST(Scheduler, NoRequestWaitsLongerThanPromised) {
  EngineOptions options = patient();
  options.max_wait_s = 0.5;
  ScriptedMachine machine({.options = options, .batch_s = ninety_ms_a_second});
  machine.add(make_toy_pipeline());
  for (int i = 0; i < 11; ++i) ASSERT_TRUE(machine.submit(ask_bytes(100)));
  machine.run_to_end();
  const double began_s = machine.now();
  std::vector<Client> clients;
  for (int i = 0; i < 40; ++i) clients.push_back(machine.submit(ask_bytes(150)));
  machine.run_to_end();
  int refused = 0;
  for (const Client& client : clients) {
    if (client->outcome.reason != FinishReason::kError) {
      EXPECT_LT(client->outcome.waited_s, 0.5 + 0.25) << "a seat after the promise";
      continue;
    }
    ++refused;
    EXPECT_EQ(client->outcome.error.code, ErrorCode::kOverloaded);
    EXPECT_GT(client->ended_s - began_s, 0.5);
    EXPECT_LT(client->ended_s - began_s, 0.5 + 0.26) << "told late";
  }
  EXPECT_GE(refused, 40 - 12);
  EXPECT_LE(refused, 40 - 8);
  EXPECT_EQ(machine.model().metrics.rejected_queue.value(), refused);
}

// ---------------------------------------------------------------------------- pages

/// Requests lose pages in this order: first a request that waits for text, then the youngest
/// request. The oldest request never loses pages.
TEST(Scheduler, RestingRequestsLoseTheirPagesFirstThenTheYoungest) {
  ScriptedMachine machine({.options = patient(6)});
  machine.add(make_toy_pipeline());
  SpeechRequest a = ask_bytes(100, 1), b = ask_bytes(20, 2), c = ask_bytes(90, 3),
                d = ask_bytes(90, 4);
  b.say.open = true;
  a.terms.max_frames = 110, b.terms.max_frames = 61, c.terms.max_frames = d.terms.max_frames = 91;
  const std::vector<Client> clients = {machine.submit(a), machine.submit(b), machine.submit(c),
                                       machine.submit(d)};
  std::vector<bool> held(4, false);
  std::vector<size_t> losers;
  machine.turn();
  while (!clients[0]->done || !clients[2]->done || !clients[3]->done) {
    ASSERT_TRUE(machine.next());
    for (size_t i = 0; i < clients.size(); ++i) {
      const bool holds = !clients[i]->done && clients[i]->active->runs[0].ar->holds();
      const bool open = !clients[i]->done && clients[i]->active->runs[0].ar->open;
      if (held[i] && !holds && open) losers.push_back(i);
      held[i] = holds;
    }
  }
  ASSERT_GE(losers.size(), 2u) << "the test forced nothing";
  EXPECT_EQ(losers[0], 1u);
  EXPECT_EQ(losers[1], 3u);
  EXPECT_EQ(std::count(losers.begin(), losers.end(), 0u), 0) << "the oldest lost its pages";
  machine.scheduler.append_text(clients[1]->id, std::string(10, 'a'), true);
  machine.run_to_end();
  EXPECT_EQ(clients[0]->samples, heard_alone(a));
  EXPECT_EQ(clients[1]->samples, heard_alone(ask_bytes(30, 2)));
  EXPECT_EQ(clients[2]->samples, heard_alone(c));
  EXPECT_EQ(clients[3]->samples, heard_alone(d));
  EXPECT_EQ(machine.model().nodes[0].pages->available(), 6);
}

TEST(Scheduler, APairThatCannotFitIsRefused) {
  ScriptedMachine machine({.options = patient(3)});
  machine.add(make_toy_pipeline());
  SpeechRequest request = ask_bytes(40);
  request.terms.max_frames = 40;  // 43 rows need two pages; a guidance pair would need four
  ASSERT_TRUE(machine.submit(request));
  request.sampling.guidance = 2.f;
  EXPECT_FALSE(machine.submit(request));
  EXPECT_EQ(machine.refusal.message, "the text may need 43 positions, but there is room for 32");
  machine.run_to_end();
}

// ---------------------------------------------------------------------------- lateness

TEST(Scheduler, ALateChunkIsCountedAndThePlayerGoesOnFromThere) {
  int vocoders = 0;
  ScriptedMachine machine({.options = patient(), .batch_s = [&](const Batch& batch) {
                             return batch.node == 2 && ++vocoders == 5 ? 3.0 : 1e-4;
                           }});
  machine.add(make_toy_pipeline());
  const Client client = machine.submit(ask_bytes(100));
  machine.turn();
  double ends_s = 0, longest_s = 0;
  int late = 0;
  size_t seen = 0;
  while (!client->done) {
    for (; seen < client->pieces.size(); ++seen) {
      const auto [at_s, seconds] = client->pieces[seen];
      if (seen == 0) ends_s = at_s;
      if (at_s > ends_s) ++late, longest_s = at_s - ends_s, ends_s = at_s;
      ends_s += seconds;
      EXPECT_NEAR(client->active->output.listener().slack_s(machine.now()), ends_s - machine.now(),
                  1e-9);
    }
    machine.next();
  }
  EXPECT_EQ(late, 1);
  EXPECT_EQ(client->outcome.underruns, 1);
  EXPECT_NEAR(client->outcome.max_underrun_s, longest_s, 1e-9);
  EXPECT_GT(longest_s, 2);
}

/// One jump of the clock does not count as overload: it lowers the number of seats for at most a
/// second.
TEST(Scheduler, AHiccupLimitsNothing) {
  for (const double hiccup_s : {0.3, 3600.0}) {
    double extra_s = 0;
    ScriptedMachine machine({.options = patient(), .batch_s = [&](const Batch& batch) {
                               return ninety_ms_a_second(batch) + std::exchange(extra_s, 0);
                             }});
    ResidentModel& model = machine.add(make_toy_pipeline());
    warm_up(machine);
    const double capacity = model.load.capacity();
    std::vector<Client> clients;
    for (int i = 0; i < 5; ++i) clients.push_back(machine.submit(ask_bytes(400)));
    machine.run_until(machine.now() + 2);
    std::vector<int> before;
    for (const Client& client : clients)
      before.push_back(client->active->output.outcome().underruns);
    extra_s = hiccup_s;
    const double began_s = machine.now();
    while (machine.now() < began_s + hiccup_s) ASSERT_TRUE(machine.next());
    machine.run_until(machine.now() + 1);
    EXPECT_FALSE(model.load.limit().limited());
    EXPECT_NEAR(model.load.capacity(), capacity, 0.25 * capacity);
    const Client more = machine.submit(ask_bytes(10));
    machine.turn();
    EXPECT_TRUE(more->active->promoted);
    machine.run_to_end();
    for (size_t i = 0; i < clients.size(); ++i) {
      EXPECT_LE(clients[i]->outcome.underruns, before[i] + 1) << hiccup_s;
    }
  }
}

// ---------------------------------------------------------------------------- faults

/// The first slot runs only chunks, so the good request's chunks use the Batch object that failed.
TEST(Scheduler, AChunkStageThatThrewRunsTheNextRequest) {
  ScriptedMachine machine({.options = patient(), .slots = {{{1, false}, {1, true}}, false, true}});
  machine.add(make_toy_pipeline());
  const Client bad = machine.submit(ask("abcd\005efghijkl"));
  machine.run_to_end();
  EXPECT_EQ(bad->outcome.reason, FinishReason::kError);
  EXPECT_EQ(bad->outcome.error.message, "the toy model stumbled in run()");
  const Client good = machine.submit(ask_bytes(20));
  machine.run_to_end();
  EXPECT_EQ(good->outcome.reason, FinishReason::kStop) << good->outcome.error.message;
  EXPECT_EQ(good->samples, heard_alone(ask_bytes(20)));
}

/// I8: a sequence or stream state that throws in any function fails only its own request.
TEST(Scheduler, AStateThatThrowsFailsItsRequestOnly) {
  const std::pair<const char*, const char*> breaks[] = {{"abc\001defghi", "ready()"},
                                                        {"abc\002defghi", "advance()"},
                                                        {"\003abcdefghi", "prefix_keys()"},
                                                        {"abc|\003defghi", "prefix_keys()"},
                                                        {"abc\004defghi", "cut()"}};
  const SpeechRequest good = ask_bytes(30, 5);
  const std::vector<float> expected = heard_alone(good);
  for (const auto& [text, where] : breaks) {
    ScriptedMachine machine({.options = patient(), .slots = {{{1, true}, {1, true}}}});
    ResidentModel& model = machine.add(make_toy_pipeline());
    const Client before = machine.submit(good), bad = machine.submit(ask(text)),
                 after = machine.submit(good);
    machine.run_to_end();
    EXPECT_EQ(bad->outcome.error.code, ErrorCode::kInternal);
    EXPECT_EQ(bad->outcome.error.message, std::string("the toy model stumbled in ") + where);
    EXPECT_EQ(before->samples, expected) << where;
    EXPECT_EQ(after->samples, expected) << where;
    EXPECT_EQ(model.nodes[0].pages->available(), model.nodes[0].pages->total()) << where;
    EXPECT_EQ(model.requests, 0) << where;
  }
}

TEST(Scheduler, TextThatIsPreparedForLongHoldsUpNoOther) {
  ScriptedMachine machine({.options = patient(), .job_s = [](const HostJob&) { return 5.0; }});
  ResidentModel& model = machine.add(make_toy_pipeline());
  SpeechRequest open = ask_bytes(10, 2);
  open.say.open = true;
  const Client late = machine.submit(open), other = machine.submit(ask_bytes(30, 3));
  machine.scheduler.append_text(late->id, std::string(10, 'a'), false);
  machine.scheduler.append_text(late->id, std::string(10, 'a'), true);
  bool with_text = false;
  machine.script.begins = [&](const Batch& batch) {
    for (const Active* owner : batch.owners) {
      EXPECT_FALSE(owner->runs[0].ar->preparing && batch.kind() == Plan::kAr)
          << "I9: a host thread has its sequence";
      with_text = with_text || owner->id == late->id;
    }
  };
  machine.run_until(4.9);
  EXPECT_TRUE(other->done);
  EXPECT_FALSE(with_text);
  machine.run_until(9.9);
  EXPECT_FALSE(late->done);
  machine.run_to_end();
  EXPECT_EQ(late->samples, heard_alone(ask_bytes(30, 2)));

  // The request is cancelled while a host thread has its text. The client gets the end immediately,
  // and the scheduler removes the request when the text is back.
  const Client gone = machine.submit(open);
  machine.run_until(machine.now() + 1);
  machine.scheduler.append_text(gone->id, "b", false);
  machine.turn();
  machine.scheduler.cancel(gone->id);
  machine.turn();
  EXPECT_EQ(gone->outcome.reason, FinishReason::kCancelled);
  EXPECT_EQ(model.requests, 1);
  machine.run_to_end();
  EXPECT_EQ(model.requests, 0);
  EXPECT_EQ(machine.scheduler.in_flight(), 0);
}

/// A text model writes a piece in each batch. The same executor also runs steps of a speech model.
TEST(Scheduler, TextThatKeepsComingDoesNotHoldUpTheSteps) {
  ScriptedMachine machine({.options = patient(), .batch_s = [](const Batch&) { return 0.03; }});
  machine.add(make_toy_pipeline());
  const std::string first(20, 'a');
  const Client voice = machine.submit(ask_open(first)), other = machine.submit(ask_bytes(300, 3));
  machine.turn();
  std::string whole = first;
  while (machine.now() < 1.5) {
    machine.platform.set(machine.next_s());
    machine.platform.hand_back(machine.scheduler);
    machine.scheduler.append_text(voice->id, "b", false);
    whole += "b";
    while (machine.scheduler.dispatch()) {
    }
  }
  EXPECT_FALSE(other->done);
  EXPECT_FALSE(voice->samples.empty()) << "the voice waits until the text has ended";
  machine.scheduler.append_text(voice->id, "c", true);
  machine.run_to_end();
  EXPECT_EQ(voice->samples, heard_alone(ask(whole + "c")));
}

/// New streams are opened from the state of the sequence, so they wait while a host thread has the
/// sequence for late text.
TEST(Scheduler, NewStreamsWaitForASequenceWithAHostThread) {
  ScriptedMachine machine({.options = patient(),
                           .batch_s = [](const Batch& b) { return b.node == 0 ? 1e-3 : 0.5; },
                           .job_s = [](const HostJob&) { return 5.0; }});
  machine.add(make_toy_pipeline());
  const Client client = machine.submit(ask_open("aaaaaaaa@bb"));
  const ArRun& run = *client->active->runs[0].ar;
  machine.turn();
  while (!run.drains) ASSERT_TRUE(machine.next());
  const double began_s = machine.now();
  machine.scheduler.append_text(client->id, "cc", false);
  machine.scheduler.append_text(client->id, "dd", true);
  ASSERT_TRUE(run.preparing);
  machine.run_until(began_s + 4.9);
  EXPECT_TRUE(run.drains) << "its streams were opened meanwhile";
  machine.run_until(began_s + 5.1);
  EXPECT_FALSE(run.drains);
  machine.run_to_end();
  ASSERT_TRUE(client->done);
  const Client whole = machine.submit(ask("aaaaaaaa@bbccdd"));
  machine.run_to_end();
  EXPECT_EQ(client->samples, whole->samples);
}

TEST(Scheduler, TextThatCannotBePreparedFailsItsRequest) {
  ScriptedMachine machine({.options = patient(), .job_s = [](const HostJob&) { return 0.1; }});
  ResidentModel& model = machine.add(make_toy_pipeline());
  SpeechRequest open = ask_bytes(10, 2);
  open.say.open = true;
  const Client refused = machine.submit(open), thrown = machine.submit(open),
               good = machine.submit(ask_bytes(30, 3));
  machine.turn();
  machine.scheduler.append_text(refused->id, "\006", true);
  machine.scheduler.append_text(thrown->id, "\007", true);
  machine.run_to_end();
  EXPECT_EQ(refused->outcome.error.code, ErrorCode::kInvalid);
  EXPECT_EQ(refused->outcome.error.param, "text");
  EXPECT_EQ(thrown->outcome.error.code, ErrorCode::kInternal);
  EXPECT_EQ(good->outcome.reason, FinishReason::kStop);
  EXPECT_EQ(model.requests, 0);
}

// ---------------------------------------------------------------------------- edges

TEST(Scheduler, AFullEdgeStopsItsProducer) {
  constexpr int kWindow = 12;
  for (const int slow : {1, 2}) {
    ScriptedMachine machine(
        {.options = patient(),
         .slots = {{{1, true}, {1, true}}},
         .batch_s = [slow](const Batch& b) { return b.node == slow ? 0.5 : 1e-3; }});
    machine.add(rewired(make_toy_pipeline(), [slow](Edge& edge) {
      if (edge.to.node == slow) edge.window = kWindow;
      if (slow == 2 && edge.to.node == 1) edge.policy.steady = 1;
    }));
    const Client client = machine.submit(ask_bytes(200));
    machine.turn();
    int64_t most = 0;
    while (!client->done) {
      most = std::max(most, client->active->runs[slow].waiting());
      ASSERT_TRUE(machine.next());
    }
    // A chunk of node 1 may make several frames at once.
    const int at_once = slow == 1 ? 1 : 4;
    EXPECT_GE(most, kWindow) << slow;
    EXPECT_LT(most, kWindow + at_once) << slow;
    EXPECT_EQ(client->samples, heard_alone(ask_bytes(200))) << slow;
  }
}

/// Frames that wait for chunk nodes count as audio. So two listeners get frames in turn, instead of
/// one after the other.
TEST(Scheduler, FramesOnTheirWayAreAudioToo) {
  std::vector<const Active*> stepped;
  EngineOptions options = patient();
  options.max_batch = 1;
  ScriptedMachine machine({.options = options});
  machine.script.begins = [&](const Batch& batch) {
    if (batch.kind() == Plan::kAr) stepped.push_back(batch.owners.front());
  };
  machine.add(rewired(make_toy_pipeline(), [](Edge& edge) {
    if (edge.from.node != 0) return;
    edge.policy.initial = 1, edge.policy.steady = 40;
    edge.window = 1 << 20;
  }));
  const Client one = machine.submit(ask_bytes(400, 1));
  machine.run_until(0.15);
  const Client two = machine.submit(ask_bytes(400, 2));
  machine.run_until(0.6);
  ASSERT_FALSE(one->done || two->done);
  // Once both listeners have equal audio, their requests take turns.
  int most = 0, run = 0;
  for (size_t i = stepped.size() / 2; i < stepped.size(); ++i) {
    run = stepped[i] == stepped[i - 1] ? run + 1 : 1;
    most = std::max(most, run);
  }
  EXPECT_GT(stepped.size(), 300u);
  EXPECT_LE(most, 8);
}

TEST(Scheduler, AFirstChunkLargerThanItsEdgeIsCutAllTheSame) {
  ScriptedMachine machine({.options = patient()});
  machine.add(rewired(make_toy_pipeline(), [](Edge& edge) {
    if (edge.from.node == 0) edge.window = 12;
  }));
  SpeechRequest request = ask_bytes(100);
  request.terms.initial_chunk_frames = 50;
  const Client client = machine.submit(request);
  machine.run_to_end();
  ASSERT_TRUE(client->done);
  EXPECT_EQ(client->samples, heard_alone(ask_bytes(100)));
}

}  // namespace
}  // namespace syrinx
