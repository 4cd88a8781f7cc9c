// Tests how a process that holds an AR node answers invalid messages of servers: with a fault of
// the sequence, with a fault of the step, or by ending the connection. It must never crash.
#include "link/served_steps.h"

#include <gtest/gtest.h>

#include <random>

#include "link/fixture.h"
#include "model/request_bytes.h"
#include "model/toy/toy.h"
#include "tensor/context.h"

namespace syrinx {
namespace {

constexpr int kToyNode = 0, kToyPages = 8;
constexpr size_t kMostBytes = size_t{1} << 20;

/// A server's side of the toy model's AR node.
class ServedStepsTest : public testing::Test {
 protected:
  ServedStepsTest() {
    steps_.make_cache(kToyNode, kToyPages);
    SpeechRequest request;
    request.say.text = "so it goes";
    request.sampling.seed = 3;
    open(1, request);
    request.sampling.guidance = 2.f;
    request.say.instructions = "slowly";
    open(2, request);
  }
  void open(uint64_t stream, const SpeechRequest& request) {
    steps_.open(stream, kToyNode, request_bytes(request).take());
  }
  /// Returns the rows of the prompt of stream 1, which end with a step.
  static PushedSequence rows() {
    static const int32_t pages[] = {0};
    return {.stream = 1,
            .rows = 3,
            .emits = true,
            .seed = 3,
            .pages = {reinterpret_cast<const char*>(pages), sizeof pages}};
  }
  SteppedMessage run(std::vector<PushedSequence> sequences, std::vector<PageCopy> copies = {}) {
    return steps_.step(
        kToyNode,
        {.batch = 1, .node = 0, .copies = std::move(copies), .sequences = std::move(sequences)});
  }
  std::string fault(const PushedSequence& sequence) {
    const SteppedMessage out = run({sequence});
    EXPECT_EQ(out.fault, "");
    EXPECT_TRUE(out.results.codes.empty() || !out.results.faults[0]);
    return out.results.faults[0] ? out.results.faults[0]->message : "";
  }
  std::string fault_of(const std::function<void(PushedSequence&)>& change) {
    PushedSequence sequence = rows();
    change(sequence);
    return fault(sequence);
  }

  std::shared_ptr<const Pipeline> toy_ = make_toy_pipeline();
  ThreadPool pool_{1};
  Workspace space_{pool_, Device::kCpu};
  StepWork work_;
  ServedSteps steps_{*toy_, kMostBytes, [this](const ArStage& ar, const Step& step, auto& out) {
                       space_.reset();
                       work_.run(space_.context(), ar, step, out);
                     }};
};

TEST_F(ServedStepsTest, WhatIsDueIsRun) {
  EXPECT_EQ(fault(rows()), "");
  const SteppedMessage out = run({rows()});
  EXPECT_EQ(out.results.codes_per_step, 2);
  ASSERT_EQ(out.results.codes.size(), 2u);
  steps_.call({1, advance_call(out.results.codes, {})});
  EXPECT_NE(fault(rows()), "") << "another row is due now";
  EXPECT_EQ(fault_of([](auto& s) { s.first_pos = 3, s.rows = 1; }), "");
  EXPECT_EQ(fault_of([](auto& s) { s.rows = 2, s.emits = false; }), "") << "computed again";
}

TEST_F(ServedStepsTest, WhatCannotBeIsAFaultOfItsSequence) {
  static const int32_t high[] = {kToyPages}, negative[] = {-1}, two[] = {0, 1};
  const auto bytes = [](const auto& pages) {
    return std::string_view(reinterpret_cast<const char*>(pages), sizeof pages);
  };
  EXPECT_NE(fault_of([](auto& s) { s.rows = 0; }), "");
  EXPECT_NE(fault_of([](auto& s) { s.rows = 4; }), "") << "past what is known";
  EXPECT_NE(fault_of([](auto& s) { s.rows = 2; }), "") << "a step that is not due";
  EXPECT_NE(fault_of([](auto& s) { s.first_pos = 1 << 23, s.rows = 1 << 23; }), "");
  EXPECT_NE(fault_of([](auto& s) { s.drafts = 1; }), "") << "the toy has no guesses";
  EXPECT_NE(fault_of([](auto& s) { s.rows = 4, s.drafts = 4; }), "");
  EXPECT_NE(fault_of([](auto& s) { s.taps = true; }), "");
  EXPECT_NE(fault_of([](auto& s) { s.scores = 1 << 20; }), "");
  EXPECT_NE(fault_of([](auto& s) { s.companion = true; }), "") << "stream 1 is not guided";
  EXPECT_NE(fault_of([](auto& s) { s.guided = true; }), "") << "nothing follows";
  EXPECT_NE(fault_of([&](auto& s) { s.pages = bytes(high); }), "");
  EXPECT_NE(fault_of([&](auto& s) { s.pages = bytes(negative); }), "");
  EXPECT_NE(fault_of([&](auto& s) { s.pages = bytes(two); }), "");
  EXPECT_NE(fault_of([](auto& s) { s.pages = {}; }), "");
  EXPECT_EQ(fault(rows()), "") << "it is as it was";
  const SteppedMessage twice = run({rows(), rows()});
  EXPECT_TRUE(twice.results.faults[0] && twice.results.faults[1]);
}

TEST_F(ServedStepsTest, OneThatFailsLeavesTheOthersAlone) {
  const std::vector<int32_t> alone = run({rows()}).results.codes;
  PushedSequence bad = rows();
  bad.stream = 2;
  bad.rows = 1 << 20;
  const SteppedMessage out = run({bad, rows()});
  EXPECT_EQ(out.fault, "");
  EXPECT_TRUE(out.results.faults[0]);
  EXPECT_FALSE(out.results.faults[1]);
  EXPECT_EQ(out.results.codes, alone);
}

TEST_F(ServedStepsTest, PairsRunTogether) {
  static const int32_t first[] = {1}, second[] = {2};
  PushedSequence main{.stream = 2,
                      .rows = 9,
                      .emits = true,
                      .guided = true,
                      .pages = {reinterpret_cast<const char*>(first), sizeof first}};
  PushedSequence companion{.stream = 2,
                           .rows = 8,
                           .emits = true,
                           .companion = true,
                           .pages = {reinterpret_cast<const char*>(second), sizeof second}};
  const auto good = [&](const std::vector<PushedSequence>& sequences) {
    const SteppedMessage out = run(sequences);
    EXPECT_EQ(out.fault, "");
    const StepResults& results = out.results;
    return std::none_of(results.faults.begin(), results.faults.end(),
                        [](const auto& f) { return f.has_value(); });
  };
  EXPECT_TRUE(good({main, companion}));
  EXPECT_FALSE(good({companion, main}));
  EXPECT_FALSE(good({main}));
  EXPECT_FALSE(good({companion}));
  EXPECT_FALSE(good({main, companion, main}));
  companion.emits = false, companion.rows = 7;
  EXPECT_TRUE(good({companion})) << "it catches up";
  companion.rows = 9;
  EXPECT_FALSE(good({companion}));
}

TEST_F(ServedStepsTest, CachesAreBoundedAndCopiesStayInside) {
  EXPECT_EQ(run({}, {{0, 7}}).fault, "");
  EXPECT_NE(run({}, {{0, kToyPages}}).fault, "");
  EXPECT_NE(run({}, {{-1, 0}}).fault, "");
  steps_.make_cache(kToyNode, 1 << 30);
  EXPECT_NE(run({rows()}).fault.find("at most"), std::string::npos);
  steps_.make_cache(kToyNode, kToyPages);
  EXPECT_EQ(fault(rows()), "");
}

TEST_F(ServedStepsTest, WhatIsNoCallOrNoStreamEndsTheConnection) {
  EXPECT_THROW(steps_.call({1, "what?"}), LoadError);
  EXPECT_THROW(steps_.call({1, advance_call(std::vector<int32_t>{1}, {})}), LoadError);
  EXPECT_THROW(steps_.call({1, advance_call(std::vector<int32_t>{1, 99}, {})}), LoadError);
  EXPECT_THROW(steps_.call({1, advance_call(std::vector<int32_t>{-1, 1}, {})}), LoadError);
  EXPECT_THROW(steps_.call({1, advance_call(std::vector<int32_t>{1, 1}, std::vector<float>{1})}),
               LoadError);
  const auto ports = static_cast<int>(toy_->graph().node(kToyNode).in.size());
  EXPECT_THROW(steps_.call({1, take_call(ports, {})}), LoadError);
  EXPECT_THROW(steps_.call({1, take_call(7, {})}), LoadError);
  EXPECT_THROW(steps_.call({9, text_call("hello", true)}), LoadError);
  EXPECT_THROW(open(1, {}), LoadError);
  PushedSequence unknown = rows();
  unknown.stream = 9;
  EXPECT_THROW((void)run({unknown}), LoadError);
}

/// An invalid request or sequence fails alone.
TEST_F(ServedStepsTest, WhatASequenceDoesNotLikeIsItsFault) {
  steps_.open(3, kToyNode, "no request");
  EXPECT_NE(fault_of([](auto& s) { s.stream = 3; }), "");
  SpeechRequest late;
  late.say.text = "so";
  late.say.open = true;
  open(4, late);
  steps_.call({4, text_call("it \6 goes", false)});
  EXPECT_NE(fault_of([](auto& s) { s.stream = 4; }).find("like"), std::string::npos);
  open(5, late);
  steps_.call({5, text_call("it \7 goes", false)});
  EXPECT_NE(fault_of([](auto& s) { s.stream = 5; }).find("stumbled"), std::string::npos);
  EXPECT_TRUE(steps_.close(5));
  EXPECT_FALSE(steps_.close(5));
  EXPECT_EQ(fault(rows()), "");
}

/// Steps with random numbers.
using ServedStepsFuzz = ServedStepsTest;
TEST_F(ServedStepsFuzz, AnyStepIsRunOrRefused) {
  std::mt19937 random(4);
  const auto some = [&](int most) { return static_cast<int32_t>(random() % most); };
  int ran = 0, refused = 0;
  for (int i = 0; i < fuzz_inputs(20'000); ++i) {
    std::vector<std::vector<int32_t>> pages(1 + random() % 3);
    std::vector<PushedSequence> sequences;
    for (auto& numbers : pages) {
      numbers.resize(some(4) == 0 ? some(3) : 1);
      for (int32_t& page : numbers) page = some(kToyPages + 1) - (some(40) == 0 ? 1 : 0);
      sequences.push_back({.stream = 1u + random() % 2,
                           .first_pos = some(3) == 0 ? some(1 << 20) : some(2),
                           .rows = some(10),
                           .drafts = some(8) == 0 ? some(4) : 0,
                           .emits = some(2) == 0,
                           .companion = some(3) == 0,
                           .guided = some(3) == 0,
                           .taps = some(9) == 0,
                           .scores = some(4) - 1,
                           .pages = {reinterpret_cast<const char*>(numbers.data()),
                                     numbers.size() * sizeof(int32_t)}});
    }
    const SteppedMessage out = run(std::move(sequences));
    for (const auto& one : out.results.faults) one ? ++refused : ++ran;
  }
  EXPECT_GT(ran, 500);
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace syrinx
