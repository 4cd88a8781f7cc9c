// For tests of graphs whose AR nodes feed each other: requests of mixed kinds under random
// schedules. Each client gets the same output as alone, with any delays, batches, pages, seats,
// chunks and windows. A client that cancels gets the beginning of that output. At the end no page
// and no request is left.
#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/testing/rewired.h"
#include "engine/testing/scripted_machine.h"

namespace syrinx {

/// A request, and the output that it has as the only request.
struct ExpectedAnswer {
  SpeechRequest request;
  std::string text;
  std::vector<float> samples;
  FinishReason reason = FinishReason::kStop;
};

inline ExpectedAnswer run_alone(std::shared_ptr<const Pipeline> pipeline,
                                const SpeechRequest& request, Executor& executor) {
  Script script;
  script.options.repetition_s = 0;
  ScriptedMachine machine(script, &executor);
  machine.add(std::move(pipeline));
  const auto client = machine.submit(request);
  EXPECT_TRUE(client) << machine.refusal.message;
  if (!client) return {};
  machine.run_to_end();
  EXPECT_TRUE(client->done);
  EXPECT_NE(client->outcome.reason, FinishReason::kError) << client->outcome.error.message;
  return {request, client->written, client->samples, client->outcome.reason};
}

/// Expects `accepted` reports of ended requests, and that no request holds pages or seats.
inline void expect_clean(ScriptedMachine& machine, size_t accepted) {
  EXPECT_EQ(machine.released, accepted) << "I6: each is let go once";
  EXPECT_EQ(machine.scheduler.in_flight(), 0);
  EXPECT_EQ(machine.model().requests, 0);
  for (const ResidentNode& node : machine.model().nodes) {
    if (!node.ar) continue;
    EXPECT_EQ(node.pages->available(), node.pages->total()) << "I6: pages of " << node.metrics->stage;
    EXPECT_EQ(node.steps_in_flight, 0);
  }
}

inline void expect_beginning(const ScriptedClient& client, const ExpectedAnswer& expected) {
  EXPECT_TRUE(expected.text.starts_with(client.written)) << client.written;
  ASSERT_LE(client.samples.size(), expected.samples.size());
  EXPECT_TRUE(std::equal(client.samples.begin(), client.samples.end(), expected.samples.begin()));
}

/// The result of a schedule: how many preemptions it had.
struct MixedResult {
  double preemptions = 0;
};

/// A random schedule of requests whose outputs are known.
class MixedSchedule {
 public:
  /// `kv_bytes`: memory for each AR node, enough for any one request. `own_blocks`: node that keeps
  /// its family's chunk policy, because it makes blocks larger than random chunks; -1: no node.
  MixedSchedule(uint64_t seed, const std::shared_ptr<const Pipeline>& pipeline,
                std::span<const ExpectedAnswer> expected, size_t kv_bytes, Executor& executor,
                int own_blocks = -1)
      : random_(seed), expected_(expected), machine_(script(kv_bytes), &executor) {
    slow_node_ = below(static_cast<int>(pipeline->graph().nodes().size()));
    machine_.add(rewired(pipeline, [this, own_blocks](Edge& edge) {
      if (edge.from.node == kClient || edge.to.node == kClient) return;
      if (edge.to.node == own_blocks) return;
      ChunkPolicy& policy = edge.policy;
      policy.initial = 1 + below(6);
      policy.steady = 1 + below(12);
      const int least = std::max(policy.initial, policy.steady) + policy.lookahead;
      // the smallest window, or a window that is never full
      edge.window = below(2) == 0 ? least : 1 << 20;
    }));
  }

  MixedResult run() {
    plan();
    size_t at = 0;
    for (int i = 0; i < 200'000; ++i) {
      const double event_s = at < events_.size() ? events_[at].at_s : INFINITY;
      const double next_s = std::min(machine_.next_s(), event_s);
      if (!std::isfinite(next_s)) break;
      machine_.platform.set(std::max(machine_.now(), next_s));
      if (event_s <= next_s) events_[at++].happens();
      machine_.turn();
      if (::testing::Test::HasFailure()) return {};
    }
    for (const Talk& talk : talks_) check(talk);
    expect_clean(machine_, talks_.size());
    return {machine_.model().metrics.preemptions.value()};
  }

 private:
  struct Event {
    double at_s;
    std::function<void()> happens;
  };
  struct Talk {
    const ExpectedAnswer* expected = nullptr;
    std::shared_ptr<ScriptedClient> client;
    bool cancelled = false;
  };
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  double seconds(double most_s) { return most_s * (1 + below(1000)) / 1000; }

  Script script(size_t kv_bytes) {
    Script script;
    EngineOptions& o = script.options;
    const char* policies[] = {"streaming", "throughput", "fcfs"};
    o.policy = policies[below(3)];
    const bool pairs =
        std::any_of(expected_.begin(), expected_.end(), [](const ExpectedAnswer& expected) {
          return expected.request.sampling.guidance.value_or(1) != 1;
        });
    o.max_batch = std::max(pairs ? 2 : 1, 1 + below(6));
    o.max_prefill_rows = 1 + below(40);
    o.kv_bytes = kv_bytes;
    o.share_prefixes = below(3) > 0;
    o.repetition_s = 0;
    o.max_unread_s = 0.05;
    o.max_wait_s = 1e9;
    switch (below(3)) {
      case 0:
        script.slots = {{{1, true}}, true, false};
        break;
      case 1:
        script.slots = {{{1, false}, {1, true}}, false, true};
        break;
      default:
        script.slots = {std::vector<SlotSpec>(1 + below(3)), false, false};
    }
    const double usual[] = {0.0, 1e-4, 2e-3};
    const double usual_s = usual[below(3)], slow = below(2) == 0 ? 1 : 300;
    script.batch_s = [this, usual_s, slow](const Batch& batch) {
      return seconds(usual_s) * (batch.node == slow_node_ ? slow : 1);
    };
    script.begins = [](const Batch& batch) {
      for (const Active* owner : batch.owners)
        EXPECT_TRUE(owner->live()) << "I6: a batch for a request that has ended";
      if (batch.kind() != Plan::kAr) return;
      for (const StepSequence& s : batch.sequences())
        EXPECT_TRUE(!s.emits || s.state->ready()) << "I9: a step of a sequence that waits";
    };
    return script;
  }

  void plan() {
    talks_.resize(static_cast<size_t>(1 + below(6)));
    for (Talk& talk : talks_) {
      talk.expected = &expected_[static_cast<size_t>(below(static_cast<int>(expected_.size())))];
      const double come_s = seconds(0.05);
      events_.push_back({come_s, [this, &talk] {
                           talk.client = machine_.submit(talk.expected->request);
                           ASSERT_TRUE(talk.client) << machine_.refusal.message;
                         }});
      if (below(4) == 0) {
        events_.push_back({come_s + seconds(0.1), [this, &talk] {
                             talk.cancelled = true;
                             machine_.scheduler.cancel(talk.client->id);
                           }});
      }
      if (below(4) == 0) {
        const double pause_s = come_s + seconds(0.05);
        events_.push_back({pause_s, [&talk] { talk.client->unread = 1; }});
        events_.push_back({pause_s + seconds(0.2), [&talk] { talk.client->unread = 0; }});
      }
    }
    std::stable_sort(events_.begin(), events_.end(),
                     [](const Event& a, const Event& b) { return a.at_s < b.at_s; });
  }

  static void check(const Talk& talk) {
    const ScriptedClient& client = *talk.client;
    ASSERT_TRUE(client.done) << "I6: request " << client.id << " never ended";
    const FinishReason reason = client.outcome.reason;
    expect_beginning(client, *talk.expected);
    EXPECT_LE(client.outcome.cached_tokens, client.outcome.prompt_tokens);
    if (talk.cancelled && reason == FinishReason::kCancelled) return;
    EXPECT_EQ(reason, talk.expected->reason) << client.outcome.error.message;
    EXPECT_EQ(client.written, talk.expected->text);
    EXPECT_EQ(client.samples.size(), talk.expected->samples.size());
  }

  std::mt19937_64 random_;
  std::span<const ExpectedAnswer> expected_;
  int slow_node_ = 0;
  std::vector<Event> events_;
  std::vector<Talk> talks_;
  ScriptedMachine machine_;
};

/// Runs a request repeatedly, cancelled one turn later each time, until the request ends first.
inline void cancel_at_any_moment(std::shared_ptr<const Pipeline> pipeline,
                                 const ExpectedAnswer& expected, Executor& executor) {
  bool whole = false;
  for (int turns = 0; !whole; ++turns) {
    ASSERT_LT(turns, 10'000);
    ScriptedMachine machine({.slots = {{{1, false}, {1, true}}, false, true}}, &executor);
    machine.add(pipeline);
    const auto client = machine.submit(expected.request);
    machine.turn();
    for (int i = 0; i < turns && !client->done; ++i) machine.next();
    whole = client->done;
    machine.scheduler.cancel(client->id);
    machine.run_to_end();
    EXPECT_TRUE(client->done);
    EXPECT_EQ(client->outcome.reason, whole ? expected.reason : FinishReason::kCancelled);
    expect_beginning(*client, expected);
    expect_clean(machine, 1);
    if (::testing::Test::HasFailure()) FAIL() << "cancelled after " << turns << " turns";
  }
}

}  // namespace syrinx
