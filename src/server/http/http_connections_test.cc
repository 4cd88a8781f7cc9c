// Connections of the server through a real socket: kept, pipelined, slow, cut off, drained.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "audio/wav.h"
#include "server/http/http_server_fixture_test.h"

namespace syrinx {
namespace {

TEST_F(HttpServerTest, ChunkedBodyAndContinue) {
  start();
  TestClient client(port());
  client.send(
      "POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_head().status, 100);
  client.send("e\r\n{\"input\": \"hi\"\r\n1\r\n}\r\n0\r\n\r\n");
  EXPECT_EQ(client.read().status, 200);
}

TEST_F(HttpServerTest, KeepsConnectionsAlive) {
  start();
  TestClient client(port());
  for (int i = 0; i < 3; ++i) {
    client.get("/health");
    EXPECT_EQ(client.read().status, 200);
    client.post(R"({"input": "hello"})");
    EXPECT_TRUE(client.read().whole);
    client.post(R"({"input": ""})");
    EXPECT_EQ(client.read().status, 400);
  }
}

TEST_F(HttpServerTest, PipelinedRequestsAreAnsweredInTurn) {
  start(0.005);
  TestClient client(port());
  client.post(R"({"input": "hello"})");
  client.get("/health");
  client.get("/ready");
  EXPECT_TRUE(client.read().whole);
  EXPECT_TRUE(has(client.read().body, "uptime_s"));
  EXPECT_TRUE(has(client.read().body, "ready"));
}

TEST_F(HttpServerTest, OldClientsReadToTheEnd) {
  start();
  TestClient client(port());
  client.send(
      "POST /v1/audio/speech HTTP/1.0\r\nContent-Type: application/json\r\n"
      "Content-Length: 44\r\n\r\n{\"input\": \"hello\", \"response_format\": \"wav\"}");
  const TestAnswer answer = client.read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.header("Transfer-Encoding").empty());
  EXPECT_EQ(answer.body.size(), 44 + 7 * 1920 * 2u);
}

TEST_F(HttpServerTest, ClientThatGoesAwayCancels) {
  start(0.01);
  for (const bool streaming : {false, true}) {
    TestClient client(port());
    client.post(R"({"input": "endless"})");
    if (streaming) {
      EXPECT_EQ(client.read_head().status, 200);
    }
    client.close();
    EXPECT_TRUE(backend_->wait_idle(5));
  }
  TestClient half(port());
  half.post(R"({"input": "endless"})");
  EXPECT_EQ(half.read_head().status, 200);
  half.shut_send();
  EXPECT_TRUE(backend_->wait_idle(5));
}

TEST_F(HttpServerTest, ClientThatDoesNotReadIsCutOff) {
  start(0, {.stall_timeout_s = 0.5});
  TestClient stalled(port());
  stalled.post(R"({"input": "endless"})");
  // Meanwhile the server answers other requests.
  const TestAnswer other = speak(R"({"input": "0123456789"})");
  EXPECT_TRUE(other.whole);
  EXPECT_TRUE(backend_->wait_idle(5));
  EXPECT_LT(backend_->max_unread_s(), 2.2);
}

/// The time limit applies to a client that reads nothing, not to the whole answer.
TEST_F(HttpServerTest, AClientThatReadsSlowlyGetsAll) {
  start(0, {.stall_timeout_s = 1});
  TestClient slow(port(), 4096);
  slow.post(R"({"stream": false, "response_format": "wav", "input": ")" + std::string(250, 'a') +
            "\"}");
  TestAnswer answer = slow.read_head();
  for (int i = 0; i < 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(slow.read_more());
  }
  slow.read_body(answer);
  EXPECT_TRUE(answer.whole);
  EXPECT_EQ(std::to_string(answer.body.size()), answer.header("Content-Length"));
}

/// The client's kernel accepts each write in small parts. No byte is lost or sent twice, and fast
/// readers do not wait.
TEST_F(HttpServerTest, AClientThatReadsInCrumbsGetsAll) {
  start();
  const std::string body =
      R"({"seed": 3, "response_format": "wav", "input": ")" + std::string(200, 'a') + "\"}";
  const std::string want = speak(body).body;
  EXPECT_GT(want.size(), 900'000u);
  TestClient crumbs(port(), 4096);
  crumbs.post(body);
  TestAnswer answer = crumbs.read_head();
  EXPECT_TRUE(crumbs.read_more());
  EXPECT_TRUE(speak(body).body == want);  // the slow client has read very little by then
  crumbs.read_body(answer);
  EXPECT_TRUE(answer.whole);
  EXPECT_TRUE(answer.body == want);
}

TEST_F(HttpServerTest, ManyClientsGetWhatTheyWouldGetAlone) {
  start(0.001);
  const std::string body = R"({"input": "01234567890123456789", "seed": 3})";
  const std::string alone = speak(body).body;
  std::vector<std::thread> clients;
  std::vector<std::string> got(20);
  for (size_t i = 0; i < got.size(); ++i) {
    clients.emplace_back([&, i] { got[i] = speak(body).body; });
  }
  for (std::thread& client : clients) client.join();
  for (const std::string& bytes : got) EXPECT_TRUE(bytes == alone);
}

TEST_F(HttpServerTest, DrainFinishesWhatRuns) {
  start(0.01);
  TestClient idle(port()), running(port());
  idle.get("/live");
  idle.read();
  running.post(R"({"input": "0123456789"})");
  TestAnswer answer = running.read_head();
  std::thread reader([&] { running.read_body(answer); });
  EXPECT_TRUE(server_->drain(30));
  reader.join();
  EXPECT_TRUE(answer.whole);
  EXPECT_TRUE(running.wait_closed(5));
  EXPECT_TRUE(idle.wait_closed(5));
  EXPECT_THROW(TestClient late(port()), std::runtime_error);
  EXPECT_TRUE(server_->drain(0));
}

TEST_F(HttpServerTest, DrainRefusesNewRequestsUntilTheLastStreamEnds) {
  start(0.01);
  TestClient running(port()), silent(port());
  running.post(R"({"input": "endless"})");
  running.read_head();
  std::thread drain([this] { EXPECT_TRUE(server_->drain(20)); });
  EXPECT_TRUE(silent.wait_closed(5)) << "idle since before the end";
  TestClient probe(port()), late(port()), waiting(port());
  probe.get("/ready");
  const TestAnswer ready = probe.read();
  EXPECT_EQ(ready.status, 503);
  EXPECT_NE(ready.body.find("draining"), std::string::npos);
  late.post(R"({"input": "Hello."})");
  const TestAnswer refusal = late.read();
  EXPECT_EQ(refusal.status, 503);
  EXPECT_EQ(refusal.header("Retry-After"), "1");
  running.close();
  drain.join();  // the silent client `waiting` does not delay this
  EXPECT_TRUE(waiting.wait_closed(5));
  EXPECT_THROW(TestClient later(port()), std::runtime_error);
}

TEST_F(HttpServerTest, DrainHasADeadline) {
  start(0.01);
  TestClient client(port());
  client.post(R"({"input": "endless"})");
  TestAnswer answer = client.read_head();
  std::thread reader([&] { client.read_body(answer); });
  EXPECT_FALSE(server_->drain(0.2));
  server_.reset();
  EXPECT_TRUE(backend_->wait_idle(5));
  reader.join();
  EXPECT_FALSE(answer.whole);
}

}  // namespace
}  // namespace syrinx
