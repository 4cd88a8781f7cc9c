// Clients' voices through a real socket: sent with a request, stored, named, deleted.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "audio/recording.h"
#include "io/test_dir.h"
#include "server/http/http_server.h"
#include "server/http/test_client_test.h"
#include "server/http/ws_client_test.h"
#include "server/models/fake_backend_test.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

using nlohmann::json;

std::string recording(double seconds = 1, double pitch = 0.05) {
  std::vector<float> samples;
  for (int i = 0; i < static_cast<int>(16000 * seconds); ++i) {
    samples.push_back(static_cast<float>(0.3 * std::sin(pitch * i)));
  }
  return recording_wav(samples, 16000);
}

class VoiceServerTest : public testing::Test {
 protected:
  void SetUp() override { start({}); }
  void start(ServerOptions options, bool clones = true) {
    server_.reset();
    options.port = 0;
    VoiceDeskOptions desk;
    desk.recordings.helper = options.decoder = &decoder_;
    options.voices =
        std::make_shared<VoiceDesk>(std::make_shared<VoiceStore>(dir_.path("store")), desk);
    backend_ = std::make_shared<FakeBackend>();
    if (clones) backend_->clone();
    server_ = std::make_unique<HttpServer>(std::move(options));
    server_->open(backend_);
  }
  json ask(const std::string& method, const std::string& path, int* status = nullptr) {
    TestClient client(server_->port());
    client.send(method + " " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    return parse(client.read(), status);
  }
  json upload(const std::vector<std::pair<std::string, std::string>>& fields, int* status = nullptr,
              const std::string& path = "/v1/audio/voices") {
    std::string body;
    for (const auto& [name, value] : fields) {
      body +=
          "--xyz\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n";
    }
    body += "--xyz--\r\n";
    TestClient client(server_->port());
    client.send("POST " + path +
                " HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=xyz\r\n"
                "Content-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
    return parse(client.read(), status);
  }
  TestAnswer speak(json body) {
    body["input"] = "hello";
    body["response_format"] = "wav";
    TestClient client(server_->port());
    client.post(body.dump());
    return client.read();
  }
  std::string fault(const json& body) {
    const TestAnswer answer = speak(body);
    if (answer.status == 200) return "200";
    const json error = json::parse(answer.body)["error"];
    return std::to_string(answer.status) + " " + error.value("param", json()).dump() + " " +
           error.value("message", "");
  }
  static json parse(const TestAnswer& answer, int* status) {
    if (status != nullptr) *status = answer.status;
    return json::parse(answer.body, nullptr, false);
  }
  static bool part_of(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  const DecodeHelper decoder_;  // first member: its constructor forks
  TestDir dir_;
  std::shared_ptr<FakeBackend> backend_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(VoiceServerTest, SentAlongEncodedOnce) {
  const std::string audio = base64(recording());
  const json plain = {{"ref_audio", audio}};
  EXPECT_EQ(speak(plain).status, 200);
  const auto voice = backend_->last_request().voice.data;
  ASSERT_TRUE(voice);
  EXPECT_EQ(voice->mode, "x-vector");  // the best mode without a transcript
  EXPECT_EQ(speak({{"ref_audio", "data:audio/wav;base64," + audio}}).status, 200);
  EXPECT_EQ(backend_->last_request().voice.data, voice);  // the object in the cache
  EXPECT_EQ(backend_->encoded(), 1);
  EXPECT_EQ(speak({{"ref_audio", {audio}}, {"ref_text", "Hi."}, {"voice", "nobody"}}).status, 200);
  EXPECT_EQ(backend_->last_request().voice.data->mode, "in-context");
  EXPECT_EQ(speak({{"references", {{{"audio_path", audio}, {"text", "Hi."}}}}}).status, 200);
  EXPECT_EQ(backend_->encoded(), 2);
  EXPECT_EQ(speak({{"ref_audio", audio}, {"ref_text", "Hi."}, {"x_vector_only_mode", true}}).status,
            200);
  EXPECT_EQ(backend_->last_request().voice.data->mode, "x-vector");
  EXPECT_EQ(backend_->encoded(), 3);
  EXPECT_EQ(speak({{"speaker_embedding", {1, 2, 3, 0.5}}}).status, 200);
  EXPECT_EQ(backend_->last_request().voice.data->find("speaker")->f32()[3], 0.5f);
}

TEST_F(VoiceServerTest, ManyWantTheSameAtOnce) {
  const json body = {{"ref_audio", base64(recording(5))}};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(speak(body).status, 200); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(backend_->encoded(), 1);
  EXPECT_EQ(decoder_.begun(), 1);
}

TEST_F(VoiceServerTest, AnUploadIsDecodedOnce) {
  int status = 0;
  upload({{"name", "anna"}, {"audio_sample", recording()}}, &status);
  EXPECT_EQ(status, 200);
  EXPECT_EQ(decoder_.begun(), 1);
  EXPECT_EQ(speak({{"voice", "anna"}}).status, 200);
  EXPECT_EQ(decoder_.begun(), 1);
  const json bad = upload({{"name", "ben"}, {"audio_sample", "noise"}}, &status);
  EXPECT_EQ(status, 400);
  EXPECT_EQ(bad["error"]["param"], "audio_sample");
  EXPECT_EQ(decoder_.begun(), 2);
}

TEST_F(VoiceServerTest, ABrokenDecoderFailsItsRequestAlone) {
  const DecodeHelper broken({.instead = [](int) { __builtin_trap(); }});
  VoiceDeskOptions desk;
  desk.recordings.helper = &broken;
  ServerOptions options{.port = 0, .decoder = &broken};
  options.voices =
      std::make_shared<VoiceDesk>(std::make_shared<VoiceStore>(dir_.path("store")), desk);
  HttpServer server(std::move(options));
  server.open(backend_);
  for (int i = 0; i < 2; ++i) {
    TestClient client(server.port());
    client.post(json({{"input", "a"}, {"ref_audio", base64(recording())}}).dump());
    const TestAnswer answer = client.read();
    EXPECT_EQ(answer.status, 400);
    EXPECT_TRUE(part_of(answer.body, "the recording crashed its decoder")) << answer.body;
  }
  TestClient client(server.port());
  client.post(R"({"input": "a", "response_format": "wav"})");
  EXPECT_EQ(client.read().status, 200);
}

TEST_F(VoiceServerTest, RefusalsAreClear) {
  const std::string audio = base64(recording());
  EXPECT_TRUE(part_of(fault({{"ref_audio", "https://example.org/a.wav"}}), "neither files nor"));
  EXPECT_TRUE(part_of(fault({{"ref_audio", "file:///etc/passwd"}}), "neither files nor"));
  EXPECT_TRUE(part_of(fault({{"ref_audio", "/etc/passwd"}}), "neither files nor"));
  EXPECT_TRUE(
      part_of(fault({{"references", {{{"audio_path", "/tmp/a.wav"}}}}}), "neither files nor"));
  EXPECT_TRUE(part_of(fault({{"ref_audio", {audio, audio}}}), "must have one recording"));
  EXPECT_TRUE(
      part_of(fault({{"ref_audio", base64(std::string(500, 'x'))}}), "unsupported audio format"));
  EXPECT_TRUE(part_of(fault({{"ref_audio", base64(recording(0.4))}}), "needs 0.5 s to 10 s"));
  EXPECT_TRUE(part_of(fault({{"ref_audio", base64(recording(11))}}), "needs 0.5 s to 10 s"));
  EXPECT_TRUE(part_of(fault({{"ref_audio", audio}, {"ref_mode", "in-context"}}), "\"ref_text\""));
  EXPECT_TRUE(part_of(fault({{"ref_audio", audio}, {"ref_mode", "magic"}}), "\"ref_mode\""));
  EXPECT_TRUE(part_of(fault({{"ref_text", "Hi."}}), "needs the recording"));
  EXPECT_TRUE(part_of(fault({{"speaker_embedding", {1, 2}}}), "has 4 values"));
  EXPECT_TRUE(part_of(fault({{"speaker_embedding", {1, "x"}}}), "numbers"));
  EXPECT_TRUE(part_of(fault({{"voice", "nobody"}}), "voice_not_found") ||
              part_of(fault({{"voice", "nobody"}}), "There is no voice 'nobody'"));
  backend_->refuse_voices(true);
  TestClient client(server_->port());
  client.post(json({{"input", "a"}, {"ref_audio", audio}}).dump());
  const TestAnswer busy = client.read();
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(busy.header("Retry-After"), "7");
}

TEST_F(VoiceServerTest, KeptListedSpokenWithDeleted) {
  int status = 0;
  const json added = upload({{"name", "Anna Bell"},
                             {"audio_sample", recording()},
                             {"ref_text", "Hello."},
                             {"consent", "by mail"},
                             {"speaker_description", "warm"}},
                            &status);
  ASSERT_EQ(status, 200) << added;
  EXPECT_EQ(added["id"], "anna-bell");
  EXPECT_EQ(added["object"], "audio.voice");
  EXPECT_EQ(added["voice"]["name"], "Anna Bell");
  EXPECT_EQ(backend_->encoded(), 1);
  const json list = ask("GET", "/v1/audio/voices");
  EXPECT_EQ(list["voices"].back()["id"], "anna-bell");
  EXPECT_EQ(list["voices"].back()["name"], "Anna Bell");
  const json kept = list["uploaded_voices"].at(0);
  for (const char* field : {"name", "consent", "created_at", "file_size", "mime_type"}) {
    EXPECT_TRUE(kept.contains(field)) << field;
  }
  EXPECT_EQ(kept["ref_text"], "Hello.");
  EXPECT_EQ(kept["file_size"], recording().size());
  for (const json& voice : {json("anna-bell"), json("Anna Bell"), json({{"id", "anna-bell"}})}) {
    EXPECT_EQ(speak({{"voice", voice}}).status, 200);
    ASSERT_TRUE(backend_->last_request().voice.data);
    EXPECT_EQ(backend_->last_request().voice.data->text, "Hello.");
  }
  EXPECT_EQ(speak({{"voice", "anna-bell(2)+low"}}).status, 200);
  ASSERT_EQ(backend_->last_request().voice.mix.size(), 2u);
  EXPECT_TRUE(backend_->last_request().voice.mix[0].data);
  EXPECT_EQ(backend_->last_request().voice.mix[1].voice, "low");
  EXPECT_EQ(backend_->encoded(), 1);
  // After a restart the stored voice is used without encoding it again.
  start({});
  EXPECT_EQ(speak({{"voice", "anna-bell"}}).status, 200);
  EXPECT_EQ(backend_->encoded(), 0);
  upload({{"name", "anna bell"}, {"audio_sample", recording()}}, &status);
  EXPECT_EQ(status, 409);
  upload({{"name", "anna bell"}, {"audio_sample", recording(2)}, {"replace", "true"}}, &status);
  EXPECT_EQ(status, 200);
  EXPECT_EQ(ask("DELETE", "/v1/audio/voices/Anna%20Bell", &status)["deleted"], true);
  EXPECT_EQ(status, 200);
  ask("DELETE", "/v1/audio/voices/anna-bell", &status);
  EXPECT_EQ(status, 404);
  EXPECT_TRUE(part_of(fault({{"voice", "anna-bell"}}), "There is no voice"));
}

TEST_F(VoiceServerTest, ServersShareADirectory) {
  const auto first = backend_;
  auto first_server = std::move(server_);
  start({});  // a second server, started before any voice is stored
  int status = 0;
  std::swap(server_, first_server);
  upload({{"name", "anna"}, {"audio_sample", recording()}, {"ref_text", "Hello."}}, &status);
  EXPECT_EQ(status, 200);
  EXPECT_EQ(first->encoded(), 1);
  std::swap(server_, first_server);
  EXPECT_EQ(ask("GET", "/v1/audio/voices")["voices"].back()["id"], "anna");
  EXPECT_EQ(speak({{"voice", "anna"}}).status, 200);
  EXPECT_EQ(backend_->last_request().voice.data->text, "Hello.");
  EXPECT_EQ(backend_->encoded(), 0) << "what the first one made of it is shared too";
  upload({{"name", "anna"},
          {"audio_sample", recording(2)},
          {"replace", "true"},
          {"ref_text", "Again."}},
         &status);
  EXPECT_EQ(status, 200);
  std::swap(server_, first_server);
  EXPECT_EQ(speak({{"voice", "anna"}}).status, 200);
  EXPECT_EQ(first->last_request().voice.data->text, "Again.");
  ask("DELETE", "/v1/audio/voices/anna", &status);
  EXPECT_EQ(status, 200);
  std::swap(server_, first_server);
  EXPECT_TRUE(part_of(fault({{"voice", "anna"}}), "There is no voice"));
  server_.reset();  // destroyed before the backends
  first_server.reset();
}

TEST_F(VoiceServerTest, UploadsAreTrimmedWhereThatIsAskedFor) {
  std::vector<float> samples(16000, 0.f);  // a second of silence, one of sound, one of silence
  for (int i = 0; i < 16000; ++i) samples.push_back(static_cast<float>(0.3 * std::sin(0.05 * i)));
  samples.resize(48000, 0.f);
  const std::string audio = recording_wav(samples, 16000);
  int status = 0;
  EXPECT_EQ(upload({{"name", "whole"}, {"audio_sample", audio}})["voice"]["seconds"], 3.0);
  EXPECT_EQ(
      upload(
          {{"name", "false"}, {"audio_sample", audio}, {"ref_trim", "false"}})["voice"]["seconds"],
      3.0);
  const json cut =
      upload({{"name", "cut"}, {"audio_sample", audio}, {"ref_trim", "true"}}, &status);
  ASSERT_EQ(status, 200) << cut;
  EXPECT_NEAR(cut["voice"]["seconds"].get<double>(), 1.3, 0.1);
  // The stored voice contains the encoded data: speech with it encodes nothing again.
  const int encoded = backend_->encoded();
  EXPECT_EQ(speak({{"voice", "cut"}}).status, 200);
  EXPECT_EQ(backend_->encoded(), encoded);
  upload({{"name", "odd"}, {"audio_sample", audio}, {"ref_trim", "yes"}}, &status);
  EXPECT_EQ(status, 400);
}

TEST_F(VoiceServerTest, WebSocketsKnowKeptVoices) {
  ASSERT_EQ(upload({{"name", "anna"}, {"audio_sample", recording()}})["id"], "anna");
  start({});  // starts with an empty cache
  const auto spoken_with = [&](WsClient& client, const std::vector<std::string>& messages,
                               const std::string& end) {
    EXPECT_EQ(client.status(), 101);
    for (const std::string& message : messages) client.send_text(message);
    size_t audio = 0;
    for (int i = 0; i < 100; ++i) {
      const std::string text = client.read_text(&audio);
      if (part_of(text, end)) break;
      if (text.empty()) ADD_FAILURE() << "no " << end;
      if (text.empty()) break;
    }
    EXPECT_GT(audio, 0u);
    const auto voice = backend_->last_request().voice.data;
    return voice ? voice->mode : "";
  };
  WsClient native(server_->port(), "/v1/audio/speech/stream");
  EXPECT_EQ(
      spoken_with(native,
                  {R"({"type": "session.config", "voice": "Anna"})",
                   R"({"type": "input.text", "text": "Hello."})", R"({"type": "input.done"})"},
                  "session.done"),
      "x-vector");
  WsClient deepgram(server_->port(), "/v1/speak?model=anna");
  EXPECT_EQ(
      spoken_with(deepgram, {R"({"type": "Speak", "text": "Hello."})", R"({"type": "Flush"})"},
                  "Flushed"),
      "x-vector");
  EXPECT_EQ(WsClient(server_->port(), "/v1/speak?model=nobody").status(), 400);
  // A voice that cannot be fetched ends its context with an error.
  start({});
  backend_->refuse_voices(true);
  ASSERT_TRUE(VoiceStore(dir_.path("store"))
                  .add({.name = "ben"}, read_recording(recording(2)).take())
                  .ok());
  WsClient failing(server_->port(), "/v1/audio/speech/stream");
  failing.send_text(R"({"type": "session.config", "voice": "ben"})");
  failing.send_text(R"({"type": "input.text", "text": "Hello. And more."})");
  failing.send_text(R"({"type": "input.done"})");
  std::string all;
  for (int i = 0; i < 5 && !part_of(all, "many recordings are waiting"); ++i)
    all += failing.read_text();
  EXPECT_TRUE(part_of(all, "many recordings are waiting")) << all;
}

TEST_F(VoiceServerTest, UploadsAreChecked) {
  const std::string audio = recording();
  const auto refused = [&](const std::vector<std::pair<std::string, std::string>>& fields) {
    int status = 0;
    const json answer = upload(fields, &status);
    EXPECT_GE(status, 400);
    EXPECT_LT(status, 500);
    return std::to_string(status) + " " + answer["error"].value("param", json()).dump();
  };
  EXPECT_EQ(refused({{"audio_sample", audio}}), "400 \"name\"");
  EXPECT_EQ(refused({{"name", "a+b"}, {"audio_sample", audio}}), "400 \"name\"");
  EXPECT_EQ(refused({{"name", "Low"}, {"audio_sample", audio}}), "409 \"name\"");
  EXPECT_EQ(refused({{"name", "anna"}}), "400 \"audio_sample\"");
  EXPECT_EQ(refused({{"name", "anna"}, {"audio_sample", "nonsense"}}), "400 \"audio_sample\"");
  EXPECT_EQ(refused({{"name", "anna"}, {"audio_sample", audio}, {"consent", "cons_12"}}),
            "400 \"consent\"");
  EXPECT_EQ(refused({{"name", "anna"}, {"audio_sample", audio}, {"model", "other"}}),
            "404 \"model\"");
  EXPECT_EQ(refused({{"name", "anna"}, {"speaker_embedding", "[1, 2"}}),
            "400 \"speaker_embedding\"");
  int status = 0;
  upload({{"name", "given"}, {"speaker_embedding", "[1, 2, 3, 4]"}}, &status);
  EXPECT_EQ(status, 200);
  EXPECT_EQ(speak({{"voice", "given"}}).status, 200);
  EXPECT_EQ(backend_->encoded(), 0);
  EXPECT_EQ(ask("GET", "/v1/audio/voices")["uploaded_voices"].size(), 1u);
}

TEST_F(VoiceServerTest, Consents) {
  int status = 0;
  const json consent = upload({{"name", "Anna"}, {"language", "en-US"}, {"recording", recording()}},
                              &status, "/v1/audio/voice_consents");
  ASSERT_EQ(status, 200) << consent;
  const std::string id = consent["id"];
  EXPECT_EQ(consent["object"], "audio.voice_consent");
  EXPECT_EQ(ask("GET", "/v1/audio/voice_consents")["data"].size(), 1u);
  EXPECT_EQ(ask("GET", "/v1/audio/voice_consents/" + id)["name"], "Anna");
  upload({{"name", "anna"}, {"audio_sample", recording()}, {"consent", id}}, &status);
  EXPECT_EQ(status, 200);
  EXPECT_EQ(ask("DELETE", "/v1/audio/voice_consents/" + id, &status)["deleted"], true);
  ask("GET", "/v1/audio/voice_consents/" + id, &status);
  EXPECT_EQ(status, 404);
  upload({{"name", "Anna"}}, &status, "/v1/audio/voice_consents");
  EXPECT_EQ(status, 400);
}

TEST_F(VoiceServerTest, AClientThatGoesEndsItsEncoding) {
  {
    TestClient client(server_->port());
    client.post(
        json({{"input", "a"}, {"ref_audio", base64(recording())}, {"ref_text", "slow"}}).dump());
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  for (int i = 0; i < 500 && backend_->cancelled() == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(backend_->cancelled(), 1);
  EXPECT_EQ(speak({{"voice", "low"}}).status, 200);
}

TEST_F(VoiceServerTest, AServerThatStopsEndsEncodings) {
  auto client = std::make_unique<TestClient>(server_->port());
  client->post(
      json({{"input", "a"}, {"ref_audio", base64(recording())}, {"ref_text", "slow"}}).dump());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  server_.reset();
  EXPECT_EQ(backend_->cancelled(), 1);
}

TEST_F(VoiceServerTest, LargeBodiesAreFewAndBounded) {
  const std::string large(size_t{2} << 20, ' ');
  const auto post = [&](const std::string& path, const std::string& type, size_t bytes) {
    auto client = std::make_unique<TestClient>(server_->port());
    client->send("POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: " + type +
                 "\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n");
    return client;
  };
  start({.max_upload_bytes = size_t{4} << 20, .max_uploads = 1});
  EXPECT_EQ(post("/v1/audio/speech/batch", "application/json", large.size())->read().status, 413);
  EXPECT_EQ(post("/v1/audio/speech", "application/json", size_t{5} << 20)->read().status, 413);
  {
    const auto first = post("/v1/audio/speech", "application/json", large.size());
    first->send(large.substr(0, 1000));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_EQ(post("/v1/audio/speech", "application/json", large.size())->read().status, 503);
  }
  for (int i = 0; i < 100; ++i) {  // an upload is admitted once the first one has ended
    const auto next = post("/v1/audio/speech", "application/json", large.size());
    next->send(large);
    const int status = next->read().status;
    if (status == 400) return;  // status 400: the body is not JSON
    EXPECT_EQ(status, 503);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  FAIL() << "the place was never given back";
}

TEST_F(VoiceServerTest, ModelsThatCannotClone) {
  ASSERT_TRUE(VoiceStore(dir_.path("store"))
                  .add({.name = "anna"}, read_recording(recording()).take())
                  .ok());
  start({}, false);
  int status = 0;
  EXPECT_TRUE(part_of(fault({{"ref_audio", base64(recording())}}), "cannot clone a voice"));
  EXPECT_TRUE(part_of(fault({{"voice", "anna"}}), "cannot clone a voice"));
  EXPECT_TRUE(part_of(fault({{"speaker_embedding", {1, 2}}}), "cannot clone a voice"));
  upload({{"name", "b"}, {"audio_sample", recording()}}, &status);
  EXPECT_EQ(status, 400);
  EXPECT_TRUE(ask("GET", "/v1/audio/voices")["uploaded_voices"].empty());
  TestClient client(server_->port());  // large bodies with recordings are refused, too
  client.send(
      "POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Content-Length: 2000000\r\n\r\n");
  EXPECT_EQ(client.read().status, 413);
  start({.voice_uploads = false});
  upload({{"name", "b"}, {"audio_sample", recording()}}, &status);
  EXPECT_EQ(status, 403);
  ask("DELETE", "/v1/audio/voices/anna", &status);
  EXPECT_EQ(status, 403);
  EXPECT_EQ(speak({{"voice", "anna"}}).status, 200);
}

}  // namespace
}  // namespace syrinx
