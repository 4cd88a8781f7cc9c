// Delivery to a listener on a scripted clock: late chunks and their effect on learned sizes, first
// chunks, streams that repeat themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "engine/testing/breakable_model.h"
#include "engine/testing/scripted_asks.h"
#include "model/toy/duet.h"

namespace syrinx {
namespace {

/// Returns a script in which the vocoder's batches with the given numbers take the given seconds.
Script late_at(std::vector<std::pair<int, double>> late) {
  return {.options = patient(),
          .batch_s = [late = std::move(late), vocoders = 0](const Batch& batch) mutable {
            if (batch.node != 2) return 1e-4;
            ++vocoders;
            for (const auto& [number, seconds] : late) {
              if (number == vocoders) return seconds;
            }
            return 1e-4;
          }};
}

TEST(Delivery, TheLongestOfSeveralUnderrunsIsReported) {
  ScriptedMachine machine(late_at({{5, 5.0}, {8, 3.0}}));
  machine.add(make_toy_pipeline());
  const Client client = machine.submit(ask_bytes(200));
  machine.run_to_end();
  EXPECT_EQ(client->outcome.underruns, 2);
  EXPECT_GT(client->outcome.max_underrun_s, 4);
  EXPECT_LT(client->outcome.max_underrun_s, 5);
}

TEST(Delivery, PagesAreFreeWhenTheEndIsReported) {
  ScriptedMachine machine({.options = patient()});
  ResidentModel& model = machine.add(make_toy_pipeline());
  const Client client = machine.submit(ask_bytes(200));
  double free = -1;
  client->at_end = [&] { free = model.metrics.pages_free.value(); };
  while (client->pieces.empty()) ASSERT_TRUE(machine.next());
  client->unread = 1e6;  // unread audio beyond max_unread_s pauses the request
  machine.run_until(machine.now() + 1);
  EXPECT_LT(model.metrics.pages_free.value(), model.metrics.pages.value());
  machine.scheduler.cancel(client->id);
  machine.turn();
  EXPECT_TRUE(client->done);
  EXPECT_EQ(free, model.metrics.pages.value());
}

/// A listener that runs dry because text came late has no underrun. A later gap counts as one.
TEST(Delivery, WaitingForTextIsNoUnderrun) {
  bool slow = false;
  ScriptedMachine machine({.options = patient(), .batch_s = [&](const Batch& batch) {
                             const bool late = batch.node == 2 && std::exchange(slow, false);
                             return late ? 9.0 : 1e-4;
                           }});
  machine.add(make_toy_pipeline());
  const Client client = machine.submit(ask_open(std::string(30, 'a')));
  machine.run_until(10);  // the whole text has been spoken and played
  ASSERT_GT(client->pieces.size(), 1u);
  ASSERT_LT(client->active->output.listener().slack_s(machine.now()), 0);
  machine.scheduler.append_text(client->id, std::string(150, 'a'), true);
  machine.turn();
  while (client->outcome.total_s == 0 && client->pieces.back().at_s < 10) {
    ASSERT_TRUE(machine.next());
  }
  EXPECT_EQ(client->active->output.outcome().underruns, 0);
  EXPECT_GE(client->active->output.listener().slack_s(machine.now()), 0)
      << "the player goes on from here";
  slow = true;
  machine.run_to_end();
  EXPECT_GE(client->outcome.underruns, 1);
}

/// While the model writes text before the next speech of its answer, the waiting listener has no
/// underrun.
TEST(Delivery, WaitingForTheNextStreamIsNoUnderrun) {
  ScriptedMachine machine({.options = patient(), .batch_s = [](const Batch& batch) {
                             const bool prompt = batch.node == 0 && batch.sequences()[0].rows > 1;
                             return prompt ? 9.0 : 1e-4;
                           }});
  ResidentModel& model = machine.add(make_toy_pipeline());
  const Client client = machine.submit(ask(std::string(60, 'a') + "@" + std::string(60, 'a')));
  machine.run_to_end();
  EXPECT_GT(client->pieces.back().at_s, 18) << "it was waited for";
  EXPECT_EQ(client->outcome.underruns, 0);
  EXPECT_EQ(model.metrics.underruns.value(), 0);
}

/// A client that does not read its audio cannot play it, so its listener never runs dry.
TEST(Delivery, AReaderThatStopsRunsDryOfNothing) {
  for (const double from_s : {0.0, 0.1}) {  // the client stops reading at the first piece, or later
    ScriptedMachine machine({.options = patient()});
    ResidentModel& model = machine.add(make_toy_pipeline());
    const Client client = machine.submit(ask_bytes(100));
    machine.run_until(from_s);
    client->unread = 60;
    machine.run_until(60);
    ASSERT_FALSE(client->done);
    const double made_s = client->active->output.outcome().audio_s;
    EXPECT_NEAR(client->active->output.listener().slack_s(machine.now()), made_s, 0.011);
    client->unread = made_s / 2;
    machine.run_until(machine.now() + 0.01);
    EXPECT_GE(client->active->output.listener().slack_s(machine.now()), made_s / 2);
    client->unread = 0;
    machine.run_to_end();
    EXPECT_EQ(client->outcome.underruns, 0);
    EXPECT_GE(model.metrics.slack_s.sum(), 0);
    EXPECT_EQ(model.nodes[1].first_chunk.frames(), 2);
  }
}

TEST(Delivery, AReaderHasNoMoreToPlayThanItsBound) {
  EngineOptions options = patient();
  options.max_unread_s = 0.5;
  ScriptedMachine machine({.options = options});
  machine.add(make_toy_pipeline());
  const Client client = machine.submit(ask_bytes(200));
  machine.turn();
  while (client->active->output.outcome().audio_s < 2) ASSERT_TRUE(machine.next());
  client->unread = 1e6;
  machine.run_until(machine.now() + 10);
  EXPECT_NEAR(client->active->output.listener().slack_s(machine.now()), 0.5, 0.011);
  client->unread = 0;
  machine.run_to_end();
  EXPECT_EQ(client->outcome.underruns, 0);
}

/// While a client does not read its audio, time does not pass for the reader of its text.
TEST(Delivery, AReaderThatStopsReadsNothing) {
  ScriptedMachine machine({.options = patient()});
  machine.add(make_duet_pipeline());
  const Client client = machine.submit(ask_bytes(40));
  machine.turn();
  while (client->pieces.empty()) ASSERT_TRUE(machine.next());
  client->unread = 60;
  machine.run_until(60);
  ASSERT_FALSE(client->done);
  EXPECT_NEAR(client->active->output.reader().slack_s(machine.now()), 0, 0.011);
  client->unread = 0;
  machine.run_to_end();
}

/// The clock of a background request's listener starts when raise_priority() is called.
TEST(Delivery, HurriedRequestsHadNoListenerBefore) {
  EngineOptions options = patient();
  options.background_share = 0.001;
  ScriptedMachine machine({.options = options, .batch_s = ninety_ms_a_second});
  ResidentModel& model = machine.add(make_toy_pipeline());
  SpeechRequest request = ask_bytes(300);
  request.terms.background = true;
  const Client client = machine.submit(request);
  machine.run_until(20);  // this uses up the background's share of time
  const double made_s = client->active->output.outcome().audio_s;
  ASSERT_GT(made_s, 1);
  ASSERT_LT(made_s, 6);
  machine.scheduler.raise_priority(client->id);
  EXPECT_NEAR(client->active->output.listener().slack_s(machine.now()), made_s, 1e-9);
  machine.run_until(machine.now() + 0.01);
  const double since_s = client->active->output.listener().since_s;
  machine.scheduler.raise_priority(client->id);
  EXPECT_EQ(client->active->output.listener().since_s, since_s) << "it had begun";
  machine.run_to_end();
  EXPECT_EQ(client->outcome.underruns, 0);
  EXPECT_EQ(model.metrics.underruns.value(), 0);
}

/// The clock of a background request's reader starts when raise_priority() is called.
TEST(Delivery, HurriedRequestsHadNoReaderBefore) {
  EngineOptions options = patient();
  options.background_share = 0.001;
  ScriptedMachine machine({.options = options, .batch_s = [](const Batch&) { return 0.04; }});
  machine.add(make_duet_pipeline());
  SpeechRequest request = ask_bytes(100);
  request.writing.text_only = request.terms.background = true;
  const Client client = machine.submit(request);
  machine.run_until(20);
  ASSERT_GT(client->active->output.tokens_read(), 0);
  ASSERT_FALSE(client->done);
  machine.scheduler.raise_priority(client->id);
  EXPECT_EQ(client->active->output.reader().since_s, machine.now());
  machine.run_to_end();
}

/// The times of a request in the background do not change the sizes of chunks.
TEST(Delivery, TheBackgroundTeachesNothingAboutFirstChunks) {
  ScriptedMachine machine({.options = patient(), .batch_s = [](const Batch&) { return 0.1; }});
  const ResidentModel& model = machine.add(make_toy_pipeline());
  SpeechRequest request = ask_bytes(20);
  request.terms.background = true;
  ASSERT_TRUE(machine.submit(request));
  machine.run_to_end();
  EXPECT_EQ(model.nodes[1].first_chunk.frames(), 2);
  EXPECT_EQ(model.metrics.slack_s.sum(), 0);
}

TEST(Delivery, AClientsFirstChunkIsAsLongAsItWants) {
  for (const int wanted : {0, 1, 5, 9}) {
    ScriptedMachine machine({.options = patient()});
    machine.add(make_toy_pipeline());
    int first = 0;
    machine.script.begins = [&](const Batch& batch) {
      if (batch.node == 1 && first == 0) first = const_cast<Batch&>(batch).jobs()[0].fresh;
    };
    SpeechRequest request = ask_bytes(40);
    request.terms.initial_chunk_frames = wanted;
    const Client client = machine.submit(request);
    machine.run_to_end();
    EXPECT_EQ(first, wanted == 0 ? 2 : wanted);
    EXPECT_EQ(client->samples, heard_alone(ask_bytes(40)));
  }
}

/// A model may end a part before the part's text ends. Text that arrives during the last step is
/// not passed to the sequence, and the next part begins.
TEST(Delivery, TextThatComesWithTheLastStepIsTooLate) {
  int steps = 0;
  ScriptedMachine machine({.options = patient(),
                           .batch_s = [](const Batch&) { return 0.1; },
                           .job_s = [](const HostJob& job) { return job.request ? 0.0 : 5.0; },
                           .begins = [&](const Batch& b) { steps += b.kind() == Plan::kAr; }});
  machine.add(std::make_shared<BreakableModel>());
  SpeechRequest request = ask_open("early 0");
  request.terms.max_frames = 3;
  const Client client = machine.submit_soon(request);
  machine.turn();
  while (steps < 3) ASSERT_TRUE(machine.next());
  machine.scheduler.append_text(client->id, " and more[pause 1s]early 0", true);
  machine.run_to_end(4);
  ASSERT_TRUE(client->done);
  EXPECT_EQ(client->outcome.reason, FinishReason::kStop) << client->outcome.error.message;
  EXPECT_EQ(client->outcome.frames, 6 + 2) << "the second part takes the one step that is left";
}

/// Only the slack of a second chunk changes the size of first chunks.
TEST(Delivery, LaterChunksTeachNothingAboutFirstOnes) {
  ScriptedMachine machine(late_at({{4, 2.0}, {6, 2.0}}));
  const ResidentModel& model = machine.add(make_toy_pipeline());
  const Client client = machine.submit(ask_bytes(100));
  machine.run_to_end();
  ASSERT_EQ(client->outcome.underruns, 2);
  EXPECT_EQ(model.nodes[1].first_chunk.frames(), 2);
  // The vocoder's second batch carries the second chunk of the stream, which comes late.
  int vocoders = 0;
  machine.script.batch_s = [&](const Batch& batch) {
    return batch.node == 2 && ++vocoders == 2 ? 2.0 : 1e-4;
  };
  ASSERT_TRUE(machine.submit(ask_bytes(100)));
  machine.run_to_end();
  EXPECT_EQ(model.nodes[1].first_chunk.frames(), 3);
}

/// A stream that is about to run dry gets small chunks. If many chunks are late, it does not,
/// because small chunks add to the load.
TEST(Delivery, HurriedChunksAreForAFewLateStreams) {
  int hurried = 0, others = 0;
  const auto count = [&](const Batch& batch) {
    if (batch.node != 1) return;
    auto& laid_out = const_cast<Batch&>(batch);
    for (size_t i = 0; i < laid_out.jobs().size(); ++i) {
      const ChunkJob& job = laid_out.jobs()[i];
      if (job.left < 2 || job.last || !batch.owners[i]->output.heard()) continue;
      ++(job.fresh < 3 ? hurried : others);
    }
  };
  ScriptedMachine calm({.options = patient(), .batch_s = [](const Batch& batch) {
                          return batch.kind() == Plan::kAr ? 0.019 : 1e-4;
                        }});
  calm.add(make_toy_pipeline());
  calm.script.begins = count;
  ASSERT_TRUE(calm.submit(ask_bytes(100)));
  calm.run_to_end();
  EXPECT_GT(hurried, 0) << "a step of 19 ms for 20 ms of audio leaves no slack";

  ScriptedMachine busy({.options = patient(), .batch_s = [](const Batch& batch) {
                          return batch.units() * (batch.kind() == Plan::kAr ? 4e-3 : 1e-3);
                        }});
  busy.add(make_toy_pipeline());
  std::vector<Client> clients;
  for (int i = 0; i < 12; ++i) clients.push_back(busy.submit(ask_bytes(300, i)));
  busy.run_until(4);
  ASSERT_GT(busy.model().load.late_share(), 0.005) << "the test forced nothing";
  hurried = others = 0;
  busy.script.begins = count;
  busy.run_until(6);
  EXPECT_EQ(hurried, 0);
  EXPECT_GT(others, 20);
}

/// Frames that wait for chunk nodes count as audio of a listener. If two streams have equal
/// delivered audio, the stream with fewer waiting frames gets the step.
TEST(Delivery, FramesOnTheirWayCountAsSlack) {
  EngineOptions options = patient();
  options.max_batch = 1;
  bool stuck = false;
  ScriptedMachine machine({.options = options,
                           .slots = {{{1, false}, {1, true}}, false, true},
                           .batch_s = [&](const Batch& batch) {
                             if (batch.kind() == Plan::kAr) return 1e-3;
                             return stuck ? 0.2 : 1e-4;
                           }});
  machine.add(make_toy_pipeline());
  const Client a = machine.submit(ask_bytes(300, 1)), b = machine.submit(ask_bytes(300, 2));
  machine.turn();
  while (a->pieces.size() < 3 || b->pieces.size() < 3) ASSERT_TRUE(machine.next());
  stuck = true;
  const int steps_a = a->active->runs[0].ar->steps, steps_b = b->active->runs[0].ar->steps;
  machine.run_until(machine.now() + 0.15);
  const int more_a = a->active->runs[0].ar->steps - steps_a;
  const int more_b = b->active->runs[0].ar->steps - steps_b;
  ASSERT_GT(more_a + more_b, 50);
  EXPECT_GT(std::min(more_a, more_b), 20) << "one of them got all steps";
}

/// A stream ends when its frames have repeated for repetition_s. A step has two frames of 10 ms.
TEST(Delivery, AStreamThatRepeatsItselfEndsWhenItHasForSoLong) {
  EngineOptions options = patient();
  options.repetition_s = 0.1;  // ten frames
  options.kv_bytes = 1 << 20;
  ScriptedMachine machine({.options = options});
  machine.add(std::make_shared<BreakableModel>());
  SpeechRequest request;
  request.say.text = "none 0";
  request.terms.max_frames = 4;
  const Client client = machine.submit(request);  // frames 0 100 7 107 14 114 21 121
  machine.run_to_end();
  EXPECT_EQ(client->outcome.reason, FinishReason::kStop);
  EXPECT_EQ(client->outcome.frames, 8);
  request.say.text = "same 0";
  request.terms.max_frames = 40;
  const Client stuck = machine.submit(request);  // frames 0 100 0 100 ...
  machine.run_to_end();
  EXPECT_EQ(stuck->outcome.reason, FinishReason::kRepetition);
  // The stuck stream repeats two frames: frame 13 is the 11th that equals the frame two before.
  EXPECT_EQ(stuck->outcome.frames, 14);
}

}  // namespace
}  // namespace syrinx
