// Tests streams that are computed again after the loss of their process: in another process, or in
// the same process after a restart. Also tests StreamPast, which keeps the input of a stream.
#include <poll.h>

#include <atomic>

#include "link/fixture.h"
#include "link/stream_past.h"

namespace syrinx {
namespace {

/// Two processes that hold the stages of the toy model.
class RecoveryTest : public LinkTest {
 protected:
  RecoveryTest() { place({}); }
  void place(const std::function<void(LinkOptions&)>& change) {
    placed_.reset();
    a_.emplace(dir_.path("a")), b_.emplace(dir_.path("b"));
    const auto options = [&](LinkOptions& o) {
      o.return_s = 0;
      if (change) change(o);
    };
    placed_ = placed_toy({{"vocoder", dir_.path("a")}, {"vocoder", dir_.path("b")}}, options);
    EXPECT_TRUE(link(0).wait_until_up(kPatience_s) && link(1).wait_until_up(kPatience_s));
  }
  StageLink& link(size_t place) { return link_of(*placed_, "vocoder", place); }
  bool goes_down(size_t place) {
    (place == 0 ? a_ : b_).reset();
    return wait_for([&] { return !link(place).state().up; });
  }

  /// Two equal streams, one local and one remote; runs the same chunk on both and compares.
  struct Pair {
    explicit Pair(Streams& near, Streams& far, uint32_t s)
        : here(near.open()), there(far.open()), seed(s) {}
    std::unique_ptr<StreamState> here, there;
    uint32_t seed;
  };
  void expect_the_same(std::vector<Pair>& pairs, int from, int frames) {
    std::vector<Streams::Part> here, there;
    for (Pair& pair : pairs) {
      here.push_back({pair.here.get(), from, frames, pair.seed});
      there.push_back({pair.there.get(), from, frames, pair.seed});
    }
    near_->run(here), far_->run(there);
    for (size_t i = 0; i < pairs.size(); ++i) {
      EXPECT_FALSE(there[i].fault) << there[i].fault->message;
      EXPECT_EQ(there[i].made, here[i].made) << "stream " << i << " from " << from;
    }
  }
  std::vector<Pair> pairs(uint32_t count) {
    near_.emplace(*toy_, Streams::kVocoder), far_.emplace(*placed_, Streams::kVocoder);
    std::vector<Pair> out;
    for (uint32_t i = 0; i < count; ++i) out.emplace_back(*near_, *far_, i);
    return out;
  }

  std::optional<Worker> a_, b_;
  std::shared_ptr<const Pipeline> toy_ = make_toy_pipeline(), placed_;
  std::optional<Streams> near_, far_;
};

TEST_F(RecoveryTest, StreamsShareTheProcesses) {
  auto streams = pairs(6);
  expect_the_same(streams, 0, 4);
  EXPECT_EQ(a_->server->state().streams, 3);
  EXPECT_EQ(b_->server->state().streams, 3);
  streams.erase(streams.begin(), streams.begin() + 4);
  EXPECT_TRUE(wait_for([&] { return link(0).state().streams + link(1).state().streams == 2; }));
}

TEST_F(RecoveryTest, WhatOneLosesTheOtherComputesAgain) {
  auto streams = pairs(4);
  for (int from = 0; from < 80; from += 4) expect_the_same(streams, from, 4);
  ASSERT_TRUE(goes_down(0));
  for (int from = 80; from < 100; from += 5) expect_the_same(streams, from, 5);
  EXPECT_EQ(link(1).state().recovered, 2u);
  EXPECT_EQ(b_->server->state().streams, 4);
  a_.emplace(dir_.path("a"));
  ASSERT_TRUE(link(0).wait_until_up(kPatience_s));
  ASSERT_TRUE(goes_down(1));
  for (int from = 100; from < 120; from += 5) expect_the_same(streams, from, 5);
  EXPECT_EQ(link(0).state().recovered, 4u);
}

/// If a process is lost while it runs a batch, another process runs the batch's chunks.
TEST_F(RecoveryTest, AChunkUnderWayIsMadeElsewhere) {
  auto streams = pairs(8);
  std::thread killer([&] {
    wait_for([&] { return link(0).state().batches > 20; });
    a_.reset();
  });
  const double until_s = now_s() + kPatience_s;
  for (int from = 0; link(1).state().recovered < 4 && now_s() < until_s; from += 4) {
    expect_the_same(streams, from, 4);
  }
  killer.join();
  EXPECT_EQ(link(1).state().recovered, 4u);
}

/// A connection that accepts all bytes but sends none is closed after `answer_s`. Its batches run
/// in another process.
TEST_F(RecoveryTest, HalfOfAConnectionIsNone) {
  BadNetwork network(dir_.path("n"), dir_.path("a"));
  placed_ = placed_toy({{"vocoder", dir_.path("n")}, {"vocoder", dir_.path("b")}},
                       [](LinkOptions& o) { o.return_s = 0, o.answer_s = 0.3; });
  ASSERT_TRUE(link(0).wait_until_up(kPatience_s) && link(1).wait_until_up(kPatience_s));
  auto streams = pairs(4);
  for (int from = 0; from < 20; from += 4) expect_the_same(streams, from, 4);
  const size_t half = link_of(*placed_, "vocoder", 0).options().address == dir_.path("n") ? 0 : 1;
  EXPECT_EQ(link(half).state().streams, 2);
  network.swallow();
  for (int from = 20; from < 40; from += 5) expect_the_same(streams, from, 5);
  EXPECT_EQ(link(1 - half).state().recovered, 2u);
  EXPECT_EQ(link(half).state().lost_batches, 1u);
}

/// A slow connection is not closed: all results arrive, but late.
TEST_F(RecoveryTest, ASlowLinkLosesNothing) {
  BadNetwork network(dir_.path("n"), dir_.path("a"));
  placed_ = placed_toy({{"vocoder", dir_.path("n")}}, [](LinkOptions& o) { o.return_s = 0; });
  ASSERT_TRUE(link(0).wait_until_up(kPatience_s));
  network.slow_down(61, std::chrono::microseconds(200));
  auto streams = pairs(3);
  for (int from = 0; from < 20; from += 4) expect_the_same(streams, from, 4);
  EXPECT_EQ(link(0).state().ups, 1u);
  EXPECT_EQ(link(0).state().lost_batches, 0u);
}

/// A process that is about to end keeps its streams. New streams go to another process.
TEST_F(RecoveryTest, ALeavingProcessFinishesWhatItHas) {
  auto streams = pairs(4);
  expect_the_same(streams, 0, 4);
  StageServer& leaving = *a_->server;
  leaving.leave();
  ASSERT_TRUE(wait_for([&] { return link(0).state().leaving; }));
  EXPECT_FALSE(placed_->remote_nodes()[0].up);
  EXPECT_NE(placed_->remote_nodes()[0].trouble.find("about to end"), std::string::npos);
  auto fresh = pairs(4);
  expect_the_same(fresh, 0, 4);
  expect_the_same(streams, 4, 4);
  EXPECT_EQ(leaving.state().streams, 2);
  EXPECT_EQ(b_->server->state().streams, 6);
  streams.clear();
  EXPECT_TRUE(wait_for([&] { return leaving.state().servers == 0; }));
  EXPECT_TRUE(wait_for([&] { return !link(0).state().up; }));
  expect_the_same(fresh, 4, 4);
  EXPECT_EQ(link(0).state().recovered + link(1).state().recovered, 0u);
  EXPECT_EQ(link(0).state().lost_batches, 0u);
}

/// If all processes are about to end, new requests are refused and existing streams continue.
TEST_F(RecoveryTest, TheLastOneToLeaveTakesNoNewRequests) {
  auto streams = pairs(3);
  expect_the_same(streams, 0, 4);
  auto late = pairs(1);
  a_->server->leave(), b_->server->leave();
  ASSERT_TRUE(wait_for([&] { return link(0).state().leaving && link(1).state().leaving; }));
  SpeechRequest request;
  request.say.text = "hello";
  const auto refused = placed_->open(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kOverloaded);
  expect_the_same(streams, 4, 4);
  expect_the_same(late, 0, 4);
  streams.clear(), late.clear();
  EXPECT_TRUE(wait_for(
      [&] { return a_->server->state().servers == 0 && b_->server->state().servers == 0; }));
  EXPECT_TRUE(wait_for([&] { return a_->server->state().refused > 0; }));  // the server retries
  EXPECT_TRUE(wait_for(
      [&] { return link(0).state().trouble.find("refuses: the process") != std::string::npos; }));
}

TEST_F(RecoveryTest, AProcessThatIsBackSoonLosesNoStream) {
  place([](auto& o) { o.return_s = kPatience_s; });
  auto streams = pairs(2);
  expect_the_same(streams, 0, 4);
  ASSERT_TRUE(goes_down(0) && goes_down(1));
  std::thread returning([&] { b_.emplace(dir_.path("b")); });
  expect_the_same(streams, 4, 4);
  returning.join();
  EXPECT_EQ(link(1).state().recovered, 2u);
}

TEST_F(RecoveryTest, WhatIsTooLongIsNotComputedAgain) {
  const size_t row = sizeof(float) * static_cast<size_t>(remote(*placed_, "vocoder").in_width());
  place([&](auto& o) { o.kept_bytes = 20 * row + 200; });
  auto streams = pairs(2);
  expect_the_same(streams, 0, 8);
  ASSERT_TRUE(goes_down(0));
  expect_the_same(streams, 8, 4);
  for (int from = 12; from < 60; from += 4) expect_the_same(streams, from, 4);
  a_.emplace(dir_.path("a"));
  ASSERT_TRUE(link(0).wait_until_up(kPatience_s));
  ASSERT_TRUE(goes_down(1));
  EXPECT_TRUE(far_->run_one(*streams[0].there, 60, 4));
  auto fresh = pairs(1);
  expect_the_same(fresh, 0, 4);
}

/// A chunk after which two processes ended is not sent to a third process.
TEST_F(RecoveryTest, AChunkIsTriedTwice) {
  a_.reset(), b_.reset();
  ListeningSocket a(dir_.path("a")), b(dir_.path("b"));
  std::atomic<int> pushed{0};
  WakeUp over;
  const auto dies_of_it = [&](ListeningSocket& listener) {
    pollfd polled[2] = {{listener.get(), POLLIN, 0}, {over.get(), POLLIN, 0}};
    while (poll(polled, 2, -1) > 0 && polled[1].revents == 0) {
      MessageSocket peer(listener.accept());
      std::string welcome;
      append_welcome(welcome, introduction({shape_of(toy_->graph(), "vocoder")}));
      peer.send(welcome, kPatience_s, over);
      while (const auto message = peer.wait_for(kPatience_s, kMostMessage, over)) {
        if (message->kind != MessageKind::kPush) continue;
        ++pushed;
        break;
      }
    }
  };
  std::thread first([&] { dies_of_it(a); }), second([&] { dies_of_it(b); });
  const auto up_again = [&](size_t place) {
    return link(place).state().up && link(place).state().ups == 2;
  };
  ASSERT_TRUE(wait_for([&] { return up_again(0) && up_again(1); }));
  Streams streams(*placed_, Streams::kVocoder);
  const auto stream = streams.open();
  EXPECT_TRUE(streams.run_one(*stream, 0, 4));
  EXPECT_EQ(pushed, 2);
  over.set();
  first.join(), second.join();
}

TEST(StreamPast, GivesTheChunksAsTheyWere) {
  StreamPast past("bundle", 1, 1 << 20);
  std::string frames;
  for (int i = 0; i < 40; ++i) frames += std::string(4, static_cast<char>('a' + i));
  struct Cut {
    uint32_t left, fresh, ahead;
  };
  const std::vector<Cut> cuts{{0, 3, 2}, {2, 1, 2}, {4, 7, 0}, {0, 5, 3}};
  int64_t at = 0;
  const auto window = [&](int64_t from, const Cut& cut) {
    return std::string_view(frames).substr(4 * static_cast<size_t>(from - cut.left),
                                           size_t{4} * (cut.left + cut.fresh + cut.ahead));
  };
  for (const Cut& cut : cuts) {
    past.add({.stream = 7,
              .at = at,
              .left = cut.left,
              .fresh = cut.fresh,
              .ahead = cut.ahead,
              .last = at == 11,
              .window = window(at, cut)});
    at += cut.fresh;
  }
  EXPECT_EQ(past.at(), at);
  ASSERT_EQ(past.chunks(), cuts.size());
  at = 0;
  for (size_t i = 0; i < cuts.size(); ++i) {
    const PushedJob chunk = past.chunk(i);
    EXPECT_EQ(chunk.at, at);
    EXPECT_EQ(chunk.left, cuts[i].left);
    EXPECT_EQ(chunk.fresh, cuts[i].fresh);
    EXPECT_EQ(chunk.ahead, cuts[i].ahead);
    EXPECT_EQ(chunk.last, at == 11);
    EXPECT_EQ(chunk.window, window(at, cuts[i]));
    at += cuts[i].fresh;
  }
}

TEST(StreamPast, ForgetsWhatGrewTooLong) {
  StreamPast past("bundle", 1, 200);
  const std::string frames(40, 'x');
  past.add({.at = 0, .fresh = 10, .window = frames});
  EXPECT_TRUE(past.whole());
  for (int i = 1; i < 10; ++i) past.add({.at = 10 * i, .fresh = 10, .window = frames});
  EXPECT_FALSE(past.whole());
  EXPECT_EQ(past.at(), 100);
  EXPECT_EQ(past.chunks(), 0u);
}

}  // namespace
}  // namespace syrinx
