// Requests in the background on a scripted clock: their shares of time, seats and pages.
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

// ---------------------------------------------------------------------------- background

/// Requests in the background use only time that live requests do not need. Clients of live
/// requests get the same samples at the same times.
TEST(Scheduler, BackgroundRequestsCostOthersNothing) {
  const auto listen = [](int background) {
    ScriptedMachine machine({.options = patient(), .batch_s = ninety_ms_a_second});
    machine.add(make_toy_pipeline());
    warm_up(machine);
    std::vector<Client> quiet;
    for (int i = 0; i < background; ++i) {
      SpeechRequest request = ask_bytes(150, 500 + i);
      request.terms.background = true;
      quiet.push_back(machine.submit(request));
      EXPECT_TRUE(quiet.back());
    }
    std::vector<Client> live;
    for (int i = 0; i < 6; ++i) {
      live.push_back(machine.submit(ask_bytes(100, i)));
      machine.run_until(machine.now() + 0.1);
    }
    EXPECT_EQ(machine.model().holding, 6);
    machine.run_to_end();
    for (const Client& client : quiet) {
      EXPECT_EQ(client->samples, heard_alone(ask_bytes(150, 500 + (&client - quiet.data()))));
      EXPECT_GT(client->ended_s, live.back()->pieces.front().at_s);
    }
    return live;
  };
  const std::vector<Client> alone = listen(0), beside = listen(8);
  for (size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(beside[i]->samples, alone[i]->samples);
    EXPECT_EQ(beside[i]->outcome.underruns, 0);
    EXPECT_LE(beside[i]->outcome.first_audio_s, alone[i]->outcome.first_audio_s + 0.02);
  }
}

/// If one step takes longer than the longest batch in the background, a prompt runs in a few
/// batches of at most twice this time, not row by row.
TEST(Scheduler, BackgroundPromptsOfALargeModelAreNotRunRowByRow) {
  constexpr double kStep_s = 0.05, kRow_s = 1e-4, kMost_s = 2 * (kStep_s + kRow_s);
  double longest_s = 0;
  int steps = 0;
  ScriptedMachine machine({.options = patient(), .batch_s = [&](const Batch& batch) {
                             if (batch.kind() != Plan::kAr) return 1e-3;
                             const double took_s = kStep_s + kRow_s * batch.units();
                             if (batch.background) longest_s = std::max(longest_s, took_s), ++steps;
                             return took_s;
                           }});
  machine.add(make_toy_pipeline());
  warm_up(machine);
  SpeechRequest request = ask_bytes(20);
  request.say.instructions = std::string(300, 'b');
  request.terms.background = true;
  const Client quiet = machine.submit(request);
  ASSERT_TRUE(quiet) << machine.refusal.message;
  machine.run_to_end();
  EXPECT_EQ(quiet->samples, heard_alone(request));
  EXPECT_LE(longest_s, kMost_s);
  const auto frames = static_cast<int>(quiet->outcome.frames);
  EXPECT_GT(frames, 10);
  EXPECT_LE(steps, frames + 5);
}

TEST(Scheduler, BackgroundRequestsTakeNoSeatsAndGiveTheirPages) {
  ScriptedMachine machine({.options = patient(7), .batch_s = ninety_ms_a_second});
  ResidentModel& model = machine.add(make_toy_pipeline());
  SpeechRequest request = ask_bytes(150, 7), other = ask_bytes(190, 8);
  request.terms.max_frames = 150, other.terms.max_frames = 190;
  request.terms.background = true;
  const Client quiet = machine.submit(request);
  ASSERT_TRUE(quiet) << machine.refusal.message;
  machine.run_until(machine.now() + 0.35);
  ASSERT_GT(quiet->pieces.size(), 0u);
  ASSERT_FALSE(quiet->done);
  EXPECT_EQ(model.holding, 0);
  const Client live = machine.submit(other);
  ASSERT_TRUE(live) << machine.refusal.message;
  machine.run_to_end();
  EXPECT_GT(model.metrics.preemptions.value(), 0) << "its pages were needed";
  EXPECT_EQ(live->samples, heard_alone(other));
  EXPECT_EQ(quiet->samples, heard_alone(request));
  EXPECT_LT(live->ended_s, quiet->ended_s);
}

TEST(TimeShare, IsOfTheTimeThatGoesBy) {
  TimeShare half(0.5, 1), all(1, 1), of_two(0.5, 2);
  for (TimeShare* share : {&half, &all, &of_two}) {
    EXPECT_TRUE(share->may(10));
    share->took(TimeShare::kBurst_s + 0.1);
  }
  EXPECT_TRUE(all.may(10));
  EXPECT_FALSE(half.may(10));
  EXPECT_FALSE(half.may(10.19));
  EXPECT_FALSE(of_two.may(10.09));
  EXPECT_TRUE(half.may(10.21));
  EXPECT_TRUE(of_two.may(10.11));
  EXPECT_TRUE(half.may(1000));  // a long pause saves no more time than a short one
  half.took(TimeShare::kBurst_s + 0.1);
  EXPECT_FALSE(half.may(1000.19));
}

TEST(Scheduler, BackgroundRequestsTakeTheirShareOfTheTime) {
  const auto seconds = [](double share) {
    EngineOptions options = patient();
    options.background_share = share;
    ScriptedMachine machine({.options = options, .batch_s = ninety_ms_a_second});
    ResidentModel& model = machine.add(make_toy_pipeline());
    std::vector<Client> quiet;
    for (int i = 0; i < 8; ++i) {
      SpeechRequest request = ask_bytes(150, 500 + i);
      request.terms.background = true;
      quiet.push_back(machine.submit(request));
    }
    machine.run_to_end();
    for (const Client& client : quiet) {
      EXPECT_EQ(client->samples, heard_alone(ask_bytes(150, 500 + (&client - quiet.data()))));
    }
    EXPECT_EQ(model.metrics.background_s.value(), model.metrics.busy_s.value());
    EXPECT_LE(model.metrics.background_s.value(),
              share * machine.now() + TimeShare::kBurst_s + 0.021);
    EXPECT_EQ(model.metrics.preemptions.value(), 0) << "there were pages for all";
    return machine.now();
  };
  EXPECT_GT(seconds(0.1), 4 * seconds(1));
}

/// One executor waits until the background has a share of time; the other one runs live work.
TEST(Scheduler, BackgroundRequestsThatWaitForTheirShareKeepTheirPages) {
  EngineOptions options = patient();
  options.background_share = 0.1;
  ScriptedMachine machine({.options = options,
                           .slots = {{{1, true}, {1, true}}, false, true},
                           .batch_s = ninety_ms_a_second});
  ResidentModel& live = machine.add(make_toy_pipeline());
  ResidentModel& model = machine.add(make_toy_pipeline());
  ASSERT_NE(live.nodes[0].slot, model.nodes[0].slot);
  for (int i = 0; i < 4; ++i) {
    SpeechRequest request = ask_bytes(150, 500 + i);
    request.terms.background = true;
    ASSERT_TRUE(machine.submit(request, 1));
  }
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(machine.submit(ask_bytes(300, i)));
  machine.run_to_end();
  EXPECT_EQ(model.metrics.preemptions.value(), 0);
  EXPECT_EQ(live.metrics.preemptions.value(), 0);
}

/// Only the oldest request in the background takes pages beyond the share; all requests end.
TEST(Scheduler, BackgroundRequestsTakeTheirShareOfThePages) {
  EngineOptions options = patient(30);
  options.background_pages = 0.4;
  ScriptedMachine machine({.options = options, .batch_s = ninety_ms_a_second});
  ResidentModel& model = machine.add(make_toy_pipeline());
  std::vector<Client> quiet;
  for (int i = 0; i < 6; ++i) {
    SpeechRequest request = ask_bytes(150, 500 + i);
    request.terms.max_frames = 150;
    request.terms.background = true;
    quiet.push_back(machine.submit(request));
    ASSERT_TRUE(quiet.back()) << machine.refusal.message;
  }
  const int most = static_cast<int>(0.4 * model.nodes[0].pages->total());
  const auto held = [&](size_t i) {
    return quiet[i]->done ? size_t{0} : quiet[i]->active->runs[0].ar->tracks[0].cache.pages.size();
  };
  std::vector<size_t> before(quiet.size(), 0);
  int waits = 0;
  const auto over = [&] {
    return std::all_of(quiet.begin(), quiet.end(), [](const Client& c) { return c->done; });
  };
  machine.turn();
  while (!over()) {
    ASSERT_TRUE(machine.next());
    size_t sum = 0, oldest = quiet.size();
    for (size_t i = quiet.size(); i-- > 0;) {
      sum += held(i);
      if (!quiet[i]->done) oldest = i;
    }
    for (size_t i = 0; i < quiet.size(); ++i) {
      if (held(i) > before[i] && i > oldest + 1) {  // unless the oldest ended just now
        EXPECT_LE(sum, static_cast<size_t>(most) + held(oldest)) << i;
      }
      waits += held(i) == 0 && !quiet[i]->done ? 1 : 0;
      before[i] = held(i);
    }
  }
  EXPECT_GT(waits, 50) << "the test forced nothing";
  for (size_t i = 0; i < quiet.size(); ++i) {
    SpeechRequest request = ask_bytes(150, 500 + static_cast<int>(i));
    request.terms.max_frames = 150;
    EXPECT_EQ(quiet[i]->samples, heard_alone(request));
  }
}

TEST(Scheduler, AHurriedRequestIsABackgroundRequestNoMore) {
  ScriptedMachine machine({.options = patient(), .batch_s = ninety_ms_a_second});
  ResidentModel& model = machine.add(make_toy_pipeline());
  warm_up(machine);
  std::vector<Client> live;
  for (int i = 0; i < 9; ++i) live.push_back(machine.submit(ask_bytes(300, i)));
  SpeechRequest request = ask_bytes(50, 7);
  request.terms.background = true;
  const Client first = machine.submit(request), second = machine.submit(request);
  machine.turn();
  machine.scheduler.raise_priority(second->id);
  machine.run_until(machine.now() + 1.5);
  EXPECT_EQ(model.holding, second->done ? 9 : 10);
  EXPECT_EQ(model.metrics.running.value(), model.holding) << "the request in the background counts";
  EXPECT_FALSE(second->pieces.empty());
  machine.run_to_end();
  EXPECT_LT(second->ended_s, first->ended_s);
  EXPECT_EQ(second->samples, first->samples);
}

}  // namespace
}  // namespace syrinx
