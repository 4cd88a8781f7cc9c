// Tests both ends of a link in one process, over real sockets. Results are bit-identical to results
// without a link. Peers of other versions or models, lost peers and invalid bytes are handled.
#include <filesystem>
#include <random>

#include "base/fuzzing.h"
#include "link/calls.h"
#include "link/fixture.h"
#include "link/step_message.h"
#include "model/request_bytes.h"

namespace syrinx {
namespace {

TEST_F(LinkTest, TheSameBitsAsHere) {
  Worker worker(path());
  const auto placed = placed_toy(path(), {"features", "vocoder"});
  ASSERT_TRUE(link_of(*placed, "features").wait_until_up(kPatience_s));
  const auto here = make_toy_pipeline();
  Streams far(*placed), near(*here);
  const auto a = far.open(), b = far.open(), c = near.open(), d = near.open();
  for (int from = 0; from < 40; from += 4) {
    std::vector<Streams::Part> there{{a.get(), from, 4, 1}, {b.get(), from, 4, 2}};
    std::vector<Streams::Part> alike{{c.get(), from, 4, 1}, {d.get(), from, 4, 2}};
    far.run(there);
    near.run(alike);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_FALSE(there[i].fault);
      EXPECT_EQ(there[i].made, alike[i].made);
    }
  }
  EXPECT_EQ(link_of(*placed, "vocoder").state().batches, 10u);  // both nodes share one link
}

TEST_F(LinkTest, StreamsEndThereWhenTheyEndHere) {
  Worker worker(path());
  const auto placed = placed_toy(path(), {"features"});
  ASSERT_TRUE(link_of(*placed, "features").wait_until_up(kPatience_s));
  Streams streams(*placed);
  auto a = streams.open(), b = streams.open(), never = streams.open();
  std::vector<Streams::Part> parts{{a.get(), 0, 4}, {b.get(), 0, 4}};
  streams.run(parts);
  EXPECT_EQ(worker.server->state().streams, 2);
  a.reset(), never.reset();
  EXPECT_TRUE(wait_for([&] { return worker.server->state().streams == 1; }));
  EXPECT_FALSE(streams.run_one(*b, 4, 4));
}

TEST_F(LinkTest, APeerThatDoesNotFitIsRefusedWithAReason) {
  Worker worker(path());
  const auto trouble = [&](const std::function<void(LinkOptions&)>& change) {
    const auto placed = placed_toy(path(), {"features"}, change);
    StageLink& link = link_of(*placed, "features");
    EXPECT_TRUE(
        wait_for([&] { return link.state().trouble.find("refuses") != std::string::npos; }));
    SpeechRequest request;
    request.say.text = "hello";
    const auto opened = placed->open(request);
    EXPECT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, ErrorCode::kOverloaded);
    EXPECT_NE(opened.error().message.find(link.state().trouble), std::string::npos);
    return link.state().trouble;
  };
  EXPECT_NE(trouble([](auto& o) { o.wanted.version = "2"; }).find("versions"), std::string::npos);
  EXPECT_NE(trouble([](auto& o) { o.wanted.model = "tiny"; }).find("weights"), std::string::npos);
  EXPECT_NE(trouble([](auto& o) { o.wanted.cpu = "abacus"; }).find("instruction"),
            std::string::npos);
  EXPECT_GE(worker.server->state().refused, 3u);
}

TEST_F(LinkTest, ANodeThatIsNoneIsNotPlaced) {
  EXPECT_THROW(placed_toy(path(), {"flow"}), LoadError);
  EXPECT_THROW(placed_toy(path(), {"features", "features"}), LoadError);
}

TEST_F(LinkTest, ALostPeerEndsItsStreamsAndOthersGoOn) {
  std::optional<Worker> worker(path());
  const auto placed = placed_toy(path(), {"features"}, [](auto& o) { o.return_s = 0; });
  StageLink& link = link_of(*placed, "features");
  ASSERT_TRUE(link.wait_until_up(kPatience_s));
  Streams streams(*placed);
  const auto old = streams.open();
  EXPECT_FALSE(streams.run_one(*old, 0, 4));
  worker.reset();
  ASSERT_TRUE(wait_for([&] { return !link.state().up; }));
  const std::optional<Error> away = streams.run_one(*old, 4, 4);
  ASSERT_TRUE(away);
  EXPECT_EQ(away->code, ErrorCode::kOverloaded);
  EXPECT_NE(away->message.find("'features'"), std::string::npos);
  worker.emplace(path());
  ASSERT_TRUE(link.wait_until_up(kPatience_s));
  EXPECT_EQ(link.state().ups, 2u);
  const auto fresh = streams.open();
  EXPECT_FALSE(streams.run_one(*fresh, 0, 4));
}

/// A peer whose messages the test writes, which claims to hold the node "features", and its link.
struct HandMadePeer {
  explicit HandMadePeer(const std::string& path)
      : listener(path),
        placed(placed_toy(path, {"features"})),
        link(link_of(*placed, "features")) {}
  void welcome() {
    Descriptor fd;
    ASSERT_TRUE(wait_for([&] { return static_cast<bool>(fd = listener.accept()); }));
    socket.emplace(std::move(fd));
    ASSERT_TRUE(next());
    std::string bytes;
    append_welcome(bytes, introduction({shape_of(make_toy_pipeline()->graph(), "features")}));
    socket->send(bytes, kPatience_s, never);
    ASSERT_TRUE(link.wait_until_up(kPatience_s));
  }
  std::optional<Message> next() { return socket->wait_for(kPatience_s, kMostMessage, never); }

  ListeningSocket listener;
  const std::shared_ptr<const Pipeline> placed;
  StageLink& link;
  std::optional<MessageSocket> socket;
  WakeUp never;
};

/// If the peer is lost while it runs a batch, the thread that waits for the answer returns.
TEST_F(LinkTest, AWaitingCallReturnsWhenThePeerIsGone) {
  HandMadePeer peer(path());
  peer.welcome();
  Streams streams(*peer.placed);
  const auto stream = streams.open();
  std::optional<Error> fault;
  std::thread at_work([&] { fault = streams.run_one(*stream, 0, 4); });
  const std::optional<Message> opened = peer.next();
  const std::optional<Message> pushed = peer.next();
  EXPECT_TRUE(opened && opened->kind == MessageKind::kOpen);
  EXPECT_TRUE(pushed && pushed->kind == MessageKind::kPush);
  peer.socket.reset();
  at_work.join();
  EXPECT_TRUE(fault);
  EXPECT_EQ(peer.link.state().lost_batches, 1u);
}

/// The connection to a peer that sends invalid answers is closed.
TEST_F(LinkTest, NonsenseFromThePeerEndsTheLink) {
  for (const bool too_many : {true, false}) {
    HandMadePeer peer(path());
    peer.welcome();
    Streams streams(*peer.placed);
    const auto stream = streams.open();
    std::optional<Error> fault;
    std::thread at_work([&] { fault = streams.run_one(*stream, 0, 4); });
    (void)peer.next();
    const std::optional<Message> pushed = peer.next();
    ASSERT_TRUE(pushed);
    const uint64_t batch = read_push(pushed->body).batch;
    const std::string values(too_many ? 4 * 5 * streams.stage().out_width() : 3, 'x');
    std::string bytes;
    append_made(bytes, {.batch = batch, .jobs = {{{}, too_many ? 5u : 1u, values}}});
    peer.socket->send(bytes, kPatience_s, peer.never);
    at_work.join();
    EXPECT_TRUE(fault);
    EXPECT_TRUE(
        wait_for([&] { return peer.link.state().trouble.find("frames") != std::string::npos; }) ||
        peer.link.state().ups > 1);
  }
}

TEST_F(LinkTest, FramesComeInOrderAndOnce) {
  Worker worker(path());
  Caller caller(path());
  caller.greet();
  caller.open(1), caller.open(2);
  const std::string four(4 * 2 * 4, '\0');
  const auto job = [&](uint64_t stream, int64_t at) {
    return PushedJob{stream, at, 0, 4, 0, false, four};
  };
  using Faults = std::vector<std::string>;
  EXPECT_EQ(caller.push({1, 0, {job(1, 0), job(2, 0)}}), (Faults{"none", "none"}));
  EXPECT_EQ(caller.push({2, 0, {job(1, 4), job(2, 8)}}),
            (Faults{"none", "the chunk begins at frame 8, expected 4"}));
  EXPECT_EQ(caller.push({3, 0, {job(1, 4)}}), (Faults{"the chunk begins at frame 4, expected 8"}));
  EXPECT_EQ(caller.push({4, 0, {job(1, 8), job(1, 12)}}),
            (Faults{"none", "the batch has two chunks of this stream"}));
  PushedJob cut = job(1, 12);
  cut.window = std::string_view(four).substr(1);
  EXPECT_EQ(caller.push({5, 0, {cut}}),
            (Faults{"the chunk has 31 bytes, which do not fit 4 frames"}));
  PushedJob codes = job(2, 4);
  const std::string wrong(four.size(), '\x7F');
  codes.window = wrong;
  EXPECT_NE(caller.push({6, 0, {codes}}).at(0).find("[toy] code 2139062143"), std::string::npos);
  EXPECT_NE(caller.push({7, 0, {job(2, 8)}}).at(0).find("[toy]"),
            std::string::npos);  // the stream stays failed
}

TEST_F(LinkTest, ABundleThatDoesNotFitFailsItsStreamAlone) {
  Worker worker(path());
  Caller caller(path());
  caller.greet();
  caller.open(1);
  std::string message;
  append_open(message, {2, 0, "no bundle at all"});
  caller.send(message);
  const std::string four(4 * 2 * 4, '\0');
  const auto faults =
      caller.push({1, 0, {{1, 0, 0, 4, 0, false, four}, {2, 0, 0, 4, 0, false, four}}});
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0], "none");
  EXPECT_NE(faults[1].find("a bundle"), std::string::npos) << faults[1];
}

TEST_F(LinkTest, StrangersAreDropped) {
  Worker worker(path(), [](StageServerOptions& o) { o.greeting_s = 0.05; });
  const auto placed = placed_toy(path(), {"features"});
  ASSERT_TRUE(link_of(*placed, "features").wait_until_up(kPatience_s));
  Caller silent(path());
  EXPECT_TRUE(silent.dropped());
  Caller loud(path());
  loud.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(loud.dropped());
  const auto after = [&](const std::function<void(Caller&)>& act) {
    Caller caller(path());
    caller.greet();
    act(caller);
    return caller.dropped();
  };
  const std::string four(4 * 2 * 4, '\0');
  const auto send = [](Caller& caller, auto&& append) {
    std::string bytes;
    append(bytes);
    caller.send(bytes);
  };
  EXPECT_TRUE(after([&](Caller& c) {  // sends a push for an unknown stream
    send(c, [&](auto& b) { append_push(b, {1, 0, {{5, 0, 0, 4, 0, false, four}}}); });
  }));
  EXPECT_TRUE(after([&](Caller& c) {  // sends a push for an unknown node
    send(c, [&](auto& b) { append_push(b, {1, 9, {}}); });
  }));
  EXPECT_TRUE(after([&](Caller& c) { c.open(1), c.open(1); }));
  EXPECT_TRUE(
      after([&](Caller& c) { send(c, [&](auto& b) { append_welcome(b, introduction({})); }); }));
  Streams streams(*placed);  // the first link is not affected
  const auto stream = streams.open();
  EXPECT_FALSE(streams.run_one(*stream, 0, 4));
  EXPECT_EQ(link_of(*placed, "features").state().ups, 1u);
}

TEST_F(LinkTest, TooManyServersAreTurnedAway) {
  Worker worker(path(), [](auto& o) { o.max_servers = 1, o.greeting_s = 1e6; });
  const auto placed = placed_toy(path(), {"features"});
  ASSERT_TRUE(link_of(*placed, "features").wait_until_up(kPatience_s));
  Caller second(path());
  EXPECT_TRUE(second.dropped());
  EXPECT_EQ(worker.server->state().refused, 1u);
  EXPECT_EQ(worker.server->state().servers, 1);
  EXPECT_TRUE(link_of(*placed, "features").state().up);
}

using LinkFuzz = LinkTest;
/// After the greeting a server may send any bytes. The process continues to serve other servers.
TEST_F(LinkFuzz, AnyMessagesAreSurvived) {
  Worker worker(path(), [](StageServerOptions& o) {
    o.me.nodes.push_back(shape_of(make_toy_pipeline()->graph(), "ar"));
  });
  const auto placed = placed_toy(path(), {"features"});
  ASSERT_TRUE(link_of(*placed, "features").wait_until_up(kPatience_s));
  std::mt19937 random(3);
  std::vector<std::string> seeds(7);
  Bundle bundle;
  bundle.set("breaks cut", UINT64_MAX);
  bundle.set("breaks run", UINT64_MAX);
  std::string bundle_bytes;
  bundle.append_to(bundle_bytes);
  append_open(seeds[0], {1, 0, bundle_bytes});
  const std::string four(4 * 2 * 4, '\0');
  append_push(seeds[1], {.batch = 1, .node = 0, .jobs = {{1, 0, 0, 4, 0, false, four}}});
  append_close(seeds[2], 1);
  SpeechRequest request;
  request.say.text = "so it goes";
  append_open(seeds[3], {2, 1, request_bytes(request).take()});
  append_cache(seeds[4], {1, 8});
  append_call(seeds[5], {2, text_call("and on", false)});
  const std::string page(4, '\0');
  StepMessage step;
  step.batch = 1, step.node = 1;
  step.sequences = {{.stream = 2, .rows = 3, .emits = true, .pages = page}};
  append_step(seeds[6], step);
  const int most = fuzz_inputs(3000);
  int connections = 0, sent = 0;
  while (sent < most) {
    Caller caller(path());
    caller.greet({"features", "ar"});
    ++connections;
    try {
      caller.send(seeds[0] + seeds[3] + seeds[4]);
      for (int i = 0; i < 50 && sent < most; ++i, ++sent) {
        std::string bytes = seeds[random() % seeds.size()];
        for (uint32_t n = random() % 3; n > 0; --n) {
          bytes[4 + random() % (bytes.size() - 4)] = static_cast<char>(random());
        }
        caller.send(bytes);
      }
    } catch (const LoadError&) {  // the connection may be closed
    }
  }
  EXPECT_GT(connections, 30);
  Streams streams(*placed);
  const auto stream = streams.open();
  EXPECT_FALSE(streams.run_one(*stream, 0, 4));
  EXPECT_TRUE(wait_for([&] { return worker.server->state().servers == 1; }));
  EXPECT_TRUE(wait_for([&] { return worker.server->state().streams == 1; }));
}

TEST_F(LinkTest, SocketsAreThisUsersAndReplaceDeadOnes) {
  {
    ListeningSocket first(path());
    EXPECT_THROW(ListeningSocket second(path()), LoadError);  // the path is in use
    const auto mode = std::filesystem::status(path()).permissions();
    EXPECT_EQ(mode & (std::filesystem::perms::group_all | std::filesystem::perms::others_all),
              std::filesystem::perms::none);
  }
  EXPECT_FALSE(std::filesystem::exists(path()));
  {  // leaves a socket file behind, like a killed process
    ListeningSocket first(path());
    std::filesystem::rename(path(), dir_.path("left.sock"));
  }
  ListeningSocket again(dir_.path("left.sock"));
  dir_.write("file", "x");
  EXPECT_THROW(ListeningSocket over_a_file(dir_.path("file")), LoadError);
  EXPECT_THROW(connect_to(dir_.path("nowhere.sock")), LoadError);
  EXPECT_THROW(ListeningSocket(std::string(200, 'x')), LoadError);
}

}  // namespace
}  // namespace syrinx
