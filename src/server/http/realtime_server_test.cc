// The Realtime API through real sockets, with fake recognisers and models.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "server/http/http_server.h"
#include "server/http/ws_client_test.h"
#include "server/models/fake_backend_test.h"
#include "server/models/fake_writer_test.h"
#include "server/request/fields.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

constexpr const char* kRealtime = "/v1/realtime?model=gpt-realtime";

/// Returns repeated characters; a function, so that the compiler does not evaluate the string.
std::string filled(size_t bytes, char value) { return std::string(bytes, value); }

/// Counts the samples that it receives, and reports the number at the end.
class CountingListener final : public Listener {
 public:
  CountingListener(std::string name, std::shared_ptr<TranscriptSink> sink)
      : name_(std::move(name)), sink_(std::move(sink)) {}
  ~CountingListener() override { cancel(); }
  void hear(std::span<const float> samples) override { count_ += samples.size(); }
  void end() override {
    Transcript out{.language = "en", .duration_s = 1, .segments = {}};
    out.segments.push_back({.text = " " + name_ + " " + std::to_string(count_ / 1600)});
    sink_->segment(out.segments.back());
    std::exchange(sink_, nullptr)->finished(std::move(out));
  }
  void cancel() override {
    if (sink_) std::exchange(sink_, nullptr)->finished(Error{ErrorCode::kCancelled, "cancelled"});
  }

 private:
  const std::string name_;
  std::shared_ptr<TranscriptSink> sink_;
  size_t count_ = 0;
};

class CountingEars final : public Recogniser {
 public:
  explicit CountingEars(std::string name)
      : info_{.name = std::move(name), .family = "test", .languages = {"en"}} {}
  const RecogniserInfo& info() const override { return info_; }
  Result<std::unique_ptr<Listener>> open(const ListenOptions&,
                                         std::shared_ptr<TranscriptSink> sink) override {
    return std::unique_ptr<Listener>(
        std::make_unique<CountingListener>(info_.name, std::move(sink)));
  }

 private:
  const RecogniserInfo info_;
};

class RealtimeServerTest : public testing::Test {
 protected:
  void start(bool writes = true, ServerOptions options = {}) {
    options.port = 0;
    options.ears = std::make_shared<Ears>(ears_, ears_asked_for_);
    speaker_->mutable_info().speech.late_text = LateText::kToken;
    server_ = std::make_unique<HttpServer>(std::move(options));
    std::vector<ModelSource> sources = {{"fake-1", [this] { return speaker_; }}};
    if (writes) sources.push_back({"writer", [this] { return writer_; }});
    auto models = std::make_shared<ModelTable>(std::move(sources), ModelTableOptions{});
    if (writes) static_cast<void>(models->load("writer"));
    server_->open(models);
  }
  int port() const { return server_->port(); }

  static JsonIn next(WsClient& client) {
    const std::string text = client.read_text();
    const auto event = parse_object(text);
    return event ? *event : JsonIn{{"type", text}};
  }
  /// Reads up to the first event of a type.
  static std::vector<JsonIn> until(WsClient& client, const std::string& type) {
    std::vector<JsonIn> out;
    do {
      out.push_back(next(client));
      if (out.back()["type"] == "gone") ADD_FAILURE() << "gone before " << type;
    } while (out.back()["type"] != type && out.back()["type"] != "gone");
    return out;
  }
  static void send(WsClient& client, const JsonIn& event) { client.send_text(event.dump()); }
  static void ask(WsClient& client, const std::string& text) {
    send(client, {{"type", "conversation.item.create"},
                  {"item",
                   {{"type", "message"},
                    {"role", "user"},
                    {"content", {{{"type", "input_text"}, {"text", text}}}}}}});
    send(client, {{"type", "response.create"}});
  }
  static size_t audio_bytes(const std::vector<JsonIn>& events) {
    size_t bytes = 0;
    for (const JsonIn& event : events) {
      if (event["type"] != "response.output_audio.delta") continue;
      bytes += base64_decoded(event["delta"].get<std::string>())->size();
    }
    return bytes;
  }

  std::vector<std::shared_ptr<Recogniser>> ears_{std::make_shared<CountingEars>("counting")};
  bool ears_asked_for_ = true;
  std::shared_ptr<FakeBackend> speaker_ = std::make_shared<FakeBackend>();
  std::shared_ptr<FakeWriter> writer_ = std::make_shared<FakeWriter>();
  std::unique_ptr<HttpServer> server_;
};

TEST_F(RealtimeServerTest, AnswersAloud) {
  start();
  WsClient client(port(), kRealtime);
  ASSERT_EQ(client.status(), 101);
  const JsonIn created = next(client);
  EXPECT_EQ(created["type"], "session.created");
  EXPECT_EQ(created["session"]["model"], "writer");
  EXPECT_EQ(created["session"]["audio"]["output"]["voice"], "low");
  ask(client, "Hi");
  const auto events = until(client, "response.done");
  const JsonIn response = events.back()["response"];
  EXPECT_EQ(response["status"], "completed");
  EXPECT_EQ(response["output"][0]["content"][0]["transcript"], "Hello.");
  EXPECT_EQ(response["usage"]["input_tokens"], 7);
  EXPECT_EQ(audio_bytes(events), 8 * 1920u * 2);  // 0.1 s for each byte, in chunks of 80 ms
  EXPECT_EQ(speaker_->texts(), std::vector<std::string>{"Hello."});
  EXPECT_EQ(JsonIn::parse(writer_->last_request().writing.chat->messages),
            JsonIn::parse(R"([{"role":"user","content":"Hi"}])"));
  // The audio format of telephones.
  send(client, {{"type", "session.update"},
                {"session", {{"audio", {{"output", {{"format", {{"type", "audio/pcmu"}}}}}}}}}});
  ask(client, "Hi");
  EXPECT_EQ(audio_bytes(until(client, "response.done")), 8 * 640u);
}

/// An unfinished long message occupies a place for long messages only until its time limit.
TEST_F(RealtimeServerTest, LongMessagesThatDoNotEndDelayNoOther) {
  start(false, {.max_uploads = 1, .body_timeout_s = 0.5});
  WsClient slow(port(), kRealtime);
  until(slow, "conversation.created");
  slow.socket().send(std::string("\x01\xff\0\0\0\0\0\x10\0\0\0\0\0\0", 14) + filled(400'000, ' '));
  WsClient other(port(), kRealtime);
  until(other, "conversation.created");
  other.send_text(filled(300'000, ' ') + R"({"type": "input_audio_buffer.clear"})");
  EXPECT_EQ(next(other)["type"], "input_audio_buffer.cleared");
  EXPECT_EQ(next(slow)["type"], "gone");
}

TEST_F(RealtimeServerTest, HearsACommittedRecording) {
  start();
  WsClient client(port(), kRealtime);
  send(client,
       {{"type", "session.update"},
        {"session",
         {{"output_modalities", {"text"}},
          {"audio",
           {{"input", {{"turn_detection", nullptr}, {"transcription", {{"model", "any"}}}}}}}}}});
  send(client, {{"type", "input_audio_buffer.append"}, {"audio", base64(filled(48000, '\0'))}});
  send(client, {{"type", "input_audio_buffer.commit"}});
  const auto heard = until(client, "conversation.item.input_audio_transcription.completed").back();
  EXPECT_TRUE(heard["transcript"] == "counting 10" || heard["transcript"] == "counting 9") << heard;
  send(client, {{"type", "response.create"}});
  const auto events = until(client, "response.done");
  EXPECT_EQ(events.back()["response"]["output"][0]["content"][0]["text"], "Hello.");
  EXPECT_EQ(audio_bytes(events), 0u);
}

TEST_F(RealtimeServerTest, TheModelTranscribesWhereItIsNamedOrTheOnlyOne) {
  writer_->speak();
  writer_->write_down(std::make_shared<CountingEars>("writer"));
  const auto heard_by = [&](const std::string& wish) {
    start();
    WsClient client(port(), "/v1/realtime?model=writer");
    send(client,
         {{"type", "session.update"},
          {"session",
           {{"output_modalities", {"text"}},
            {"audio",
             {{"input", {{"turn_detection", nullptr}, {"transcription", {{"model", wish}}}}}}}}}});
    send(client, {{"type", "input_audio_buffer.append"}, {"audio", base64(filled(48000, '\0'))}});
    send(client, {{"type", "input_audio_buffer.commit"}});
    const auto heard = until(client, "conversation.item.input_audio_transcription.completed");
    const std::string text = heard.back()["transcript"];
    return text.substr(0, text.find(' '));
  };
  EXPECT_EQ(heard_by("writer"), "writer");
  EXPECT_EQ(heard_by("whisper-1"), "counting");
  ears_asked_for_ = false;  // installed, but not requested by the user
  EXPECT_EQ(heard_by("whisper-1"), "writer");
  EXPECT_EQ(heard_by("counting"), "counting");
  ears_.clear();
  EXPECT_EQ(heard_by("whisper-1"), "writer");
}

TEST_F(RealtimeServerTest, CancelsWhatIsMade) {
  start();
  WsClient client(port(), kRealtime);
  writer_->say({"endless"});
  ask(client, "Hi");
  until(client, "response.output_audio.delta");
  send(client, {{"type", "response.cancel"}});
  const auto events = until(client, "response.done");
  EXPECT_EQ(events.back()["response"]["status"], "cancelled");
  EXPECT_TRUE(speaker_->wait_idle(5));
  // When a client disconnects, its answers end, too.
  ask(client, "endless");
  until(client, "response.output_audio_transcript.delta");
  client.socket().close();
  EXPECT_TRUE(writer_->wait_cancelled(1));
  EXPECT_TRUE(speaker_->wait_idle(5));
}

TEST_F(RealtimeServerTest, ClientsThatMayConnect) {
  start(true, {.keys = ApiKeys({"secret"})});
  EXPECT_EQ(WsClient(port(), kRealtime).status(), 401);
  EXPECT_EQ(WsClient(port(), kRealtime, "Authorization: Bearer secret\r\n").status(), 101);
  const WsClient browser(port(), kRealtime,
                         "Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.secret\r\n");
  EXPECT_EQ(browser.status(), 101);
  EXPECT_NE(browser.head().find("Sec-WebSocket-Protocol: realtime\r\n"), std::string::npos);
  const std::string key = "Authorization: Bearer secret\r\n";
  EXPECT_EQ(WsClient(port(), "/v1/realtime?model=nobody", key).status(), 404);
  EXPECT_EQ(WsClient(port(), "/v1/realtime?model=writer", key).status(), 101);
  EXPECT_EQ(WsClient(port(), "/v1/realtime?model=fake-1", key).status(), 101);
  EXPECT_EQ(WsClient(port(), "/v1/realtime", key + "Origin: http://evil.example\r\n").status(),
            403);
}

TEST_F(RealtimeServerTest, FailuresStayInside) {
  start();
  WsClient client(port(), kRealtime);
  next(client);
  for (const char* how : {"fail early", "busy"}) {
    ask(client, how);
    const JsonIn response = until(client, "response.done").back()["response"];
    EXPECT_EQ(response["status"], "failed") << response;
    EXPECT_EQ(response.dump().find("secret"), std::string::npos);
    EXPECT_FALSE(response["status_details"]["error"]["message"].get<std::string>().empty());
    writer_->say({"Hello."});
    send(client, {{"type", "conversation.item.delete"}, {"item_id", "none"}});
    EXPECT_EQ(next(client)["error"]["code"], "item_delete_invalid_item_id");
  }
}

TEST_F(RealtimeServerTest, WithoutAnyoneToAnswer) {
  start(false);
  WsClient client(port(), kRealtime);
  EXPECT_EQ(next(client)["session"]["model"], "fake-1");
  ask(client, "Hi");
  EXPECT_EQ(until(client, "error").back()["error"]["code"], "no_text_model");
}

TEST_F(RealtimeServerTest, OneModelThatHearsAndSpeaks) {
  writer_->speak();
  start();
  WsClient client(port(), "/v1/realtime?model=writer");
  send(client, {{"type", "session.update"},
                {"session", {{"audio", {{"input", {{"turn_detection", nullptr}}}}}}}});
  send(client, {{"type", "input_audio_buffer.append"}, {"audio", base64(filled(24000, '\1'))}});
  send(client, {{"type", "input_audio_buffer.commit"}});
  send(client, {{"type", "response.create"}});
  const auto events = until(client, "response.done");
  EXPECT_EQ(events.back()["response"]["status"], "completed") << events.back();
  EXPECT_EQ(audio_bytes(events), 3 * FakeWriter::kSamplesAPiece * 2u);
  ASSERT_EQ(writer_->last_request().writing.recordings.size(), 1u);
  EXPECT_NEAR(writer_->last_request().writing.recordings[0]->seconds(), 0.5, 0.01);
  EXPECT_TRUE(speaker_->texts().empty());
}

TEST_F(RealtimeServerTest, ServerThatStopsLetsTheAnswerEnd) {
  start();
  WsClient client(port(), kRealtime);
  ask(client, "Hi");
  until(client, "response.output_audio.delta");
  std::thread drain([this] { EXPECT_TRUE(server_->drain(10)); });
  EXPECT_EQ(until(client, "response.done").back()["response"]["status"], "completed");
  EXPECT_EQ(next(client)["type"], "close 1001");
  client.socket().close();
  drain.join();
}

}  // namespace
}  // namespace syrinx
