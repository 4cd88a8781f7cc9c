// Tests that steady steps of real families allocate no memory: a request must allocate all its
// memory when it begins.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <thread>

#include "engine/engine.h"
#include "engine/testing/idle.h"
#include "runtime/runtime.h"

namespace {
std::atomic<int64_t> asked_for{0};
thread_local bool counts = true;  // whether allocations of this thread count
}  // namespace

void* operator new(size_t size) {
  if (counts) ++asked_for;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // both new and delete are replaced here
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#pragma GCC diagnostic pop

namespace syrinx {
namespace {

/// Records how many allocations there were at its output pieces number `from` and `to`.
class Watch : public Sink {
 public:
  Watch(std::atomic<bool>& all_submitted, int from, int to)
      : all_submitted_(all_submitted), from_(from), to_(to) {}
  void audio(std::span<const float>) override {
    all_submitted_.wait(false);  // allocations of submit() are not counted
    ++pieces;
    if (pieces == from_) first = asked_for.load();
    if (pieces == to_) last = asked_for.load();
  }
  void finished(const Outcome& outcome) override {
    fault = outcome.error.message;
    over = true;
    over.notify_all();
  }
  std::atomic<bool> over{false};
  int64_t first = -1, last = -2;
  int pieces = 0;
  std::string fault;

 private:
  std::atomic<bool>& all_submitted_;
  const int from_, to_;
};

/// A small checkpoint of tests/parity, and the two output pieces between which nothing may be
/// allocated. By then, batches of all sizes have been run.
struct Steady {
  const char* checkpoint;
  int from, to;
};
void PrintTo(const Steady& steady, std::ostream* out) { *out << steady.checkpoint; }

constexpr const char* kLongSentence =
    "one and then one more of all these many things, and then one more of all these many things, "
    "and then one more of all these many things, and then one more of all these many things.";

class SteadyStep : public testing::TestWithParam<Steady> {};

TEST_P(SteadyStep, AsksForNoMemory) {
  LoadOptions load;
  load.model = std::string(SYRINX_BINARY_DIR "/parity/") + GetParam().checkpoint;
  load.weights = "f32";
  load.engine.threads = 2;
  load.engine.executors = Executors::kShared;
  load.engine.repetition_s = 0;
  const std::unique_ptr<Engine> engine = load_engine(load);
  const PipelineInfo& info = engine->pipeline().info();
  SpeechRequest request;
  request.say.text = "One two three.";
  if (!info.speech.voices.empty()) request.voice.name = info.speech.voices.front().id;
  request.terms.ignore_stop = true;
  request.terms.max_frames = 150;
  request.terms.initial_chunk_frames = 1;
  // This thread may allocate, so its allocations are not counted.
  counts = false;
  // Timing decides which requests share a batch, so batches of all sizes are run first.
  for (int crowd = 1; crowd <= 3; ++crowd) {
    std::atomic<bool> go{true};
    std::vector<std::shared_ptr<Watch>> first;
    for (int i = 0; i < crowd; ++i) {
      request.sampling.seed = i;
      first.push_back(std::make_shared<Watch>(go, 0, 0));
      ASSERT_TRUE(engine->submit(request, first.back()).ok());
    }
    for (const auto& watch : first) watch->over.wait(false);
  }
  std::atomic<bool> all_submitted{false};
  std::vector<std::shared_ptr<Watch>> watches;
  for (int i = 0; i < 3; ++i) {
    request.sampling.seed = i;
    watches.push_back(std::make_shared<Watch>(all_submitted, GetParam().from, GetParam().to));
    const auto id = engine->submit(request, watches.back());
    ASSERT_TRUE(id.ok()) << id.error().message;
  }
  all_submitted = true;
  all_submitted.notify_all();
  ASSERT_TRUE(wait_until_idle(*engine, 600));
  for (const auto& watch : watches) {
    EXPECT_EQ(watch->fault, "");
    EXPECT_EQ(watch->first, watch->last) << "of " << watch->pieces << " pieces";
  }
}

INSTANTIATE_TEST_SUITE_P(Families, SteadyStep,
                         testing::Values(Steady{"qwen3_tts/golden/projected/checkpoint", 4, 12},
                                         Steady{"csm/golden/taught/checkpoint", 4, 12},
                                         Steady{"zonos/golden/checkpoint", 4, 6}),
                         [](const auto& steady) {
                           const std::string name = steady.param.checkpoint;
                           return name.substr(0, name.find('/'));
                         });

/// The passes over a canvas come before the first output, so the test counts between two steps.
TEST(SteadyPass, AsksForNoMemory) {
  LoadOptions load;
  load.model = SYRINX_BINARY_DIR "/parity/omnivoice/golden/plain/checkpoint";
  load.weights = "f32";
  load.engine.threads = 2;
  load.engine.executors = Executors::kShared;
  const std::unique_ptr<Engine> engine = load_engine(load);
  SpeechRequest request;
  request.say.text = kLongSentence;
  counts = false;
  std::atomic<bool> go{true};
  for (const double speed : {1.0, 0.5}) {  // passes of one step; passes of several steps
    request.voice.speed = static_cast<float>(speed);
    int64_t first = -1, last = -2;
    for (const bool counted : {false, true}) {
      const Counter& steps = engine->metrics().stages[0].units;
      const double begin = steps.value();
      const auto watch = std::make_shared<Watch>(go, 0, 0);
      ASSERT_TRUE(engine->submit(request, watch).ok());
      while (!watch->over && steps.value() < begin + 5) std::this_thread::yield();
      first = asked_for;
      while (!watch->over && steps.value() < begin + 25) std::this_thread::yield();
      last = asked_for;
      EXPECT_FALSE(watch->over) << "the request ended too early to be watched";
      watch->over.wait(false);
      EXPECT_EQ(watch->fault, "");
      if (!counted) continue;
      EXPECT_EQ(first, last) << "at speed " << speed;
    }
  }
}

}  // namespace
}  // namespace syrinx
