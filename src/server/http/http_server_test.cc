// The server through a real socket, with a fake engine.
#include "server/http/http_server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "audio/decode_test.h"
#include "audio/wav.h"
#include "server/http/http_server_fixture_test.h"
#include "server/request/wire.h"
#include "tensor/device_health.h"

namespace syrinx {
namespace {

TEST_F(HttpServerTest, StreamsWav) {
  start();
  const TestAnswer answer =
      speak(R"({"input": "0123456789", "seed": 5, "response_format": "wav"})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.whole);
  EXPECT_EQ(answer.header("Content-Type"), "audio/wav");
  EXPECT_EQ(answer.header("X-Sample-Rate"), "24000");
  EXPECT_EQ(answer.header("X-Seed"), "5");
  EXPECT_TRUE(answer.header("x-request-id").starts_with("req_"));
  EXPECT_EQ(answer.body.substr(0, 44), wav_header(24000));
  EXPECT_EQ(answer.body.size(), 44 + 13 * 1920 * 2u);           // 1 s, rounded up to whole chunks
  const std::string reason = answer.header("X-Finish-Reason");  // set if known before the head
  EXPECT_TRUE(reason.empty() || reason == "stop") << reason;
}

TEST_F(HttpServerTest, WholeAnswersDeclareTheirLength) {
  start();
  const auto whole = [&](const std::string& format) {
    return speak(R"({"input": "0123456789", "seed": 5, "stream": false, "response_format": ")" +
                 format + "\"}");
  };
  const TestAnswer wav = whole("wav");
  EXPECT_EQ(wav.status, 200);
  EXPECT_EQ(wav.header("Content-Length"), std::to_string(44 + 13 * 1920 * 2));
  EXPECT_EQ(wav.header("X-Finish-Reason"), "stop");
  EXPECT_EQ(wav.body.substr(0, 44), wav_header(24000, 13 * 1920));
  const std::string streamed =
      speak(R"({"input": "0123456789", "seed": 5, "response_format": "wav"})").body;
  EXPECT_TRUE(wav.body.substr(44) == streamed.substr(44));
  const std::string flac = whole("flac").body;
  EXPECT_EQ(static_cast<uint8_t>(flac[24]) << 8 | static_cast<uint8_t>(flac[25]), 13 * 1920);
  // Without streaming, a fault in the middle of the audio gets an error status.
  const TestAnswer failed = speak(R"({"input": "fail late", "stream": false})");
  EXPECT_EQ(failed.status, 500);
  EXPECT_TRUE(has(failed.body, "internal_error"));
  // A client that has disconnected does not keep its request running.
  TestClient gone(port());
  gone.post(R"({"input": "endless", "stream": false})");
  for (int i = 0; i < 500 && backend_->steps() < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  gone.close();
  EXPECT_TRUE(backend_->wait_idle(5));
}

TEST_F(HttpServerTest, InstructionsAreWarnedAbout) {
  start();
  const std::string body = R"({"input": "hello", "instructions": "softly"})";
  const TestAnswer answer = speak(body);
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(has(answer.header("X-Warning"), "does not follow instructions")) << answer.head;
  EXPECT_TRUE(speak(R"({"input": "hello"})").header("X-Warning").empty());
  start(0, {.strict = true});
  EXPECT_EQ(speak(body).status, 400);
}

TEST_F(HttpServerTest, WarningsOfTheModelAreInTheHeadAndInTheLog) {
  std::vector<std::string> lines;
  std::mutex mutex;
  ServerOptions options;
  options.log = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    lines.push_back(line);
  };
  start(0, std::move(options));
  for (const char* body : {R"({"input": "warn me"})", R"({"input": "warn me", "stream": false})"}) {
    const TestAnswer answer = speak(body);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.header("X-Warning"), "the voice has no sound for U+0263.") << answer.head;
  }
  EXPECT_TRUE(speak(R"({"input": "hello"})").header("X-Warning").empty());
  server_.reset();
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) { return has(line, "warning: the voice"); }),
            2);
}

TEST_F(HttpServerTest, OtherCodings) {
  start();
  const std::string body = R"({"input": "0123456789", "seed": 5, "response_format": "pcm", )";
  const TestAnswer s16 = speak(body + R"("sample_rate": 24000})");
  const TestAnswer f32 = speak(body + R"("encoding": "pcm_f32le"})");
  EXPECT_EQ(f32.body.size(), 2 * s16.body.size());
  EXPECT_TRUE(has(f32.header("Content-Type"), "pcm_f32le"));
  const TestAnswer mulaw = speak(body + R"("encoding": "pcm_mulaw", "sample_rate": 24000})");
  EXPECT_EQ(2 * mulaw.body.size(), s16.body.size());
  EXPECT_EQ(mulaw.header("Content-Type"), "audio/PCMU; rate=24000; channels=1");
}

TEST_F(HttpServerTest, OneHost) {
  start();
  const auto ask = [&](const std::string& line, const std::string& headers) {
    TestClient client(port());
    client.send(line + "\r\n" + headers + "\r\n");
    return client.read().status;
  };
  EXPECT_EQ(ask("GET /live HTTP/1.1", ""), 400);
  EXPECT_EQ(ask("GET /live HTTP/1.1", "Host: a\r\nHost: a\r\n"), 400);
  EXPECT_EQ(ask("GET /live HTTP/1.0", "Host: a\r\nHost: b\r\n"), 400);
  EXPECT_EQ(ask("GET /live HTTP/1.1", "Host: x@evil\r\n"), 400);
  EXPECT_EQ(ask("GET /live HTTP/1.1", "Host: x/y\r\n"), 400);
  EXPECT_EQ(ask("GET /live HTTP/1.1", "Host: a\r\n"), 200);
  EXPECT_EQ(ask("GET /live HTTP/1.1", "Host:\r\n"), 200);
  EXPECT_EQ(ask("GET /live HTTP/1.0", ""), 200);
}

TEST_F(HttpServerTest, StreamsPcmWithTrailers) {
  start();
  const TestAnswer answer =
      speak(R"({"input": "0123456789", "response_format": "pcm"})", "TE: trailers\r\n");
  EXPECT_EQ(answer.header("Content-Type"), "audio/pcm; rate=24000; channels=1");
  EXPECT_EQ(answer.body.size(), 13 * 1920 * 2u);
  EXPECT_EQ(answer.header("X-Finish-Reason"), "stop");
}

TEST_F(HttpServerTest, EveryFormat) {
  start();
  const struct {
    const char* name;
    const char* type;
    std::string magic;
  } formats[] = {{"mp3", "audio/mpeg", "\xFF"},
                 {"opus", "audio/ogg", "OggS"},
                 {"ogg", "audio/ogg", "OggS"},
                 {"aac", "audio/aac", "\xFF"},
                 {"flac", "audio/flac", "fLaC"},
                 {"wav", "audio/wav", "RIFF"},
                 {"m4a", "audio/mp4", std::string(2, '\0')}};
  for (const auto& format : formats) {
    const std::string body =
        R"({"input": "0123456789", "seed": 5, "response_format": ")" + std::string(format.name);
    const TestAnswer answer = speak(body + "\"}");
    EXPECT_TRUE(answer.whole);
    EXPECT_EQ(answer.header("Content-Type"), format.type);
    EXPECT_TRUE(answer.body.starts_with(format.magic)) << format.name;
    const DecodedAudio got = decode_audio(answer.body);
    const double seconds = static_cast<double>(got.samples.size()) / got.rate_hz;
    EXPECT_EQ(answer.header("X-Sample-Rate"), std::to_string(got.rate_hz));
    EXPECT_NEAR(seconds, 13 * 0.08, 0.1) << format.name;
    EXPECT_TRUE(speak(body + "\"}").body == answer.body) << format.name;
  }
  EXPECT_EQ(speak(R"({"input": "hello"})").header("Content-Type"), "audio/mpeg");
}

TEST_F(HttpServerTest, PcmIsAt24kHzUnlessAskedOtherwise) {
  start();
  backend_->mutable_info().speech.sample_rate = 12000;  // so the tones take twice as long
  server_->open(backend_);
  TestAnswer answer = speak(R"({"input": "0123456789", "response_format": "pcm"})");
  EXPECT_EQ(answer.header("Content-Type"), "audio/pcm; rate=24000; channels=1");
  EXPECT_EQ(answer.body.size(), 2 * 13 * 1920 * 2u);
  answer = speak(R"({"input": "0123456789", "response_format": "pcm", "sample_rate": 12000})");
  EXPECT_EQ(answer.header("X-Sample-Rate"), "12000");
  EXPECT_EQ(answer.body.size(), 13 * 1920 * 2u);
}

TEST_F(HttpServerTest, Speed) {
  start();
  const TestAnswer answer =
      speak(R"({"input": "01234567890123456789", "response_format": "pcm", "speed": 2})");
  EXPECT_NEAR(static_cast<double>(answer.body.size()), 25 * 1920, 25 * 1920 * 0.06);
}

TEST_F(HttpServerTest, StreamsEvents) {
  start();
  const TestAnswer answer =
      speak(R"({"input": "0123456789", "stream_format": "sse", "response_format": "wav"})");
  EXPECT_EQ(answer.header("Content-Type"), "text/event-stream");
  EXPECT_TRUE(answer.body.starts_with("data: {\"type\":\"speech.audio.delta\",\"audio\":\"UklGR"));
  EXPECT_TRUE(has(answer.body, "\"output_tokens\":13"));
  const TestAnswer failed = speak(R"({"input": "fail late", "stream_format": "sse"})");
  EXPECT_TRUE(has(failed.body, "\"type\":\"speech.audio.error\""));
  EXPECT_FALSE(has(failed.body, "speech.audio.done"));
  EXPECT_FALSE(has(failed.body, "secret"));
  EXPECT_TRUE(failed.whole);
}

TEST_F(HttpServerTest, ShowsMetrics) {
  start();
  speak(R"({"input": "0123456789"})");
  TestClient client(port());
  client.get("/metrics");
  const TestAnswer answer = client.read();
  EXPECT_EQ(answer.header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_TRUE(has(answer.body, "\nsyrinx_http_requests_total 2\n")) << answer.body;
  EXPECT_TRUE(has(answer.body, "\nsyrinx_requests_accepted_total{model=\""));
}

TEST_F(HttpServerTest, FirstAudioComesBeforeTheEnd) {
  start(0.02);
  TestClient client(port());
  client.post(R"({"input": "endless"})");
  EXPECT_EQ(client.read_head().status, 200);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(client.read_more());
  EXPECT_EQ(backend_->stats().requests, 1);
}

TEST_F(HttpServerTest, FailuresBeforeTheFirstAudioAreProperErrors) {
  start();
  TestAnswer answer = speak(R"({"input": "fail early"})");
  EXPECT_EQ(answer.status, 500);
  EXPECT_TRUE(has(answer.body, "\"code\":\"internal_error\""));
  EXPECT_FALSE(has(answer.body, "secret"));
  answer = speak(R"({"input": "broken"})");
  EXPECT_EQ(answer.status, 500);
  answer = speak(R"({"input": "silent"})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_TRUE(has(answer.body, "\"param\":\"input\""));
  answer = speak(R"({"input": "busy"})");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.header("Retry-After"), "1");
  EXPECT_TRUE(has(answer.body, "server_is_overloaded"));
}

TEST_F(HttpServerTest, LateFailureCutsTheConnection) {
  start();
  TestAnswer answer = speak(R"({"input": "fail late", "response_format": "wav"})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body.size(), 44 + 5 * 1920 * 2u);
  EXPECT_FALSE(answer.whole);
}

TEST_F(HttpServerTest, RequestErrors) {
  start();
  struct Case {
    std::string method, path, type;
    int status;
    std::string code;
  };
  const Case cases[] = {
      {"GET", "/nothing", "", 404, "not_found"},
      {"POST", "/nothing", "application/json", 404, "not_found"},
      {"GET", "/v1/realtime", "", 426, "upgrade_required"},
      {"GET", "/v1/audio/speech/stream", "", 426, "upgrade_required"},
      {"GET", "/v1/audio/speech/realtime", "", 426, "upgrade_required"},
      {"GET", "/v1/text-to-speech/anna/stream-input", "", 426, "upgrade_required"},
      {"GET", "/v1/text-to-speech//stream-input", "", 404, "not_found"},
      {"GET", "/v1/audio/speech", "", 405, "method_not_allowed"},
      {"DELETE", "/v1/models", "", 405, "method_not_allowed"},
      {"POST", "/health", "application/json", 405, "method_not_allowed"},
      {"POST", "/v1/audio/speech", "", 415, "unsupported_media_type"},
      {"POST", "/v1/audio/speech", "text/plain", 415, "unsupported_media_type"},
      {"POST", "/v1/audio/speech", "application/jsonp", 415, "unsupported_media_type"},
      {"POST", "/v1/audio/speech", "Application/JSON; charset=utf-8", 400, "invalid_json"},
  };
  for (const Case& c : cases) {
    TestClient client(port());
    client.send(c.method + " " + c.path + " HTTP/1.1\r\nHost: x\r\nContent-Type: " + c.type +
                "\r\nContent-Length: 2\r\n\r\n{]");
    const TestAnswer answer = client.read();
    EXPECT_EQ(answer.status, c.status) << c.method << " " << c.path;
    EXPECT_TRUE(has(answer.body, "\"code\":\"" + c.code + "\"")) << answer.body;
    EXPECT_EQ(answer.header("Content-Type"), "application/json");
    EXPECT_FALSE(answer.header("X-Request-Id").empty());
  }
}

TEST_F(HttpServerTest, Lists) {
  start();
  EXPECT_TRUE(has(get("/").body, "/v1/audio/speech"));
  EXPECT_TRUE(has(get("/v1/models?limit=5").body, R"("data":[{"id":"fake-1")"));
  EXPECT_TRUE(has(get("/v1/models/fake-1").body, R"({"id":"fake-1","object":"model")"));
  for (const char* alias : {"tts-1", "gpt-4o-mini-tts", "eleven_flash_v2_5", "Org/fake-1"}) {
    EXPECT_TRUE(has(get("/v1/models/" + std::string(alias)).body, R"({"id":"fake-1")")) << alias;
    EXPECT_EQ(get("/v1/audio/voices?model=" + std::string(alias)).status, 200);
  }
  EXPECT_EQ(get("/v1/models/fake-2").status, 404);
  EXPECT_EQ(get("/v1/audio/models").body, "{\"models\":[{\"id\":\"fake-1\"}]}\n");
  EXPECT_TRUE(has(get("/v1/audio/voices").body, R"({"voices":[{"id":"low","name":"low",)"));
  EXPECT_TRUE(has(get("/health").body, R"("engine":{"requests":0)"));
  EXPECT_TRUE(has(get("/health").body, R"("models":[{"id":"fake-1","loaded":true,"engine":{)"));
  EXPECT_EQ(get("/live").status, 200);
  EXPECT_EQ(get("/ready").status, 200);
  TestClient client(port());
  client.send("HEAD /health HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.read_head().status, 200);
  client.get("/live");
  EXPECT_EQ(client.read().status, 200);
}

TEST_F(HttpServerTest, IsNotReadyWithoutItsGpu) {
  start();
  report_lost_device("an illegal address");
  const TestAnswer ready = get("/ready");
  const std::string health = get("/health").body;
  forget_lost_device();
  EXPECT_EQ(ready.status, 503);
  EXPECT_TRUE(has(ready.body, R"("status":"lost")")) << ready.body;
  EXPECT_TRUE(has(health, R"("state":"lost")")) << health;
  EXPECT_EQ(get("/ready").status, 200);
}

TEST_F(HttpServerTest, LoadingServerSaysSo) {
  server_ = std::make_unique<HttpServer>(ServerOptions{.port = 0});
  EXPECT_EQ(get("/health").status, 200);
  EXPECT_EQ(get("/").status, 200);
  EXPECT_EQ(get("/ready").status, 503);
  for (const char* path : {"/v1/models", "/v1/models/finch"})
    EXPECT_EQ(get(path).status, 503) << path;
  TestClient client(port());
  client.send("POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(client.read().status, 503);
  const TestAnswer answer = speak(R"({"input": "hello"})");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.header("Retry-After"), "1");
}

TEST_F(HttpServerTest, KeysAreAskedFor) {
  start(0, {.keys = ApiKeys({"secret"})});
  EXPECT_EQ(get("/health").status, 200);
  for (const char* path : {"/v1/models", "/v1/audio/voices", "/nothing"}) {
    const TestAnswer answer = get(path, "Authorization: Bearer wrong\r\n");
    EXPECT_EQ(answer.status, 401) << path;
    EXPECT_TRUE(has(answer.body, "invalid_api_key"));
  }
  EXPECT_EQ(speak(R"({"input": "a"})").status, 401);
  EXPECT_EQ(get("/v1/models", "Authorization: Bearer secret\r\n").status, 200);
  EXPECT_EQ(speak(R"({"input": "a"})", "Authorization: Bearer secret\r\n").status, 200);
}

TEST_F(HttpServerTest, MetricsMayHaveAKeyOfTheirOwn) {
  start(0, {.keys = ApiKeys({"secret"}), .metrics_keys = ApiKeys({"scrape"})});
  EXPECT_EQ(get("/metrics").status, 401);
  EXPECT_EQ(get("/metrics", "Authorization: Bearer secret\r\n").status, 401);
  EXPECT_EQ(get("/metrics", "Authorization: Bearer scrape\r\n").status, 200);
  EXPECT_EQ(get("/v1/models", "Authorization: Bearer scrape\r\n").status, 401);
  EXPECT_EQ(get("/health").status, 200);
  server_->reload(ApiKeys(), ApiKeys({"other"}));
  EXPECT_EQ(get("/metrics", "Authorization: Bearer scrape\r\n").status, 401);
  EXPECT_EQ(get("/metrics", "Authorization: Bearer other\r\n").status, 200);
  server_->reload(ApiKeys(), ApiKeys());
  EXPECT_EQ(get("/metrics").status, 200);
}

TEST_F(HttpServerTest, Batch) {
  start(0.001);
  TestClient client(port());
  const std::string body =
      R"({"response_format": "wav", "voice": "low", "seed": 4, "items": [
          {"input": "0123456789"}, {"input": "fail late"}, {"input": "a", "voice": "nobody"},
          {"input": "0123456789", "voice": "High", "response_format": "mp3"}, {"input": "busy"}]})";
  const auto post = [&](const std::string& text) {
    client.send(
        "POST /v1/audio/speech/batch HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        "Content-Length: " +
        std::to_string(text.size()) + "\r\n\r\n" + text);
    return client.read();
  };
  const TestAnswer answer = post(body);
  EXPECT_EQ(answer.status, 200);
  const std::string alone =
      speak(R"({"input": "0123456789", "response_format": "wav", "seed": 4, "stream": false})")
          .body;
  EXPECT_TRUE(has(answer.body, R"({"index":0,"status":"success","audio_data":")" + base64(alone)));
  EXPECT_TRUE(has(answer.body, R"({"index":1,"status":"error","error":{"message":"The server)"));
  EXPECT_TRUE(has(answer.body, R"("code":"voice_not_found")"));
  EXPECT_TRUE(has(answer.body, R"("media_type":"audio/mpeg")"));
  EXPECT_TRUE(has(answer.body, R"("total":5,"succeeded":2,"failed":3)"));
  const TestAnswer warned = post(  // the limit of the message lies within a character
      R"({"items": [{"input": "<speak><say-as interpret-as='aéééééééééééééééééééé'>b</say-as></speak>"}]})");
  EXPECT_EQ(warned.status, 200);
  EXPECT_TRUE(has(warned.body, "warnings"));
  EXPECT_EQ(post(R"({"items": []})").status, 400);
  const TestAnswer mixed = post(R"({"items": ["a", {"input": "0"}]})");
  EXPECT_EQ(mixed.status, 200);
  EXPECT_TRUE(has(mixed.body, "The item must be a JSON object."));
  EXPECT_TRUE(has(mixed.body, R"("total":2,"succeeded":1,"failed":1)"));
  EXPECT_EQ(post(R"({"input": "a"})").status, 400);
  std::string many = R"({"items": [{"input": "a"})";
  for (int i = 0; i < 32; ++i) many += R"(, {"input": "a"})";
  EXPECT_EQ(post(many + "]}").status, 400);
  EXPECT_TRUE(has(post(R"({"model": "gpt-99", "items": [{"input": "a"}]})").body,
                  R"("code":"model_not_found")"));
}

TEST_F(HttpServerTest, SeveralModels) {
  start();
  const auto source = [](const std::string& name) {
    return ModelSource{name, [name] {
                         auto backend = std::make_shared<FakeBackend>();
                         backend->mutable_info().model = name;
                         backend->mutable_info().speech.voices = {{"voice of " + name, ""}};
                         return backend;
                       }};
  };
  server_->open(
      std::make_shared<ModelTable>(std::vector{source("one"), source("two")}, ModelTableOptions{}));
  const auto two = R"({"input": "hello", "model": "two", "voice": "voice of two"})";
  EXPECT_TRUE(has(get("/v1/models").body, R"("id":"two","object":"model","created":0,)"));
  EXPECT_TRUE(has(get("/v1/models/two").body, R"("loaded":false)"));
  EXPECT_EQ(speak(two).status, 200);
  EXPECT_TRUE(has(get("/v1/models/two").body, R"("loaded":true)"));
  EXPECT_EQ(speak(R"({"input": "hello", "model": "one", "voice": "voice of one"})").status, 200);
  EXPECT_EQ(speak(R"({"input": "hello", "voice": "voice of two"})").status, 400);
  EXPECT_EQ(speak(R"({"input": "hello", "model": "three"})").status, 404);
  EXPECT_TRUE(has(get("/v1/audio/voices").body, "voice of one"));
  EXPECT_TRUE(has(get("/v1/audio/voices?limit=5&model=t%77o").body, "voice of two"));
  EXPECT_EQ(get("/v1/audio/voices?model=three").status, 404);
  server_->reload(ApiKeys(), ApiKeys());
  EXPECT_EQ(speak(two).status, 200);
}

TEST_F(HttpServerTest, SaysWhyAModelCannotBeLoaded) {
  start();
  const auto good = [] { return std::make_shared<FakeBackend>(); };
  const auto broken = []() -> std::shared_ptr<Backend> { throw LoadError("b.json: no 'layers'"); };
  server_->open(std::make_shared<ModelTable>(
      std::vector<ModelSource>{{"one", good}, {"two", broken}, {"three", broken, "no folder"}},
      ModelTableOptions{}));
  EXPECT_FALSE(has(get("/v1/models").body, R"("id":"three")"));
  EXPECT_FALSE(has(get("/v1/audio/models").body, R"("id":"three")"));
  EXPECT_TRUE(has(get("/v1/models").body, R"("id":"two")"));
  EXPECT_TRUE(has(get("/v1/models/three").body,
                  R"("loaded":false,"trouble":"The model cannot be loaded: no folder.")"));
  for (int i = 0; i < 2; ++i) {
    const TestAnswer answer = speak(R"({"input": "hello", "model": "two"})");
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.header("Retry-After"), "");
    EXPECT_TRUE(has(answer.body, "The model cannot be loaded: b.json: no 'layers'."));
    EXPECT_TRUE(has(answer.body, R"("code":"model_unavailable")"));
  }
  EXPECT_FALSE(has(get("/v1/models").body, R"("id":"two")"));
  EXPECT_TRUE(has(get("/health").body,
                  R"({"id":"two","loaded":false,"trouble":"The model cannot be loaded: b.json)"));
}

TEST_F(HttpServerTest, VoicesCannotBeAddedOrTaken) {
  start();
  const auto ask = [&](const std::string& line) {
    TestClient client(port());
    client.send(line + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    return client.read();
  };
  EXPECT_EQ(ask("POST /v1/audio/voices").status, 400);
  EXPECT_TRUE(has(ask("POST /v1/audio/voice_consents").body, "clone a voice"));
  EXPECT_EQ(ask("DELETE /v1/audio/voices/low").status, 403);
  EXPECT_EQ(ask("DELETE /v1/audio/voices/l%6Fw").status, 403);
  EXPECT_EQ(ask("DELETE /v1/audio/voices/nobody").status, 404);
  EXPECT_EQ(ask("PUT /v1/audio/voices/low").status, 405);
  EXPECT_EQ(ask("PUT /v1/audio/voices").status, 405);
}

TEST_F(HttpServerTest, Browsers) {
  start(0, {.access = {.hosts = {"here"}, .origins = {"https://app.example"}}});
  const auto ask = [&](const std::string& line, const std::string& headers) {
    TestClient client(port());
    client.send(line + " HTTP/1.1\r\n" + headers +
                "Content-Type: application/json\r\nContent-Length: 18\r\n\r\n"
                "{\"input\": \"hello\"}");
    return client.read();
  };
  const std::string speech = "POST /v1/audio/speech";
  EXPECT_EQ(ask(speech, "Host: here:80\r\n").status, 200);
  EXPECT_EQ(ask(speech, "Host: elsewhere\r\n").status, 403);
  EXPECT_EQ(ask("GET /health", "Host: elsewhere\r\n").status, 403);
  EXPECT_EQ(ask(speech, "Host: here\r\nOrigin: https://evil.example\r\n").status, 403);
  const TestAnswer answer = ask(speech, "Host: here\r\nOrigin: https://app.example\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("Access-Control-Allow-Origin"), "https://app.example");
  const std::string ask_first = "Host: here\r\nOrigin: https://app.example\r\n";
  EXPECT_EQ(ask("OPTIONS /v1/audio/speech", ask_first).status, 204);
  EXPECT_EQ(ask("OPTIONS /v1/audio/speech", "Host: here\r\n").status, 405);
  EXPECT_TRUE(ask("GET /live", "Host: here\r\nOrigin: https://evil.example\r\n")
                  .header("Access-Control-Allow-Origin")
                  .empty());
}

TEST_F(HttpServerTest, LogsNoTexts) {
  std::string lines;
  ServerOptions options;
  options.log = [&lines](const std::string& line) { lines += line + "\n"; };
  start(0, options);
  speak(R"({"input": "hush hush", "voice": "low"})");
  speak(R"({"input": "hush", "voice": "hush"})");
  speak(R"({"input": hush)");
  get("/hush");
  server_.reset();
  EXPECT_TRUE(has(lines, "speech 200 stop"));
  EXPECT_TRUE(has(lines, "voice_not_found"));
  EXPECT_FALSE(has(lines, "hush"));
}

TEST(HttpServerListen, BadAddresses) {
  EXPECT_TRUE(is_loopback("127.0.0.1"));
  EXPECT_TRUE(is_loopback("localhost"));
  EXPECT_TRUE(is_loopback("::1"));
  EXPECT_FALSE(is_loopback("0.0.0.0"));
  EXPECT_THROW(is_loopback("example.org"), LoadError);
  const HttpServer first({.port = 0});
  EXPECT_THROW(HttpServer({.port = first.port()}), LoadError);
}

}  // namespace
}  // namespace syrinx
