// Tests models with AR nodes in another process, on a link. The bits must be the same as without a
// link, for any use of pages, guesses, companions and late text. After the other process is lost,
// its state is computed again. That process is a thread here.
#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "base/clock.h"
#include "engine/collector.h"
#include "engine/machine.h"
#include "io/test_dir.h"
#include "link/remote_stage.h"
#include "link/stage_server.h"
#include "model/toy/duet.h"
#include "model/toy/toy.h"
#include "runtime/runtime.h"

namespace syrinx {
namespace {

constexpr double kStepsPatience_s = 60;

using Make = std::shared_ptr<const Pipeline> (*)();
std::shared_ptr<const Pipeline> toy() { return make_toy_pipeline(); }
std::shared_ptr<const Pipeline> duet() { return make_duet_pipeline(); }
std::shared_ptr<const Pipeline> finch() {
  LoadOptions options;
  options.model = SYRINX_SOURCE_DIR "/voices/finch";
  options.device = "cpu";
  options.engine.threads = 1;
  return load_pipeline(options);
}

Introduction introduced() { return {"1", "any", "toy", {}}; }

/// Serves nodes of a model at a path, with its own pipeline.
struct StepsHolder {
  StepsHolder(Make make, const std::vector<std::string>& nodes, const std::string& path)
      : pipeline(make()) {
    StageServerOptions options{.address = path, .me = introduced(), .threads = 1};
    for (const std::string& node : nodes)
      options.me.nodes.push_back(shape_of(pipeline->graph(), node));
    held.emplace(pipeline, options);
  }
  std::shared_ptr<const Pipeline> pipeline;
  std::optional<StageServer> held;
};

std::shared_ptr<const Pipeline> apart(Make make, const std::vector<Placement>& placements,
                                      size_t kept_bytes = size_t{8} << 20) {
  LinkOptions options{.address = {}, .wanted = introduced(), .longest_pause_s = 0.05};
  options.return_s = 0;
  options.kept_bytes = kept_bytes;
  return place_stages(make(), placements, options);
}

bool soon(const std::function<bool()>& done) {
  const double until_s = now_s() + kStepsPatience_s;
  while (!done()) {
    if (now_s() > until_s) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

bool everything_up(const Engine& engine) {
  for (const RemoteNode& node : engine.pipeline().remote_nodes()) {
    if (!node.up) return false;
  }
  return true;
}

EngineOptions with_slots(int remote_slots, size_t kv_bytes = 0) {
  EngineOptions options;
  options.threads = 1;
  options.repetition_s = 0;
  options.remote_slots = remote_slots;
  options.kv_bytes = kv_bytes;
  return options;
}

struct Said {
  std::vector<float> samples;
  std::string text;
  FinishReason reason = FinishReason::kStop;
  Error error;
  bool operator==(const Said& other) const {
    return samples == other.samples && text == other.text && reason == other.reason;
  }
};

/// A collector that also collects the text.
class Listener : public Collector {
 public:
  void text(std::string_view piece, std::span<const ScoredToken>) override { read += piece; }
  std::string read;  // complete after wait()
};

Said heard(Listener& listener) {
  const Outcome& outcome = listener.wait();
  return {listener.samples(), listener.read, outcome.reason, outcome.error};
}

std::vector<Said> say(Engine& engine, const std::vector<SpeechRequest>& requests) {
  std::vector<std::shared_ptr<Listener>> listeners;
  for (const SpeechRequest& request : requests) {
    listeners.push_back(std::make_shared<Listener>());
    const auto id = engine.submit(request, listeners.back());
    EXPECT_TRUE(id.ok()) << (id.ok() ? "" : id.error().message);
    if (!id.ok()) return {};
    if (request.say.open) {
      engine.append_text(id.value(), " and so", false);
      engine.append_text(id.value(), " on", true);
    }
  }
  std::vector<Said> out;
  for (const auto& listener : listeners) out.push_back(heard(*listener));
  return out;
}

SpeechRequest speech_of(const std::string& text, uint64_t seed) {
  SpeechRequest request;
  request.say.text = text;
  request.sampling.seed = seed;
  return request;
}

std::vector<SpeechRequest> toy_requests() {
  std::vector<SpeechRequest> out;
  for (uint64_t seed = 0; seed < 9; ++seed) {
    SpeechRequest request = speech_of("so it goes|and goes on and on", seed);
    request.terms.max_frames = 100;
    if (seed % 3 == 1) {
      request.sampling.guidance = 2.f;
      request.say.instructions = "a long # manner of speaking, which all of these have alike";
    }
    if (seed % 3 == 2) {
      request.say.open = true;
      request.say.instructions = "a long . manner of speaking, which all of these have alike";
    }
    out.push_back(request);
  }
  return out;
}

void expect_alike(const std::vector<Said>& got, const std::vector<Said>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(got[i] == want[i]) << "request " << i << ": " << got[i].error.message;
    EXPECT_FALSE(want[i].samples.empty() && want[i].text.empty());
  }
}

TEST(StepsApart, TheSameBitsWithTheModelElsewhere) {
  Engine here(toy(), with_slots(0));
  const std::vector<Said> want = say(here, toy_requests());
  // With few pages, sequences lose their pages, and shared pages are copied.
  for (const size_t kv_bytes : {size_t{0}, size_t{60'000}}) {
    TestDir dir;
    const StepsHolder holder(toy, {"ar"}, dir.path("s"));
    Engine far(apart(toy, {{"ar", dir.path("s")}}), with_slots(1, kv_bytes));
    ASSERT_TRUE(soon([&] { return everything_up(far); }));
    expect_alike(say(far, toy_requests()), want);
    EXPECT_TRUE(soon([&] { return holder.held->state().streams == 0; }));
    EXPECT_GT(far.pipeline().remote_nodes()[0].batches, 0u);
  }
}

std::vector<SpeechRequest> duet_requests() {
  std::vector<SpeechRequest> out;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    out.push_back(
        speech_of(concat(std::string(40, static_cast<char>('a' + seed)), "so it goes"), seed));
    out.back().writing.text_only = seed == 5;
  }
  return out;
}

TEST(StepsApart, ThinkerAndTalkerInAnyProcess) {
  Engine here(duet(), with_slots(0));
  const std::vector<Said> want = say(here, duet_requests());
  using Places = std::vector<std::vector<std::string>>;
  for (const Places& places :
       {Places{{"talker", "voice"}}, Places{{"talker"}}, Places{{"thinker"}},
        Places{{"thinker"}, {"talker"}, {"voice"}}, Places{{"thinker", "talker"}}}) {
    TestDir dir;
    std::deque<StepsHolder> holders;
    std::vector<Placement> placements;
    for (size_t i = 0; i < places.size(); ++i) {
      const std::string path = dir.path("s" + std::to_string(i));
      holders.emplace_back(duet, places[i], path);
      for (const std::string& node : places[i]) placements.push_back({node, path});
    }
    Engine far(apart(duet, placements), with_slots(remote_slots(placements)));
    ASSERT_TRUE(soon([&] { return everything_up(far); }));
    expect_alike(say(far, duet_requests()), want);
    for (const StepsHolder& holder : holders) {
      EXPECT_GT(holder.held->state().batches, 0u);
      EXPECT_TRUE(soon([&] { return holder.held->state().streams == 0; }));
    }
  }
}

/// A request for text opens no talker, so no process needs to serve a talker.
TEST(StepsApart, AReaderNeedsNoTalker) {
  TestDir dir;
  Engine far(apart(duet, {{"talker", dir.path("s")}}), with_slots(1));
  SpeechRequest request = speech_of("hello", 1);
  EXPECT_FALSE(far.submit(request, std::make_shared<Listener>()).ok());
  request.writing.text_only = true;
  EXPECT_FALSE(say(far, {request})[0].text.empty());
}

/// Returns requests that are long enough to still be running when a process is lost.
std::vector<SpeechRequest> long_requests(size_t count) {
  std::vector<SpeechRequest> out;
  for (uint64_t seed = 0; seed < count; ++seed) {
    out.push_back(speech_of(std::string(400, static_cast<char>('a' + seed)), seed));
  }
  return out;
}

/// Returns how often links were connected.
uint64_t connections(const Engine& engine) {
  uint64_t out = 0;
  for (const RemoteNode& node : engine.pipeline().remote_nodes()) out += node.connections;
  return out;
}

/// Two processes end in turn, repeatedly, while both nodes of several requests step. Neither
/// process ends while the lost state of the other is computed again.
TEST(StepsApart, WhatOneLosesTheOtherComputesAgain) {
  Engine here(duet(), with_slots(0));
  const std::vector<SpeechRequest> requests = long_requests(6);
  const std::vector<Said> want = say(here, requests);
  TestDir dir;
  const std::vector<std::string> nodes{"thinker", "talker"};
  std::optional<StepsHolder> one, other;
  one.emplace(duet, nodes, dir.path("a")), other.emplace(duet, nodes, dir.path("b"));
  std::vector<Placement> placements;
  for (const char* at : {"a", "b"}) {
    for (const std::string& node : nodes) placements.push_back({node, dir.path(at)});
  }
  Engine far(apart(duet, placements), with_slots(2));
  ASSERT_TRUE(soon([&] { return everything_up(far); }));
  std::vector<std::shared_ptr<Listener>> listeners;
  for (const SpeechRequest& request : requests) {
    listeners.push_back(std::make_shared<Listener>());
    ASSERT_TRUE(far.submit(request, listeners.back()).ok());
  }
  int losses = 0;
  for (; far.stats().requests > 0 && losses < 6; ++losses) {
    std::optional<StepsHolder>& victim = losses % 2 == 0 ? one : other;
    const uint64_t before = victim->held->state().batches;
    (void)soon(
        [&] { return victim->held->state().batches > before + 150 || far.stats().requests == 0; });
    const uint64_t ups = connections(far);
    victim.reset();
    victim.emplace(duet, nodes, dir.path(losses % 2 == 0 ? "a" : "b"));
    ASSERT_TRUE(soon([&] { return connections(far) > ups && everything_up(far); }));
  }
  EXPECT_GE(losses, 1);
  std::vector<Said> got;
  for (const auto& listener : listeners) got.push_back(heard(*listener));
  expect_alike(got, want);
}

/// Sequences leave a process that is about to end if another process can compute their cache again.
TEST(StepsApart, SequencesMoveFromALeavingProcess) {
  Engine here(duet(), with_slots(0));
  const std::vector<SpeechRequest> requests = long_requests(3);
  const std::vector<Said> want = say(here, requests);
  TestDir dir;
  StepsHolder one(duet, {"talker"}, dir.path("a")), other(duet, {"talker"}, dir.path("b"));
  Engine far(apart(duet, {{"talker", dir.path("a")}, {"talker", dir.path("b")}}), with_slots(2));
  ASSERT_TRUE(soon([&] { return everything_up(far); }));
  std::vector<std::shared_ptr<Listener>> listeners;
  for (const SpeechRequest& request : requests) {
    listeners.push_back(std::make_shared<Listener>());
    ASSERT_TRUE(far.submit(request, listeners.back()).ok());
  }
  ASSERT_TRUE(soon([&] { return one.held->state().batches > 50; }));
  one.held->leave();
  EXPECT_TRUE(soon([&] { return one.held->state().servers == 0; }));
  EXPECT_GT(far.stats().requests, 0);
  std::vector<Said> got;
  for (const auto& listener : listeners) got.push_back(heard(*listener));
  expect_alike(got, want);
  EXPECT_GT(other.held->state().batches, 50u);
  for (const RemoteNode& node : far.pipeline().remote_nodes()) EXPECT_EQ(node.lost_batches, 0u);
}

/// All sequences stay in a leaving process while one has too many calls to be rebuilt elsewhere.
TEST(StepsApart, ALeavingProcessFinishesWhatCannotMove) {
  Engine here(toy(), with_slots(0));
  std::vector<SpeechRequest> requests = long_requests(3);
  requests.push_back(speech_of("so it goes", 7));
  const std::vector<Said> want = say(here, requests);
  TestDir dir;
  StepsHolder one(toy, {"ar"}, dir.path("a")), other(toy, {"ar"}, dir.path("b"));
  EngineOptions options = with_slots(2);
  options.max_batch = 1;  // some steps belong to a sequence that could move
  Engine far(apart(toy, {{"ar", dir.path("a")}, {"ar", dir.path("b")}}, 300), options);
  ASSERT_TRUE(soon([&] { return everything_up(far); }));
  std::vector<std::shared_ptr<Listener>> listeners;
  const auto submit = [&](const SpeechRequest& request) {
    listeners.push_back(std::make_shared<Listener>());
    ASSERT_TRUE(far.submit(request, listeners.back()).ok());
  };
  for (size_t i = 0; i < 3; ++i) submit(requests[i]);
  ASSERT_TRUE(soon([&] { return one.held->state().batches > 150; }));
  one.held->leave();
  ASSERT_TRUE(soon([&] { return !everything_up(far); }));
  submit(requests[3]);
  std::vector<Said> got;
  for (const auto& listener : listeners) got.push_back(heard(*listener));
  expect_alike(got, want);
  EXPECT_TRUE(soon([&] { return one.held->state().servers == 0; }));
  expect_alike(say(far, {requests[3]}), {want[3]});
  EXPECT_GT(other.held->state().batches, 0u);
}

/// A sequence that cannot move must not keep a process running after the sequence has ended.
TEST(StepsApart, EndedRequestsHoldUpNoProcess) {
  TestDir dir;
  StepsHolder one(toy, {"ar"}, dir.path("a")), other(toy, {"ar"}, dir.path("b"));
  Engine far(apart(toy, {{"ar", dir.path("a")}, {"ar", dir.path("b")}}, 6000), with_slots(2));
  ASSERT_TRUE(soon([&] { return everything_up(far); }));
  say(far, long_requests(1));  // 400 steps of 17 bytes
  const uint64_t before = one.held->state().batches;
  std::vector<std::shared_ptr<Listener>> listeners;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    listeners.push_back(std::make_shared<Listener>());
    ASSERT_TRUE(far.submit(speech_of(std::string(330, 'a'), seed), listeners.back()).ok());
  }
  ASSERT_TRUE(soon([&] { return one.held->state().batches > before + 20; }));
  one.held->leave();
  EXPECT_TRUE(soon([&] { return one.held->state().servers == 0; }));
  EXPECT_GT(far.stats().requests, 0);
  for (const auto& listener : listeners) {
    EXPECT_EQ(listener->wait().reason, FinishReason::kStop);
  }
}

/// The duration of a sound so far decides when the next sound begins. Each step returns this
/// duration, so that another process can continue in the middle of a sound.
TEST(StepsApart, FinchGoesOnElsewhereInTheMiddleOfASound) {
  std::vector<SpeechRequest> requests;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    requests.push_back(speech_of("The quick brown fox jumps over the lazy dog, slowly.", seed));
  }
  Engine here(finch(), with_slots(0));
  const std::vector<Said> want = say(here, requests);
  TestDir dir;
  std::optional<StepsHolder> one;
  one.emplace(finch, std::vector<std::string>{"ar"}, dir.path("a"));
  const StepsHolder other(finch, {"ar"}, dir.path("b"));
  for (const uint64_t steps : {7, 8, 31, 64}) {
    if (!one) one.emplace(finch, std::vector<std::string>{"ar"}, dir.path("a"));
    Engine far(apart(finch, {{"ar", dir.path("a")}, {"ar", dir.path("b")}}), with_slots(2));
    ASSERT_TRUE(soon([&] { return everything_up(far); }));
    std::vector<std::shared_ptr<Listener>> listeners;
    for (const SpeechRequest& request : requests) {
      listeners.push_back(std::make_shared<Listener>());
      ASSERT_TRUE(far.submit(request, listeners.back()).ok());
    }
    (void)soon([&] { return one->held->state().batches >= steps || far.stats().requests == 0; });
    one.reset();
    std::vector<Said> got;
    for (const auto& listener : listeners) got.push_back(heard(*listener));
    expect_alike(got, want);
  }
  EXPECT_GT(other.held->state().batches, 0u);
}

TEST(StepsApart, ARequestThatCannotBeComputedAgainEndsWithAnError) {
  TestDir dir;
  std::optional<StepsHolder> holder;
  holder.emplace(toy, std::vector<std::string>{"ar"}, dir.path("s"));
  Engine far(apart(toy, {{"ar", dir.path("s")}}), with_slots(1));
  ASSERT_TRUE(soon([&] { return everything_up(far); }));
  const Said want = say(far, {speech_of("hello", 1)})[0];
  const auto listener = std::make_shared<Listener>();
  SpeechRequest endless = speech_of("on and on", 2);
  endless.say.open = true;
  const auto id = far.submit(endless, listener);
  ASSERT_TRUE(id.ok());
  ASSERT_FALSE(listener->next(kStepsPatience_s).empty());
  holder.reset();
  ASSERT_TRUE(soon([&] { return !everything_up(far); }));
  far.append_text(id.value(), "and on", true);
  const Said lost = heard(*listener);
  EXPECT_EQ(lost.reason, FinishReason::kError);
  EXPECT_EQ(lost.error.code, ErrorCode::kOverloaded);
  EXPECT_NE(lost.error.message.find("'ar'"), std::string::npos) << lost.error.message;
  const auto refused = far.submit(speech_of("hello", 1), std::make_shared<Listener>());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kOverloaded);
  holder.emplace(toy, std::vector<std::string>{"ar"}, dir.path("s"));
  ASSERT_TRUE(soon([&] { return everything_up(far); }));
  expect_alike(say(far, {speech_of("hello", 1)}), {want});
  EXPECT_TRUE(soon([&] { return far.stats().requests == 0; }));
}

/// The server keeps a sequence's calls up to a limit. A sequence with more is not computed again.
TEST(StepsApart, WhatIsNotKeptIsNotComputedAgain) {
  TestDir dir;
  std::optional<StepsHolder> holder;
  holder.emplace(toy, std::vector<std::string>{"ar"}, dir.path("s"));
  Engine far(apart(toy, {{"ar", dir.path("s")}}, 64), with_slots(1));
  ASSERT_TRUE(soon([&] { return everything_up(far); }));
  const auto listener = std::make_shared<Listener>();
  SpeechRequest endless = speech_of("on and on", 2);
  endless.say.open = true;
  const auto id = far.submit(endless, listener);
  ASSERT_TRUE(id.ok());
  ASSERT_FALSE(listener->next(kStepsPatience_s).empty());
  holder.reset();
  holder.emplace(toy, std::vector<std::string>{"ar"}, dir.path("s"));
  ASSERT_TRUE(soon([&] { return everything_up(far); }));
  far.append_text(id.value(), "and on", true);
  EXPECT_EQ(heard(*listener).error.code, ErrorCode::kOverloaded);
}

/// If a sequence or stage throws in the other process, only its request ends, with an error.
TEST(StepsApart, WhatBreaksThereBreaksAlone) {
  TestDir dir;
  const StepsHolder holder(toy, {"ar"}, dir.path("s"));
  Engine far(apart(toy, {{"ar", dir.path("s")}}), with_slots(1));
  ASSERT_TRUE(soon([&] { return everything_up(far); }));
  const Said want = say(far, {speech_of("hello", 1)})[0];
  for (const char* text : {"oh ^ no", "oh ~ no", "oh \2 no", "oh \1 no"}) {
    const auto bad = std::make_shared<Listener>();
    ASSERT_TRUE(far.submit(speech_of(text, 1), bad).ok());
    const Said said = heard(*bad);
    EXPECT_EQ(said.reason, FinishReason::kError) << text;
    EXPECT_EQ(said.error.code, ErrorCode::kInternal) << text;
    expect_alike(say(far, {speech_of("hello", 1)}), {want});
  }
  EXPECT_TRUE(soon([&] { return holder.held->state().streams == 0; }));
}

TEST(StepsApart, ACancelledRequestIsForgottenThere) {
  TestDir dir;
  const StepsHolder holder(toy, {"ar"}, dir.path("s"));
  Engine far(apart(toy, {{"ar", dir.path("s")}}), with_slots(1));
  ASSERT_TRUE(soon([&] { return everything_up(far); }));
  const auto listener = std::make_shared<Listener>();
  SpeechRequest endless = speech_of("on and on", 2);
  endless.say.open = true;
  const auto id = far.submit(endless, listener);
  ASSERT_TRUE(id.ok());
  ASSERT_FALSE(listener->next(kStepsPatience_s).empty());
  EXPECT_EQ(holder.held->state().streams, 1);
  far.cancel(id.value());
  EXPECT_EQ(listener->wait().reason, FinishReason::kCancelled);
  const uint64_t steps = holder.held->state().batches;
  EXPECT_TRUE(soon([&] { return holder.held->state().streams == 0; }));
  EXPECT_LE(holder.held->state().batches, steps + 1);  // the batch that was running
}

/// The stage writes the attention weights of Whisper's decoder to the sequence of a request, so it
/// cannot move to another process.
TEST(StepsApart, AStageThatWritesToItsSequencesStays) {
  LoadOptions options;
  options.model = SYRINX_BINARY_DIR "/parity/whisper/small";
  options.device = "cpu";
  options.engine.threads = 1;
  options.placements = {{"decoder", "/nowhere"}};
  try {
    (void)load_pipeline(options);
    FAIL();
  } catch (const LoadError& e) {
    EXPECT_NE(std::string(e.what()).find("'decoder'"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace syrinx
