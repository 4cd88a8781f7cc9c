// WebSockets through real sockets, with a fake engine.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "server/http/http_server.h"
#include "server/http/ws_client_test.h"
#include "server/models/fake_backend_test.h"

namespace syrinx {
namespace {

constexpr const char* kDeepgram = "/v1/speak?sample_rate=24000";

class WsServerTest : public testing::Test {
 protected:
  void start(double step_s = 0, ServerOptions options = {}) {
    options.port = 0;
    backend_ = std::make_shared<FakeBackend>(step_s);
    backend_->mutable_info().speech.late_text = LateText::kToken;
    server_ = std::make_unique<HttpServer>(std::move(options));
    server_->open(backend_);
  }
  int port() const { return server_->port(); }

  std::shared_ptr<FakeBackend> backend_;
  std::unique_ptr<HttpServer> server_;
};

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(WsServerTest, SpeaksAndCloses) {
  start();
  WsClient client(port(), kDeepgram);
  EXPECT_EQ(client.status(), 101);
  EXPECT_TRUE(mentions(client.head(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));  // RFC 6455's example
  EXPECT_TRUE(mentions(client.read_text(), "Metadata"));
  client.send_text(R"({"type":"Speak","text":"0123456789"})");
  client.send_text(R"({"type":"Flush"})");
  size_t audio = 0;
  EXPECT_TRUE(mentions(client.read_text(&audio), "Flushed"));
  EXPECT_EQ(audio, 13 * 1920 * 2u);
  client.send_frame(9, "are you there");
  const auto pong = client.read();
  ASSERT_TRUE(pong);
  EXPECT_EQ(pong->opcode, 10);
  EXPECT_EQ(pong->bytes, "are you there");
  client.send_text(R"({"type":"Close"})");
  EXPECT_EQ(client.read_text(), "close 1000");
}

TEST_F(WsServerTest, WhatIsNoWebSocket) {
  start();
  EXPECT_EQ(WsClient(port(), "/v1/audio/speech").status(), 404);
  EXPECT_EQ(WsClient(port(), "/v1/speak?encoding=morse").status(), 400);
  EXPECT_EQ(WsClient(port(), "/v1/text-to-speech/nobody/stream-input").status(), 400);
  const WsClient evil(port(), kDeepgram, "Origin: http://evil.example\r\n");
  EXPECT_EQ(evil.status(), 403);
  EXPECT_TRUE(mentions(evil.head(), "Connection: close\r\n"));
  EXPECT_EQ(WsClient(port(), kDeepgram, "Origin: http://127.0.0.1\r\n").status(), 101);
  server_ = std::make_unique<HttpServer>(ServerOptions{.port = 0});  // a server without a model
  EXPECT_EQ(WsClient(port(), kDeepgram).status(), 503);
}

TEST_F(WsServerTest, KeysOfEveryDialect) {
  start(0, {.keys = ApiKeys({"secret"})});
  const std::string eleven = "/v1/text-to-speech/low/stream-input";
  EXPECT_EQ(WsClient(port(), kDeepgram).status(), 401);
  EXPECT_EQ(WsClient(port(), kDeepgram, "Authorization: Token wrong\r\n").status(), 401);
  EXPECT_EQ(WsClient(port(), kDeepgram, "Authorization: Token secret\r\n").status(), 101);
  EXPECT_EQ(WsClient(port(), kDeepgram, "Authorization: Bearer secret\r\n").status(), 101);
  EXPECT_EQ(WsClient(port(), eleven, "xi-api-key: secret\r\n").status(), 101);
  EXPECT_EQ(WsClient(port(), "/tts/websocket", "X-API-Key: secret\r\n").status(), 101);
  EXPECT_EQ(WsClient(port(), "/tts/websocket?api_key=secret").status(), 101);
  const WsClient browser(port(), kDeepgram, "Sec-WebSocket-Protocol: token, secret\r\n");
  EXPECT_EQ(browser.status(), 101);
  EXPECT_TRUE(mentions(browser.head(), "Sec-WebSocket-Protocol: token\r\n"));
}

TEST_F(WsServerTest, ClientThatGoesAwayCancels) {
  start(0.005);
  for (const bool politely : {true, false}) {
    WsClient client(port(), kDeepgram);
    client.send_text(R"({"type":"Speak","text":"endless"})");
    client.read_text();  // the reply is Metadata
    ASSERT_TRUE(client.read());
    if (politely) {
      client.send_frame(8, "\x03\xe8");
    } else {
      client.socket().close();
    }
    EXPECT_TRUE(backend_->wait_idle(5)) << (politely ? "politely" : "not so");
  }
}

TEST_F(WsServerTest, ClientThatDoesNotReadIsCutOff) {
  start(0, {.stall_timeout_s = 0.5});
  WsClient stalled(port(), kDeepgram, "", 4096);
  stalled.send_text(R"({"type":"Speak","text":"endless"})");
  WsClient other(port(), kDeepgram);  // the server still serves other requests
  other.send_text(R"({"type":"Speak","text":"0123456789"})");
  other.send_text(R"({"type":"Flush"})");
  other.read_text();
  size_t audio = 0;
  EXPECT_TRUE(mentions(other.read_text(&audio), "Flushed"));
  EXPECT_EQ(audio, 13 * 1920 * 2u);
  EXPECT_TRUE(backend_->wait_idle(10));
  EXPECT_LT(backend_->max_unread_s(), 2.5);
}

TEST_F(WsServerTest, BrokenFramesAreNoHarm) {
  start();
  const std::string broken[] = {
      std::string("\x81\x05hello", 7),     // a frame without a mask
      std::string("\xf1\x80\0\0\0\0", 6),  // a frame with reserved bits
      std::string("\x8b\x80\0\0\0\0", 6),  // an unknown opcode
      std::string("\x09\x80\0\0\0\0", 6),  // a fragmented ping
      std::string("\x80\x80\0\0\0\0", 6),  // a continuation frame without a first frame
      std::string("\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 14),  // a frame of 2^64 bytes
      std::string("\x81\x82\0\0\0\0\xff\xfe", 8),                           // text without UTF-8
  };
  for (const std::string& bytes : broken) {
    WsClient client(port(), kDeepgram);
    client.read_text();
    client.socket().send(bytes);
    const std::string answer = client.read_text();
    EXPECT_TRUE(answer.starts_with("close 10") || answer == "gone") << answer;
  }
  WsClient large(port(), kDeepgram);
  large.read_text();
  large.send_text(std::string(300'000, ' '));
  EXPECT_EQ(large.read_text(), "close 1009");
  EXPECT_EQ(WsClient(port(), kDeepgram).status(), 101);
}

TEST_F(WsServerTest, HalfOpenAndHalfClosedSockets) {
  start(0.005);
  WsClient half(port(), kDeepgram);
  half.send_text(R"({"type":"Speak","text":"endless"})");
  half.read_text();
  half.socket().shut_send();
  EXPECT_TRUE(backend_->wait_idle(5));
  RawSocket early(port());  // sends frames before the answer to the upgrade
  early.send(
      "GET /v1/speak HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
      "\x81\x80");
  EXPECT_TRUE(mentions(early.read_until("\r\n"), "400"));
}

TEST_F(WsServerTest, FloodsAreBounded) {
  start();
  WsClient client(port(), "/tts/websocket");
  // Another thread sends faster than the replies are read. The server then stops reading.
  std::thread sender([&] {
    for (int i = 0; i < 20'000; ++i) {
      if (!client.send_text("{}")) break;
    }
  });
  int answers = 0;
  while (answers < 20'000 && mentions(client.read_text(), "error")) ++answers;
  EXPECT_EQ(answers, 20'000);
  sender.join();
  for (int i = 0; i < 200; ++i) {
    client.send_text(R"({"transcript":"endless","context_id":"a","continue":true})");
    client.send_text(R"({"cancel":true,"context_id":"a"})");
  }
  client.send_text(R"({"transcript":"0123456789","context_id":"b"})");
  std::string answer;
  while (!mentions(answer, "\"done\":true") || !mentions(answer, "\"b\"")) {
    answer = client.read_text();
    ASSERT_NE(answer, "gone");
  }
  EXPECT_TRUE(backend_->wait_idle(5));
}

TEST_F(WsServerTest, TwentyClientsGetTheirOwnAudio) {
  start(0.001);
  std::vector<std::thread> clients;
  std::vector<size_t> got(20);
  for (size_t i = 0; i < got.size(); ++i) {
    clients.emplace_back([&, i] {
      WsClient client(port(), kDeepgram);
      client.read_text();
      client.send_text(R"({"type":"Speak","text":")" + std::string(8 * i + 5, 'a') + "\"}");
      client.send_text(R"({"type":"Flush"})");
      EXPECT_TRUE(mentions(client.read_text(&got[i]), "Flushed"));
    });
  }
  for (std::thread& client : clients) client.join();
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], (10 * i + 7) * 1920 * 2);
}

TEST_F(WsServerTest, ServerThatStopsFinishesWhatIsSpoken) {
  start(0.01);
  WsClient client(port(), kDeepgram);
  client.read_text();
  client.send_text(R"({"type":"Speak","text":"0123456789"})");
  client.send_text(R"({"type":"Flush"})");
  ASSERT_TRUE(client.read());
  std::thread drain([this] { EXPECT_TRUE(server_->drain(10)); });
  size_t audio = 0;
  EXPECT_TRUE(mentions(client.read_text(&audio), "Flushed"));
  EXPECT_EQ(client.read_text(), "close 1001");
  client.socket().close();
  drain.join();
}

TEST_F(WsServerTest, ServerThatEndsCutsConnections) {
  start(0.01);
  WsClient client(port(), kDeepgram);
  client.read_text();
  client.send_text(R"({"type":"Speak","text":"endless"})");
  ASSERT_TRUE(client.read());
  server_.reset();
  size_t audio = 0;
  EXPECT_EQ(client.read_text(&audio), "gone");
  EXPECT_TRUE(backend_->wait_idle(5));
}

}  // namespace
}  // namespace syrinx
