// I14 and I16 of CONTRACT.md under random schedules: graphs with two outputs, texts with pauses.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/testing/dice.h"
#include "engine/testing/mixed_schedules.h"
#include "engine/testing/plain_run.h"
#include "engine/testing/scripted_machine.h"
#include "model/toy/duet.h"
#include "model/toy/toy.h"

namespace syrinx {
namespace {

/// The output of a request to a pipeline in which a thinker (text) feeds a talker (speech).
struct Duet {
  std::string text;
  std::vector<float> samples;
  bool operator==(const Duet&) const = default;
};

/// The output of a request does not depend on other requests, pages, executors or paused
/// readers.
TEST(Schedules, I14_Outputs) {
  const auto pipeline = make_duet_pipeline();
  const size_t page = KvPool::page_bytes(pipeline->graph().nodes()[0].ar->traits().kv[0]);
  std::map<std::string, Duet> alone;
  for (int i = 0; i < schedules(60); ++i) {
    Dice dice(14'000'000 + static_cast<uint64_t>(i));
    Script script;
    script.options.policy = dice.of({"streaming", "throughput", "fcfs"});
    script.options.max_batch = dice.between(1, 5);
    script.options.max_prefill_rows = dice.between(1, 30);
    script.options.kv_bytes = dice.between(14, 40) * page;
    script.options.repetition_s = 0;
    script.options.max_unread_s = 0.05;
    script.options.max_wait_s = 1e9;
    script.slots = {std::vector<SlotSpec>(dice.between(1, 3)), false, dice.one_in(2)};
    if (script.slots.slots.size() == 1) script.slots.split = false;
    script.batch_s = [&](const Batch&) { return dice.seconds(3e-3); };
    ScriptedMachine machine(script);
    machine.add(pipeline);
    std::vector<std::pair<std::string, std::shared_ptr<ScriptedClient>>> clients;
    for (int c = dice.between(1, 4); c > 0; --c) {
      SpeechRequest request;
      for (int b = dice.between(1, 30); b > 0; --b) {
        request.say.text += static_cast<char>('a' + dice.below(3));
      }
      request.sampling.seed = dice.below(2);
      const std::string key = request.say.text + std::to_string(request.sampling.seed);
      if (!alone.contains(key)) {
        Script plain;
        plain.options.repetition_s = 0;
        ScriptedMachine one(plain);
        one.add(pipeline);
        const auto client = one.submit(request);
        one.run_to_end();
        ASSERT_EQ(client->outcome.reason, FinishReason::kStop) << client->outcome.error.message;
        ASSERT_EQ(client->written.size(), request.say.text.size());
        alone[key] = {client->written, client->samples};
      }
      clients.emplace_back(key, machine.submit(request));
      ASSERT_TRUE(clients.back().second) << machine.refusal.message;
      if (dice.one_in(3)) machine.run_until(machine.now() + dice.seconds(0.02));
    }
    clients.front().second->unread = dice.of({0.0, 1.0});
    machine.run_until(machine.now() + 0.5);
    clients.front().second->unread = 0;
    machine.run_to_end();
    for (const auto& [key, client] : clients) {
      EXPECT_EQ(client->outcome.reason, FinishReason::kStop) << client->outcome.error.message;
      EXPECT_TRUE((Duet{client->written, client->samples} == alone[key])) << "I14, schedule " << i;
    }
    for (const ResidentNode& node : machine.model().nodes) {
      if (node.ar) {
        EXPECT_EQ(node.pages->available(), node.pages->total()) << "I11";
      }
    }
    if (HasFailure()) FAIL() << "in schedule " << i;
  }
}

/// A request with pauses in its text, and its expected samples.
struct Paused {
  SpeechRequest request;
  std::vector<float> samples;
  /// Offsets at which the text may be cut into late pieces: only between two letters of a part. At
  /// another cut the toy model would see the end of a part too late, and take one more step.
  std::vector<size_t> cuts;
};

/// Makes a request with pauses. The expected samples are those of a separate request for each part,
/// computed without the engine, with exact silence between parts.
Paused pause(Dice& dice, const Pipeline& model) {
  Paused out;
  out.request.sampling.seed = dice.below(100);
  out.request.terms.max_frames = 60;  // more frames than all parts together need
  if (dice.one_in(3)) out.request.sampling.guidance = 1.5f;
  for (int part = dice.between(1, 4); part > 0; --part) {
    SpeechRequest alone = out.request;
    alone.say.text.clear();
    for (int i = dice.between(1, 12); i > 0; --i) {
      alone.say.text += static_cast<char>('a' + dice.below(26));
    }
    const std::vector<float> spoken = run_plainly(model, alone).samples;
    out.samples.insert(out.samples.end(), spoken.begin(), spoken.end());
    for (size_t at = 1; at < alone.say.text.size(); ++at) {
      out.cuts.push_back(out.request.say.text.size() + at);
    }
    out.request.say.text += alone.say.text;
    if (part == 1 && dice.one_in(2)) break;  // otherwise the text ends with a pause
    const int pause_ms = dice.between(1, 90);
    const size_t silence =
        static_cast<size_t>(std::llround(1e-3 * pause_ms * model.info().speech.sample_rate));
    out.samples.resize(out.samples.size() + silence);
    out.request.say.text += "[pause " + std::to_string(pause_ms) + "ms]";
  }
  return out;
}

/// A text with pauses gives the samples of its parts, and the silence, under any schedule.
TEST(Schedules, I16_Pauses) {
  const auto pipeline = make_toy_pipeline();
  Dice first(16);
  std::vector<Paused> expected;
  for (int i = 0; i < 60; ++i) expected.push_back(pause(first, *pipeline));
  Executor executor(1);
  for (int i = 0; i < schedules(150); ++i) {
    Dice dice(16'000'000 + static_cast<uint64_t>(i));
    Script script;
    script.options.policy = dice.of({"streaming", "throughput", "fcfs"});
    script.options.max_batch = dice.between(2, 5);
    script.options.max_prefill_rows = dice.between(1, 30);
    script.options.kv_bytes = dice.between(8, 14) * KvPool::page_bytes({1, 2, 8, DType::kF32});
    script.options.repetition_s = 0;
    script.options.max_unread_s = 0.05;
    script.options.max_wait_s = 1e9;
    script.slots = {std::vector<SlotSpec>(dice.between(1, 3)), false, false};
    script.batch_s = [&](const Batch&) { return dice.seconds(2e-3); };
    script.job_s = [&](const HostJob&) { return dice.seconds(0.01); };
    ScriptedMachine machine(script, &executor);
    machine.add(pipeline);
    struct Talk {
      const Paused* expected;
      std::shared_ptr<ScriptedClient> client;
      bool cancelled = false;
    };
    std::vector<Talk> talks;
    for (int c = dice.between(1, 4); c > 0; --c) {
      const Paused& paused = expected[dice.below(static_cast<int>(expected.size()))];
      SpeechRequest request = paused.request;
      std::vector<size_t> ends;  // ends of the pieces, in bytes
      for (const size_t cut : paused.cuts) {
        if (dice.one_in(4)) ends.push_back(cut);
      }
      ends.push_back(request.say.text.size());
      request.say.text.resize(ends.front());
      request.say.open = ends.size() > 1;
      talks.push_back(
          {&paused, dice.one_in(3) ? machine.submit_soon(request) : machine.submit(request)});
      Talk& talk = talks.back();
      ASSERT_TRUE(talk.client) << machine.refusal.message;
      for (size_t piece = 1; piece < ends.size(); ++piece) {
        machine.run_until(machine.now() + dice.seconds(0.02));
        const std::string& text = paused.request.say.text;
        machine.scheduler.append_text(talk.client->id,
                                      text.substr(ends[piece - 1], ends[piece] - ends[piece - 1]),
                                      piece + 1 == ends.size());
      }
      machine.run_until(machine.now() + dice.seconds(0.02));
      talk.client->unread = dice.of({0.0, 0.0, 1.0});
      talk.cancelled = dice.one_in(5) && !talk.client->done;
      if (talk.cancelled) machine.scheduler.cancel(talk.client->id);
    }
    machine.run_until(machine.now() + 0.5);
    for (Talk& talk : talks) talk.client->unread = 0;
    machine.run_to_end();
    for (const Talk& talk : talks) {
      ASSERT_TRUE(talk.client->done) << "I16, schedule " << i;
      const std::vector<float>&got = talk.client->samples, &want = talk.expected->samples;
      if (talk.client->outcome.reason == FinishReason::kCancelled) {
        EXPECT_TRUE(talk.cancelled && got.size() <= want.size() &&
                    std::equal(got.begin(), got.end(), want.begin()))
            << "I16, schedule " << i;
        continue;
      }
      EXPECT_EQ(talk.client->outcome.reason, FinishReason::kStop)
          << talk.client->outcome.error.message << ", schedule " << i;
      EXPECT_EQ(got.size(), want.size()) << "I16, schedule " << i;
      EXPECT_TRUE(got == want) << "I16, schedule " << i << ": " << talk.expected->request.say.text;
    }
    expect_clean(machine, talks.size());
    if (HasFailure()) FAIL() << "in schedule " << i;
  }
}

}  // namespace
}  // namespace syrinx
