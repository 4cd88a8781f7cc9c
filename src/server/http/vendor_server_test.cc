// Requests and answers in the form of other vendors' clients.
#include <gtest/gtest.h>

#include <string>

#include "audio/decode_test.h"
#include "server/http/http_server_fixture_test.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

TEST_F(HttpServerTest, VendorsVoices) {
  VoiceDeskOptions desk;
  desk.aliases = {{"21m00Tcm4TlvDq8ikWAM", "High"}};
  start(0, {.voices = std::make_shared<VoiceDesk>(nullptr, desk)});
  EXPECT_TRUE(has(get("/v1/voices").body, R"({"voices":[{"voice_id":"low","name":"low")"));
  const std::string first = get("/v2/voices?page_size=1").body;
  EXPECT_TRUE(has(first, R"("has_more":true,"total_count":3,"next_page_token":"1")")) << first;
  EXPECT_TRUE(has(get("/v2/voices?page_size=1&next_page_token=2").body, "\"has_more\":false"));
  EXPECT_TRUE(has(get("/v2/voices?search=hIG").body, "\"total_count\":2"));
  EXPECT_TRUE(has(get("/v1/voices/21m00Tcm4TlvDq8ikWAM").body, R"("name":"High")"));
  EXPECT_EQ(get("/v1/voices/nobody").status, 404);
  EXPECT_TRUE(has(get("/voices?limit=2").body, R"({"data":[{"id":"low",)"));
  EXPECT_TRUE(has(get("/voices?starting_after=low&limit=1").body, R"("data":[{"id":"High",)"));
  EXPECT_TRUE(has(get("/voices?starting_after=21m00Tcm4TlvDq8ikWAM").body, R"({"data":[])"));
  EXPECT_TRUE(has(get("/voices?ending_before=High").body, R"("data":[{"id":"low",)"));
  EXPECT_TRUE(has(get("/voices/High").body, R"("is_owner":false)"));
  EXPECT_EQ(get("/voices/High/x").status, 404);
  EXPECT_TRUE(has(get("/v1/audio/voices?legacy=true").body, R"({"voices":["low","High"]})"));
  speak(R"({"input": "hello", "voice": "21m00Tcm4TlvDq8ikWAM"})");
  EXPECT_EQ(backend_->last_request().voice.name, "High");
}

TEST_F(HttpServerTest, VendorsModels) {
  start();
  backend_->mutable_info().speech.languages = {"auto", "english"};
  const TestAnswer theirs = get("/v1/models", "xi-api-key: x\r\n");
  EXPECT_EQ(theirs.status, 200);
  EXPECT_TRUE(theirs.body.starts_with(R"([{"model_id":")")) << theirs.body;
  EXPECT_TRUE(has(theirs.body, R"("languages":[{"language_id":"en","name":"english"}])"));
  EXPECT_TRUE(get("/v1/models").body.starts_with(R"({"object":"list")"));
}

TEST_F(HttpServerTest, VendorsEvents) {
  start();
  backend_->mutable_info().speech.word_times = true;
  backend_->mutable_info().speech.frame_rate = 10;
  const auto post = [&](const std::string& path, const std::string& body) {
    TestClient client(port());
    client.send("POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.read();
  };
  const std::string cartesia =
      R"({"model_id": "sonic-3", "transcript": "ab cd", "context_id": "c", "add_timestamps": true,
          "output_format": {"container": "raw", "encoding": "pcm_mulaw", "sample_rate": 24000}})";
  TestAnswer answer = post("/tts/sse", cartesia);
  EXPECT_EQ(answer.header("Content-Type"), "text/event-stream");
  EXPECT_TRUE(answer.whole);
  EXPECT_TRUE(has(answer.body, R"(event: chunk
data: {"type":"chunk","status_code":206,"done":false,"context_id":"c","data":")"));
  // The word has an event of its own or, on a slow connection, shares that of the word before.
  EXPECT_TRUE(has(answer.body, R"("cd"],"start":[)") && has(answer.body, R"(0.3],"end":[)"))
      << answer.body;
  EXPECT_TRUE(
      answer.body.ends_with(R"({"type":"done","status_code":200,"done":true,"context_id":"c"})"
                            "\n\n"));
  answer = post("/tts/sse", R"({"transcript": "fail late", "output_format": {"container": "raw",
                                "encoding": "pcm_s16le", "sample_rate": 24000}})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(has(answer.body, "event: error\ndata: {\"type\":\"error\",\"status_code\":500"));

  answer = post("/tts/bytes", R"({"transcript": "", "output_format": {"container": "mp3"}})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_TRUE(has(answer.body, R"("message":"'transcript' must be the text to speak.")"))
      << answer.body;
  EXPECT_TRUE(has(answer.body, R"("param":"transcript")"));

  answer = post("/dev/captioned_speech",
                R"({"input": "ab c", "voice": "low", "response_format": "wav", "stream": false})");
  EXPECT_EQ(answer.header("Content-Type"), "application/json");
  EXPECT_TRUE(answer.body.starts_with(R"({"audio":"UklGR)")) << answer.body;
  EXPECT_TRUE(has(answer.body, R"("audio_format":"audio/wav","timestamps":[{"word":"ab",)"))
      << answer.body;
  answer = post("/dev/captioned_speech", R"({"input": "ab c", "response_format": "pcm"})");
  EXPECT_TRUE(answer.whole);
  EXPECT_EQ(answer.header("Content-Type"), "application/x-ndjson");
  EXPECT_TRUE(has(answer.body, R"({"word":"c","start_time":)")) << answer.body;
  EXPECT_TRUE(answer.body.ends_with("]}\n"));
  answer = post("/dev/captioned_speech",
                R"({"input": "ab c", "response_format": "pcm", "return_timestamps": false})");
  EXPECT_FALSE(has(answer.body, "\"word\"")) << answer.body;

  const std::string eleven = R"({"text": "ab c"})";
  answer = post("/v1/text-to-speech/low/with-timestamps?output_format=wav_24000", eleven);
  EXPECT_EQ(answer.header("Content-Type"), "application/json");
  EXPECT_FALSE(answer.header("Content-Length").empty());
  EXPECT_TRUE(answer.body.starts_with(R"({"audio_base64":"UklGR)"));
  EXPECT_TRUE(
      has(answer.body, R"("characters":["a","b"," ","c"],"character_start_times_seconds":[0.0,)"))
      << answer.body;
  answer = post("/v1/text-to-speech/low/stream/with-timestamps?output_format=pcm_24000", eleven);
  EXPECT_TRUE(answer.whole);
  EXPECT_EQ(answer.header("Content-Type"), "application/x-ndjson") << "one object per line";
  // On a slow connection, one event has both the letter and the blank before it.
  EXPECT_TRUE(has(answer.body, R"("c"],"character_start_times_seconds")")) << answer.body;
  EXPECT_TRUE(answer.body.ends_with("}\n"));
  EXPECT_EQ(post("/v1/text-to-speech/low/with-timestamps", R"({"text": "fail late"})").status, 500);
}

}  // namespace
}  // namespace syrinx
