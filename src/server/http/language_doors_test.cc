// Sends a language under each of its names, through every API, to models that name languages
// differently.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "server/dialects/dialects.h"
#include "server/dialects/text_session.h"
#include "server/dialects/wyoming.h"
#include "server/http/http_server_fixture_test.h"

namespace syrinx {
namespace {

class LanguageDoorsTest : public HttpServerTest {
 protected:
  void post(const std::string& path, const std::string& body) {
    TestClient client(port());
    client.send("POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    client.read();
  }
  /// Sends messages to the dialect of a path, or to Wyoming's for an empty path.
  void converse(const std::string& path, const std::string& query,
                const std::vector<std::string>& messages) {
    ApiError error;
    auto dialect =
        path.empty()
            ? make_wyoming_dialect(std::make_shared<ModelTable>(backend_), nullptr)
            : make_dialect({.path = path, .query = query, .id = "x"}, backend_->info(), error);
    ASSERT_NE(dialect, nullptr) << error.message;
    TextSession session(
        backend_, std::move(dialect), SessionLimits{}, [] {}, now_s());
    for (const std::string& message : messages) session.message(message, false, now_s());
    while (session.next(now_s()) != nullptr) session.written();
  }
  std::string with(std::string text, const std::string& language) {
    return text.replace(text.find('%'), 1, language);
  }
};

constexpr const char* kUnheard = "unheard";  // no request reached the model

TEST_F(LanguageDoorsTest, AllReadItAlike) {
  struct Door {
    const char* name;
    bool refuses;  ///< the API refuses a language that the model lacks; other APIs ignore it
    std::function<void(const std::string& language)> speak;
  };
  const std::vector<Door> doors = {
      {"speech", true,
       [&](const auto& l) {
         post("/v1/audio/speech", with(R"({"input": "a", "language": "%"})", l));
       }},
      {"batch", true,
       [&](const auto& l) {
         post("/v1/audio/speech/batch", with(R"({"items": [{"input": "a"}], "language": "%"})", l));
       }},
      {"ElevenLabs", false,
       [&](const auto& l) {
         post("/v1/text-to-speech/low", with(R"({"text": "a", "language_code": "%"})", l));
       }},
      {"Cartesia", false,
       [&](const auto& l) {
         post("/tts/bytes", with(R"({"transcript": "a", "language": "%", "output_format":
             {"container": "raw", "encoding": "pcm_s16le", "sample_rate": 24000}})",
                                 l));
       }},
      {"sockets", true,
       [&](const auto& l) {
         converse("/v1/audio/speech/stream", "",
                  {with(R"({"type":"session.config","language":"%"})", l),
                   R"({"type":"input.text","text":"a."})", R"({"type":"input.done"})"});
       }},
      {"ElevenLabs' sockets", false,
       [&](const auto& l) {
         converse("/v1/text-to-speech/low/stream-input", "language_code=" + l,
                  {R"({"text":"a."})", R"({"text":""})"});
       }},
      {"Cartesia's sockets", false,
       [&](const auto& l) {
         converse("/tts/websocket", "",
                  {with(R"({"transcript":"a.","context_id":"c","language":"%"})", l)});
       }},
      {"Wyoming", false, [&](const auto& l) {
         converse(
             "", "",
             {with(R"({"type":"synthesize","data":{"text":"a","voice":{"language":"%"}}})", l) +
              "\n"});
       }}};
  const std::vector<std::string> asked = {"",      "auto",    "en",    "EN",     "en-US",
                                          "en_us", "English", "zh-CN", "Klingon"};
  struct {
    std::vector<std::string> known, wanted;
  } const models[] = {
      {{"en"}, {"", "", "en", "en", "en", "en", "en", kUnheard, kUnheard}},
      {{"auto", "chinese", "english"},
       {"", "", "english", "english", "english", "english", "english", "chinese", kUnheard}},
      {{"cmn", "en-gb", "en-us"},
       {"", "", "en-us", "en-us", "en-us", "en-us", "en-us", "cmn", kUnheard}},
      {{"auto"}, {"", "", kUnheard, kUnheard, kUnheard, kUnheard, kUnheard, kUnheard, kUnheard}}};
  for (const auto& model : models) {
    for (size_t i = 0; i < asked.size(); ++i) {
      for (const Door& door : doors) {
        start();
        backend_->mutable_info().speech.languages = model.known;
        backend_->mutable_info().speech.late_text = LateText::kNone;
        door.speak(asked[i]);
        std::string wanted = model.wanted[i];
        if (wanted == kUnheard && !door.refuses) wanted = "";
        const bool heard = backend_->stats().accepted > 0;
        EXPECT_EQ(heard ? backend_->last_request().say.language : kUnheard, wanted)
            << asked[i] << " at " << door.name << " of " << model.known.back();
      }
    }
  }
}

}  // namespace
}  // namespace syrinx
