// Step-Audio-2-mini's small checkpoint behind the real server's sockets: speech in, text and speech
// out, by chat and by the Realtime API.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "families/step_audio2/fixture.h"
#include "server/http/http_server.h"
#include "server/http/test_client_test.h"
#include "server/http/ws_client_test.h"
#include "server/models/backend.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

using nlohmann::ordered_json;

constexpr uint32_t kWavBytes = 44;

constexpr const char* kVoice = "default_female";

/// 16-bit samples, which the goldens' recordings are exactly.
std::string pcm_of(int64_t count, uint32_t seed) {
  std::string out;
  for (const float value : fixture::golden_signal(count, seed)) {
    const auto sample = static_cast<int16_t>(value * 32768.f);
    out.append(reinterpret_cast<const char*>(&sample), sizeof sample);
  }
  return out;
}

/// Of two channels, the other one as loud and of something else: the first is what is heard.
std::string wav_of(const std::string& first, uint32_t rate) {
  const auto number = [](uint32_t value, size_t bytes) {
    return std::string(reinterpret_cast<const char*>(&value), bytes);
  };
  std::string pcm;
  for (size_t i = 0; i < first.size(); i += 2) {
    pcm += first.substr(i, 2) + first.substr(first.size() - 2 - i, 2);
  }
  const auto size = static_cast<uint32_t>(pcm.size());
  return "RIFF" + number(36 + size, 4) + "WAVEfmt " + number(16, 4) + number(1, 2) + number(2, 2) +
         number(rate, 4) + number(4 * rate, 4) + number(4, 2) + number(16, 2) + "data" +
         number(size, 4) + pcm;
}

class StepServer : public testing::Test {
 protected:
  StepServer() {
    EngineOptions engine;
    engine.threads = 2;
    engine.repetition_s = 0;
    ServerOptions options;
    options.port = 0;
    server_ = std::make_unique<HttpServer>(std::move(options));
    server_->open(make_backend(std::make_unique<Engine>(
        step_audio2::load(step_audio2::spec_of(checkpoint_.dir.path())), engine)));
  }

  step_audio2::WholeCheckpoint checkpoint_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(StepServer, ChatsWithSpeech) {
  const auto cases = step_audio2::golden_cases();
  for (const auto& [name, c] : cases.items()) {
    SCOPED_TRACE(name);
    const bool speaks = c["speaks"];
    ordered_json messages = c["messages"];
    uint32_t seed = 7;
    for (ordered_json& message : messages) {
      if (!message["content"].is_array()) continue;
      const auto samples = c["recordings"][seed - 7].get<int64_t>();
      message["content"].back() = {
          {"type", "input_audio"},
          {"input_audio",
           {{"data", base64(wav_of(pcm_of(samples, seed++), 16000))}, {"format", "wav"}}}};
    }
    ordered_json asked{{"model", "step"},
                       {"messages", messages},
                       {"temperature", 0},
                       {"seed", 7},
                       {"max_completion_tokens", c["steps"]}};
    if (speaks) {
      asked["modalities"] = {"text", "audio"};
      asked["audio"] = {{"voice", kVoice}, {"format", "wav"}};
    }
    const std::string body = asked.dump();
    TestClient client(server_->port());
    client.send(concat("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n",
                       "Content-Type: application/json\r\nContent-Length: ", body.size(),
                       "\r\n\r\n", body));
    const TestAnswer answer = client.read();
    ASSERT_EQ(answer.status, 200) << answer.body;
    const auto json = ordered_json::parse(answer.body);
    EXPECT_EQ(json["usage"]["prompt_tokens"], c["prompt"]);
    const ordered_json& message = json["choices"][0]["message"];
    if (!speaks) {
      EXPECT_EQ(message["content"], c["text"]);
      continue;
    }
    const ordered_json& audio = message["audio"];
    EXPECT_EQ(audio["transcript"], c["text"]);
    const auto sound = base64_decoded(audio["data"].get<std::string>());
    ASSERT_TRUE(sound && sound->size() > kWavBytes);
    uint32_t rate = 0;
    std::copy_n(sound->data() + 24, sizeof rate, reinterpret_cast<char*>(&rate));
    const double seconds = static_cast<double>(sound->size() - kWavBytes) / 2 / rate;
    EXPECT_NEAR(seconds, c["codes"].get<double>() / 25, 0.05);
  }
}

TEST_F(StepServer, HoldsAConversation) {
  WsClient client(server_->port(), "/v1/realtime?model=step");
  ASSERT_EQ(client.status(), 101);
  const auto until = [&](const std::string& type) {
    std::vector<ordered_json> out;
    do {
      const std::string text = client.read_text();
      out.push_back(ordered_json::parse(text, nullptr, false));
      if (out.back().is_discarded() || out.back()["type"] == "error") {
        ADD_FAILURE() << text;
        return out;
      }
    } while (out.back()["type"] != type);
    return out;
  };
  const auto send = [&](const ordered_json& event) { client.send_text(event.dump()); };
  until("session.created");
  send({{"type", "session.update"},
        {"session",
         {{"type", "realtime"},
          {"max_output_tokens", 90},
          {"audio", {{"input", {{"turn_detection", nullptr}}}}}}}});
  until("session.updated");
  for (int turn = 0; turn < 2 && !HasFailure(); ++turn) {  // the second one hears the first again
    send({{"type", "input_audio_buffer.append"}, {"audio", base64(pcm_of(36000, 7))}});
    send({{"type", "input_audio_buffer.commit"}});
    send({{"type", "response.create"}});
    std::string written;
    size_t bytes = 0;
    for (const ordered_json& event : until("response.done")) {
      if (event["type"] == "response.output_audio_transcript.delta")
        written += event["delta"].get<std::string>();
      if (event["type"] == "response.output_audio.delta")
        bytes += base64_decoded(event["delta"].get<std::string>())->size();
    }
    EXPECT_FALSE(written.empty());
    EXPECT_GT(bytes, 4800u) << "a tenth of a second";
  }
}

}  // namespace
}  // namespace syrinx
