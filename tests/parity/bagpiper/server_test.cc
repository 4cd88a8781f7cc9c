// Bagpiper's small checkpoint behind the real server's sockets: questions about recordings answered
// in words, scenes made audible by chat, texts read aloud.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "families/bagpiper/fixture.h"
#include "server/http/http_server.h"
#include "server/http/test_client_test.h"
#include "server/models/backend.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

using nlohmann::ordered_json;

constexpr uint32_t kWavBytes = 44;

std::string number_bytes(uint32_t value, size_t bytes) {
  return std::string(reinterpret_cast<const char*>(&value), bytes);
}

/// 16-bit samples, which the goldens' recordings are exactly.
std::string wav_of(int64_t count) {
  std::string pcm;
  for (const float value : fixture::golden_signal(count, static_cast<uint32_t>(count))) {
    const auto sample = static_cast<int16_t>(value * 32768.f);
    pcm.append(reinterpret_cast<const char*>(&sample), sizeof sample);
  }
  const auto size = static_cast<uint32_t>(pcm.size());
  return "RIFF" + number_bytes(36 + size, 4) + "WAVEfmt " + number_bytes(16, 4) +
         number_bytes(1, 2) + number_bytes(1, 2) + number_bytes(16000, 4) + number_bytes(32000, 4) +
         number_bytes(2, 2) + number_bytes(16, 2) + "data" + number_bytes(size, 4) + pcm;
}

class BagpiperServer : public testing::Test {
 protected:
  BagpiperServer() {
    EngineOptions engine;
    engine.threads = 2;
    engine.repetition_s = 0;
    ServerOptions options;
    options.port = 0;
    server_ = std::make_unique<HttpServer>(std::move(options));
    server_->open(make_backend(std::make_unique<Engine>(
        bagpiper::load({bagpiper::golden_path("checkpoint"), "bagpiper"}), engine)));
    cases_ = ordered_json::parse(read_file(bagpiper::golden_path("cases.json"), 1 << 20));
  }
  TestAnswer post(const char* path, const ordered_json& body) {
    const std::string text = body.dump();
    TestClient client(server_->port());
    client.send(concat("POST ", path, " HTTP/1.1\r\nHost: localhost\r\n",
                       "Content-Type: application/json\r\nContent-Length: ", text.size(),
                       "\r\n\r\n", text));
    return client.read();
  }
  ordered_json find(const std::string& name) const {
    for (const ordered_json& c : cases_)
      if (c["name"] == name) return c;
    throw std::out_of_range(name);
  }

  std::unique_ptr<HttpServer> server_;
  ordered_json cases_;
};

TEST_F(BagpiperServer, AnswersQuestionsAboutARecording) {
  const ordered_json c = find("heard");
  ordered_json messages = c["messages"];
  ordered_json& part = messages[1]["content"][0];
  ASSERT_EQ(part["type"], "audio");
  part = {{"type", "input_audio"},
          {"input_audio",
           {{"data", base64(wav_of(c["recordings"][0].get<int64_t>()))}, {"format", "wav"}}}};
  const TestAnswer answer = post("/v1/chat/completions", {{"model", "bagpiper"},
                                                          {"messages", messages},
                                                          {"temperature", 0},
                                                          {"max_completion_tokens", 50}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const auto json = ordered_json::parse(answer.body);
  EXPECT_EQ(json["choices"][0]["message"]["content"], c["answer"]);
  EXPECT_EQ(json["choices"][0]["finish_reason"], "length");
}

TEST_F(BagpiperServer, GivesTheWordsAndTheSoundOfAScene) {
  const ordered_json c = find("guided_ends");
  const TestAnswer answer =
      post("/v1/chat/completions", {{"model", "bagpiper"},
                                    {"messages", c["messages"]},
                                    {"temperature", 0},
                                    {"max_completion_tokens", c["max_tokens"]},
                                    {"modalities", {"text", "audio"}},
                                    {"audio", {{"voice", "default"}, {"format", "wav"}}}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const ordered_json audio = ordered_json::parse(answer.body)["choices"][0]["message"]["audio"];
  EXPECT_EQ(audio["transcript"], c["answer"]);
  const auto sound = base64_decoded(audio["data"].get<std::string>());
  ASSERT_TRUE(sound && sound->size() > kWavBytes);
  const Safetensors golden(bagpiper::golden_path("guided_ends.safetensors"));
  EXPECT_EQ(static_cast<int64_t>(sound->size() - kWavBytes),
            golden.view("frames").shape[0] * 320 * 2);
}

TEST_F(BagpiperServer, ReadsATextAloud) {
  const TestAnswer answer = post("/v1/audio/speech", {{"model", "bagpiper"},
                                                      {"input", "Hello there."},
                                                      {"instructions", "A calm voice says"},
                                                      {"voice", "default"},
                                                      {"response_format", "wav"},
                                                      {"seed", 3}});
  ASSERT_EQ(answer.status, 200) << answer.body.substr(0, 300);
  EXPECT_GT(answer.body.size(), kWavBytes + 43 * 320 * 2) << "at least 50 steps";
  const TestAnswer wrong =
      post("/v1/audio/speech", {{"model", "bagpiper"}, {"input", "Hello."}, {"voice", "anna"}});
  EXPECT_EQ(wrong.status, 400) << wrong.body;
}

}  // namespace
}  // namespace syrinx
