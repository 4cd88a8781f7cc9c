// Tests links between hosts, over gRPC on the loopback: the behaviour that link_test.cc tests,
// keys, and the state of links. Skipped if the module is not built.
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdlib>
#include <random>

#include "io/program.h"
#include "link/fixture.h"
#include "link/grpc_module.h"

namespace syrinx {
namespace {

constexpr const char* kAnyPort = "grpc://127.0.0.1:0";

/// Returns the message of the exception that `attempt` throws.
std::string fault_of(const std::function<void()>& attempt) {
  try {
    attempt();
  } catch (const LoadError& e) {
    return e.what();
  }
  return "none";
}

TEST(Transport, AddressesAreCheckedBeforeAnythingIsOpened) {
  for (const char* wrong : {"grpc://", "grpc://host", "grpc://:7001", "grpc://host:", "grpc://h:x",
                            "grpc://h:70000", "grpc://h/p:1", "grpc://h:1,g:2"}) {
    EXPECT_NE(fault_of([&] { listen_at(wrong); }).find("expected grpc://HOST:PORT"),
              std::string::npos)
        << wrong;
  }
  EXPECT_FALSE(is_between_hosts("/run/grpc://"));
}

class GrpcTest : public LinkTest {
 protected:
  void SetUp() override {
    const std::string missing = fault_of([] { GrpcModule::open(); });
    if (missing != "none") GTEST_SKIP() << missing;
  }
  static std::function<void(StageServerOptions&)> with(const StageKeys& keys) {
    return [keys](StageServerOptions& o) { o.keys = keys; };
  }
  /// Makes an authority `name`, and a certificate for this host that the authority has signed.
  StageKeys keys_of(const std::string& name) {
    const std::string ca = dir_.path(name + "-ca"), one = dir_.path(name);
    dir_.write(name + ".ext", "subjectAltName=IP:127.0.0.1");
    const auto openssl = [](std::vector<std::string> words) {
      words.insert(words.begin(), "openssl");
      const auto done = run_program(words, "");
      EXPECT_TRUE(done.ok()) << done.error().message;
    };
    openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-subj", "/CN=" + name, "-keyout", ca + ".key", "-out", ca + ".pem"});
    openssl({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
             "/CN=stages", "-keyout", one + ".key", "-out", one + ".csr"});
    openssl({"x509", "-req", "-in", one + ".csr", "-CA", ca + ".pem", "-CAkey", ca + ".key",
             "-CAcreateserial", "-extfile", dir_.path(name + ".ext"), "-out", one + ".pem"});
    return {one + ".pem", one + ".key", ca + ".pem"};
  }
};

TEST_F(GrpcTest, TheSameBitsAsHere) {
  Worker worker(kAnyPort);
  const auto placed = placed_toy(worker.server->address(), {"features", "vocoder"});
  ASSERT_TRUE(link_of(*placed, "features").wait_until_up(kPatience_s));
  const auto here = make_toy_pipeline();
  Streams far(*placed, Streams::kVocoder), near(*here, Streams::kVocoder);
  const auto a = far.open(), b = near.open();
  for (int from = 0; from < 4000; from += 400) {  // sends more than one piece at a time
    std::vector<Streams::Part> there{{a.get(), from, 400, 1}}, alike{{b.get(), from, 400, 1}};
    far.run(there), near.run(alike);
    ASSERT_FALSE(there[0].fault) << there[0].fault->message;
    EXPECT_EQ(there[0].made, alike[0].made);
  }
  EXPECT_EQ(worker.server->state().streams, 1);
}

TEST_F(GrpcTest, APeerThatGoesAndComesBackIsFoundAgain) {
  std::optional<Worker> worker(std::in_place, kAnyPort);
  const std::string at = worker->server->address();
  const auto placed = placed_toy(at, {"features"}, [](auto& o) { o.return_s = 0; });
  StageLink& link = link_of(*placed, "features");
  ASSERT_TRUE(link.wait_until_up(kPatience_s));
  Streams streams(*placed);
  const auto stream = streams.open();
  EXPECT_FALSE(streams.run_one(*stream, 0, 4));
  worker.reset();
  ASSERT_TRUE(wait_for([&] { return link.state().trouble.find("refused") != std::string::npos; }))
      << link.state().trouble;
  EXPECT_TRUE(streams.run_one(*streams.open(), 0, 4));
  worker.emplace(at);
  ASSERT_TRUE(link.wait_until_up(kPatience_s));
  EXPECT_FALSE(streams.run_one(*stream, 4, 4));  // the stream was computed again
  EXPECT_EQ(link.state().recovered, 1u);
}

TEST_F(GrpcTest, APeerThatDoesNotFitGetsTheReason) {
  Worker worker(kAnyPort);
  const auto placed =
      placed_toy(worker.server->address(), {"features"}, [](auto& o) { o.wanted.model = "tiny"; });
  StageLink& link = link_of(*placed, "features");
  EXPECT_TRUE(wait_for([&] {
    return link.state().trouble.find("the process refuses: the models or their weights") !=
           std::string::npos;
  })) << link.state().trouble;
}

TEST_F(GrpcTest, BeyondThisHostThereAreKeys) {
  EXPECT_NE(fault_of([] { listen_at("grpc://0.0.0.0:0"); }).find("need keys"), std::string::npos);
  EXPECT_NE(fault_of([] { connect_at("grpc://192.0.2.1:7001", {}, 1); }).find("need keys"),
            std::string::npos);
  EXPECT_NE(fault_of([&] {
              listen_at(kAnyPort, {.certificate = "x", .key = {}, .authority = {}});
            }).find("belong together"),
            std::string::npos);
  const std::string wrong = dir_.write("wrong.pem", "no key at all");
  EXPECT_NE(fault_of([&] {
              listen_at(kAnyPort, {wrong, wrong, wrong});
            }).find("is invalid"),
            std::string::npos);
}

TEST_F(GrpcTest, OnlyThoseWithKeysOfTheAuthorityMeet) {
  const StageKeys ours = keys_of("ours"), theirs = keys_of("theirs");
  Worker worker(kAnyPort, with(ours));
  const std::string at = worker.server->address();
  const auto placed = placed_toy(at, {"features"}, [&](auto& o) { o.keys = ours; });
  StageLink& link = link_of(*placed, "features");
  ASSERT_TRUE(link.wait_until_up(kPatience_s)) << link.state().trouble;
  // Three cases: foreign keys; our authority with a certificate of another authority; no TLS.
  const StageKeys half{theirs.certificate, theirs.key, ours.authority};
  for (const StageKeys& keys : {theirs, half, StageKeys()}) {
    EXPECT_NE(fault_of([&] { connect_at(at, keys, kPatience_s); }), "none");
  }
  EXPECT_NE(fault_of([&] { connect_at(at, theirs, kPatience_s); }).find("handshake"),
            std::string::npos);
  Streams streams(*placed);
  EXPECT_FALSE(streams.run_one(*streams.open(), 0, 4));
  EXPECT_EQ(worker.server->state().servers, 1);
}

TEST_F(GrpcTest, APeerThatNeverAnswersIsGivenUp) {
  const Descriptor port(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof any;
  ASSERT_EQ(bind(port.get(), reinterpret_cast<sockaddr*>(&any), size), 0);
  ASSERT_EQ(listen(port.get(), 4), 0);
  ASSERT_EQ(getsockname(port.get(), reinterpret_cast<sockaddr*>(&any), &size), 0);
  const std::string at = "grpc://127.0.0.1:" + std::to_string(ntohs(any.sin_port));
  const double began_s = now_s();
  EXPECT_NE(fault_of([&] { connect_at(at, {}, 0.2); }).find("does not answer"), std::string::npos);
  EXPECT_LT(now_s() - began_s, kPatience_s / 2);
}

TEST_F(GrpcTest, StrangersAreDropped) {
  {
    Worker hasty(kAnyPort, [](StageServerOptions& o) { o.greeting_s = 0.05; });
    Caller silent(hasty.server->address());
    EXPECT_TRUE(silent.dropped());
  }
  Worker worker(kAnyPort);
  const std::string at = worker.server->address();
  Caller loud(at);
  loud.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(loud.dropped());
  std::mt19937 random(5);
  for (int i = 0; i < 20; ++i) {  // sends damaged messages after the greeting
    Caller caller(at);
    caller.greet();
    std::string bytes;
    append_push(bytes, {.batch = 1, .node = 0, .jobs = {{1, 0, 0, 4, 0, false, "12345678"}}});
    bytes[4 + random() % (bytes.size() - 4)] = static_cast<char>(random());
    caller.send(bytes + "more");
    EXPECT_TRUE(caller.dropped());
  }
  const auto placed = placed_toy(at, {"features"});
  ASSERT_TRUE(link_of(*placed, "features").wait_until_up(kPatience_s));
  Streams streams(*placed);
  EXPECT_FALSE(streams.run_one(*streams.open(), 0, 4));
  EXPECT_TRUE(wait_for([&] { return worker.server->state().servers == 1; }));
}

}  // namespace
}  // namespace syrinx
