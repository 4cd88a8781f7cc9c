// Remote stages in the engine: they have their own executors, no other stage waits for them, and
// the loss of a stream ends only its own request.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "engine/collector.h"
#include "engine/engine.h"
#include "engine/machine.h"
#include "engine/platform.h"
#include "model/toy/toy.h"

namespace syrinx {
namespace {

/// Wraps a stage and reports it as remote.
class AwayStage : public ChunkStage {
 public:
  using Before = std::function<void(std::span<ChunkJob>)>;
  AwayStage(const ChunkStage& inner, Before before) : inner_(inner), before_(std::move(before)) {}
  bool remote() const override { return true; }
  FrameType in() const override { return inner_.in(); }
  FrameType out() const override { return inner_.out(); }
  int most_out() const override { return inner_.most_out(); }
  Bundle bundle(const Sequence& sequence) const override { return inner_.bundle(sequence); }
  std::unique_ptr<StreamState> open(Bundle bundle) const override {
    return inner_.open(std::move(bundle));
  }
  int cut(const StreamState& stream, const WaitingFrames& waiting, int planned) const override {
    return inner_.cut(stream, waiting, planned);
  }
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override {
    inner_.run(ctx, jobs);
    before_(jobs);
  }

 private:
  const ChunkStage& inner_;
  const Before before_;
};

/// The toy model with its last stage remote.
class AwayToy : public Pipeline {
 public:
  explicit AwayToy(AwayStage::Before before = [](std::span<ChunkJob>) {})
      : inner_(make_toy_pipeline()), stage_(*inner_->graph().nodes()[2].chunk, std::move(before)) {
    std::vector<Node> nodes(inner_->graph().nodes().begin(), inner_->graph().nodes().end());
    nodes[2].chunk = &stage_;
    graph_ = Graph(nodes, {inner_->graph().edges().begin(), inner_->graph().edges().end()});
  }
  const PipelineInfo& info() const override { return inner_->info(); }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override { return inner_->open(request); }

 private:
  std::shared_ptr<const Pipeline> inner_;
  AwayStage stage_;
  Graph graph_;
};

EngineOptions with_threads(int threads, int remote_slots = 0) {
  EngineOptions options;
  options.threads = threads;
  options.remote_slots = remote_slots;
  return options;
}

SpeechRequest remote_request(const std::string& text, uint64_t seed) {
  SpeechRequest request;
  request.say.text = text;
  request.sampling.seed = seed;
  return request;
}

std::vector<float> heard(Engine& engine, const SpeechRequest& request) {
  auto listener = std::make_shared<Collector>();
  EXPECT_TRUE(engine.submit(request, listener).ok());
  EXPECT_NE(listener->wait().reason, FinishReason::kError) << listener->wait().error.message;
  return listener->samples();
}

TEST(RemoteStages, StagesHaveExecutorsOfTheirOwn) {
  EngineOptions options = with_threads(4);
  EXPECT_EQ(slots_for(options).slots.size(), 2u);
  options.remote_slots = 2;
  const SlotsSpec spec = slots_for(options);
  ASSERT_EQ(spec.slots.size(), 3u);
  EXPECT_EQ(spec.here(), 1);
  EXPECT_EQ(spec.slots[0].threads, 4);  // threads that only wait do not need cores
  EXPECT_TRUE(spec.slots[0].steps && !spec.slots[0].remote);
  EXPECT_TRUE(spec.slots[2].remote && !spec.slots[2].steps);
  options.executors = Executors::kSplit;
  EXPECT_EQ(slots_for(options).here(), 2);
  EXPECT_EQ(slots_for(options).slots.size(), 4u);
}

TEST(RemoteStages, WithoutASlotTheModelIsRefused) {
  EXPECT_THROW(Engine(std::make_shared<AwayToy>(), with_threads(1)), LoadError);
}

/// With executors of every kind, steps continue while a remote chunk runs.
TEST(RemoteStages, NoOtherStageWaitsForIt) {
  const SpeechRequest request = remote_request(std::string(80, 'a'), 1);
  Engine plain(make_toy_pipeline(), with_threads(1));
  const std::vector<float> want = heard(plain, request);
  const int64_t all = plain.stats().ar_steps;
  for (const auto executors : {std::optional<Executors>(), std::optional(Executors::kShared),
                               std::optional(Executors::kSplit), std::optional(Executors::kEach)}) {
    std::atomic<Engine*> watched{nullptr};
    std::atomic<int> held{0};
    const auto toy = std::make_shared<AwayToy>([&](std::span<ChunkJob>) {
      // The first chunk returns only after more steps have been taken.
      if (held.fetch_add(1) > 0) return;
      while (watched.load() == nullptr) std::this_thread::yield();
      const int64_t before = watched.load()->stats().ar_steps;
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (watched.load()->stats().ar_steps < std::min(before + 3, all)) {
        if (std::chrono::steady_clock::now() > until) throw std::runtime_error("nobody steps");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    EngineOptions options = with_threads(2, 1);
    options.executors = executors;
    Engine engine(toy, options);
    watched = &engine;
    EXPECT_EQ(heard(engine, request), want);
    EXPECT_GT(held.load(), 1);
  }
}

TEST(RemoteStages, AStreamThatIsLostEndsAlone) {
  Engine plain(make_toy_pipeline(), with_threads(1));
  std::atomic<bool> lost{false};
  const auto toy = std::make_shared<AwayToy>([&](std::span<ChunkJob> jobs) {
    if (!lost.exchange(true)) jobs[0].fault = Error{ErrorCode::kOverloaded, "it went away", {}, 1};
  });
  Engine engine(toy, with_threads(1, 1));
  std::vector<std::shared_ptr<Collector>> listeners;
  for (uint64_t i = 0; i < 6; ++i) {
    listeners.push_back(std::make_shared<Collector>());
    ASSERT_TRUE(engine.submit(remote_request("some words to speak", i), listeners.back()).ok());
  }
  int faults = 0;
  for (uint64_t i = 0; i < 6; ++i) {
    const Outcome& outcome = listeners[i]->wait();
    if (outcome.reason == FinishReason::kError) {
      ++faults;
      EXPECT_EQ(outcome.error.code, ErrorCode::kOverloaded);
      EXPECT_EQ(outcome.error.message, "it went away");
    } else {
      EXPECT_EQ(listeners[i]->samples(), heard(plain, remote_request("some words to speak", i)));
    }
  }
  EXPECT_EQ(faults, 1);
}

}  // namespace
}  // namespace syrinx
