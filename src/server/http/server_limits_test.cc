// Limits of what a client may send, and how long it may take.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "server/http/http_server_fixture_test.h"
#include "server/net/gzipped_test.h"

namespace syrinx {
namespace {

TEST_F(HttpServerTest, LimitsOfABody) {
  start(0, {.max_body_bytes = 1000});
  const TestAnswer known = speak(std::string(1001, ' '));
  EXPECT_EQ(known.status, 413);
  EXPECT_TRUE(has(known.body, "1000"));
  TestClient client(port());
  client.send(
      "POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 40; ++i) client.send("20\r\n" + std::string(32, ' ') + "\r\n");
  const TestAnswer chunked = client.read();
  EXPECT_EQ(chunked.status, 413);
  EXPECT_EQ(chunked.header("Connection"), "close");
  EXPECT_TRUE(client.wait_closed(5));
}

TEST_F(HttpServerTest, CompressedBodies) {
  start(0, {.max_body_bytes = 1000});
  const std::string wish = R"({"input": "0123456789", "seed": 5, "response_format": "wav"})";
  const std::string plain = speak(wish).body;
  EXPECT_EQ(speak(gzipped(wish), "Content-Encoding: gzip\r\n").body, plain);
  EXPECT_EQ(speak(wish, "Content-Encoding: identity\r\n").body, plain);
  EXPECT_EQ(speak(gzipped(std::string(1001, ' ')), "Content-Encoding: gzip\r\n").status, 413);
  EXPECT_EQ(speak(wish, "Content-Encoding: gzip\r\n").status, 400);
  for (const char* other : {"br", "deflate", "gzip, gzip"}) {
    const TestAnswer refused = speak(wish, concat("Content-Encoding: ", other, "\r\n"));
    EXPECT_EQ(refused.status, 415);
    EXPECT_EQ(refused.header("Accept-Encoding"), "gzip");
  }
}

TEST_F(HttpServerTest, TransferCodingsOtherThanChunkedAreRefused) {
  start();
  for (const char* coding : {"gzip", "gzip, chunked", "identity", "x, gzip"}) {
    TestClient client(port());
    client.send(
        concat("POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Type: "
               "application/json\r\nTransfer-Encoding: ",
               coding, "\r\n\r\n"));
    EXPECT_EQ(client.read().status, 501) << coding;
    EXPECT_TRUE(client.wait_closed(5)) << coding;
  }
}

TEST_F(HttpServerTest, FormsOfTargets) {
  start(0, {.access = {.hosts = {"here"}, .origins = {}}});
  const auto ask = [&](const std::string& bytes) {
    TestClient client(port());
    client.send(bytes);
    return client.read().status;
  };
  EXPECT_EQ(ask("GET /v1/models/ HTTP/1.1\r\nHost: here\r\n\r\n"), 200);
  EXPECT_EQ(ask("GET http://here:80/v1/models HTTP/1.1\r\nHost: there\r\n\r\n"), 200);
  EXPECT_EQ(ask("GET http://there/v1/models HTTP/1.1\r\nHost: here\r\n\r\n"), 403);
  EXPECT_EQ(ask("GET /v1/realtime/?model=x HTTP/1.1\r\nHost: here\r\n\r\n"), 426);
  EXPECT_EQ(ask("\r\nGET /live HTTP/1.1\r\nHost: here\r\n\r\n"), 200);
  TestClient client(port());
  const std::string wish = "{\"input\": \"hello\"}";
  client.send(
      concat("POST /v1/audio/speech/ HTTP/1.1\r\nHost: here\r\nContent-Type: "
             "application/json\r\nContent-Length: ",
             wish.size(), "\r\n\r\n", wish, "\r\n"));
  EXPECT_EQ(client.read().status, 200);
  client.send("\r\nGET /live HTTP/1.1\r\nHost: here\r\n\r\n");
  EXPECT_EQ(client.read().status, 200);
}

TEST_F(HttpServerTest, LimitsOfAHead) {
  start();
  TestClient client(port());
  client.get("/health", "X: " + std::string(20'000, 'a') + "\r\n");
  EXPECT_EQ(client.read().status, 431);
  TestClient garbage(port());
  garbage.send(std::string("\x16\x03\x01 nonsense\r\n\r\n"));
  EXPECT_EQ(garbage.read().status, 400);
}

TEST_F(HttpServerTest, SlowHeadsAndBodiesAndIdleClientsAreClosed) {
  start(0, {.header_timeout_s = 0.3, .body_timeout_s = 0.3, .idle_timeout_s = 0.3});
  TestClient idle(port()), head(port()), body(port());
  body.send(
      "POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Content-Length: 50\r\n\r\n");
  bool head_closed = false, body_closed = false;
  for (int i = 0; i < 40 && !(head_closed && body_closed); ++i) {
    head.send("G");  // single bytes do not extend the time limit
    body.send(" ");
    head_closed = head_closed || head.wait_closed(0.05);
    body_closed = body_closed || body.wait_closed(0.05);
  }
  EXPECT_TRUE(head_closed);
  EXPECT_TRUE(body_closed);
  EXPECT_TRUE(idle.wait_closed(5));
}

TEST_F(HttpServerTest, FullServerTurnsAway) {
  start(0, {.max_connections = 2});
  TestClient one(port()), two(port());
  one.get("/live");
  two.get("/live");
  EXPECT_EQ(one.read().status, 200);
  EXPECT_EQ(two.read().status, 200);
  TestClient three(port());
  EXPECT_EQ(three.read().status, 503);
  EXPECT_TRUE(three.wait_closed(2));
  one.close();
  int status = 0;
  for (int i = 0; i < 50 && status != 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    status = get("/live").status;
  }
  EXPECT_EQ(status, 200);
}

TEST_F(HttpServerTest, LimitsOfAClient) {
  start(0, {.keys = ApiKeys({"one", "two"}), .limits = {.requests_per_min = 2, .concurrent = 0}});
  const auto as = [&](const std::string& key) {
    return speak(R"({"input": "hello"})", "Authorization: Bearer " + key + "\r\n");
  };
  EXPECT_EQ(as("one").header("x-ratelimit-remaining-requests"), "1");
  const uint64_t one = backend_->last_request().terms.client;
  EXPECT_EQ(as("one").status, 200);
  EXPECT_EQ(backend_->last_request().terms.client, one);
  const TestAnswer refused = as("one");
  EXPECT_EQ(refused.status, 429);
  EXPECT_TRUE(has(refused.body, "\"type\":\"rate_limit_error\""));
  EXPECT_EQ(refused.header("Retry-After"), "30");
  EXPECT_EQ(refused.header("x-ratelimit-limit-requests"), "2");
  EXPECT_EQ(as("two").status, 200);
  EXPECT_NE(backend_->last_request().terms.client, one);
  EXPECT_EQ(as("three").status, 401);
}

TEST_F(HttpServerTest, RequestsAtATime) {
  start(0.01, {.limits = {.requests_per_min = 0, .concurrent = 1}});
  TestClient client(port());
  client.post(R"({"input": "endless"})");
  EXPECT_EQ(client.read_head().status, 200);
  EXPECT_EQ(speak(R"({"input": "hello"})").status, 429);
  client.close();
  EXPECT_TRUE(backend_->wait_idle(5));
  int status = 429;
  for (int i = 0; i < 100 && status == 429; ++i) status = speak(R"({"input": "hello"})").status;
  EXPECT_EQ(status, 200);
}

}  // namespace
}  // namespace syrinx
