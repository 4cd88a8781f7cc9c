// Recordings that are transcribed through a real socket, by a recogniser that the test controls.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "audio/recording.h"
#include "audio/recording_files_test.h"
#include "base/check.h"
#include "base/clock.h"
#include "server/http/http_server.h"
#include "server/http/test_client_test.h"
#include "server/models/fake_backend_test.h"
#include "server/models/fake_writer_test.h"
#include "server/net/gzipped_test.h"
#include "server/request/reply.h"

namespace syrinx {
namespace {

using nlohmann::json;

/// What the recogniser does, and what it received.
struct EarsScript {
  std::atomic<bool> holds = false;    ///< while true, nothing is recognised
  bool first_channel = false;         ///< RecogniserInfo::first_channel; set before the start
  std::atomic<int> fails_after = -1;  ///< fails with an internal error after these seconds
  std::atomic<int> holds_at = -1;     ///< second at which it stops; -1 means never
  std::atomic<bool> refuses = false;  ///< it refuses with kOverloaded
  /// Partial texts that are reported before each segment; set before the start.
  std::vector<std::string> partials;
  std::atomic<int64_t> given = 0;  ///< samples received
  std::atomic<float> loudest = 0;  ///< loudest of the received samples
  std::atomic<int> cancelled = 0;
  std::mutex mutex;
  ListenOptions last;
};

/// Reports a segment for each second of audio as soon as it has arrived.
class ScriptedListener final : public Listener {
 public:
  ScriptedListener(std::shared_ptr<EarsScript> script, std::shared_ptr<TranscriptSink> sink)
      : thread_([this, script, sink = std::move(sink)] { run(*script, *sink); }),
        script_(std::move(script)) {}
  ~ScriptedListener() override {
    cancel();
    thread_.join();
  }
  void hear(std::span<const float> samples) override {
    given_ += std::ssize(samples);
    script_->given += std::ssize(samples);
    for (const float sample : samples) script_->loudest = std::max(script_->loudest.load(), sample);
  }
  void end() override { ended_ = true; }
  void cancel() override { cancelled_ = true; }

 private:
  void run(EarsScript& script, TranscriptSink& sink) {
    Transcript transcript{.language = "en", .segments = {}};
    for (int64_t heard = 0;;) {
      if (cancelled_) {
        ++script.cancelled;
        return sink.finished(Error{ErrorCode::kCancelled, "cancelled"});
      }
      const bool last = ended_;
      const bool holds = script.holds ||
                         (script.holds_at >= 0 && heard >= int64_t{script.holds_at} * kHearingRate);
      if (holds || (given_ - heard < kHearingRate && !last)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      if (given_ - heard < kHearingRate) {
        transcript.duration_s = static_cast<double>(given_) / kHearingRate;
        return sink.finished(std::move(transcript));
      }
      const auto second = static_cast<double>(heard / kHearingRate);
      for (const std::string& partial : script.partials) {
        sink.partial(partial);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
      transcript.segments.push_back({.start_s = second,
                                     .end_s = second + 1,
                                     .text = " w" + std::to_string(heard / kHearingRate)});
      sink.segment(transcript.segments.back());
      heard += kHearingRate;
      sink.heard(static_cast<double>(heard) / kHearingRate);
      if (script.fails_after >= 0 && heard >= int64_t{script.fails_after} * kHearingRate) {
        return sink.finished(Error{ErrorCode::kInternal, "a secret of the inside"});
      }
    }
  }

  std::atomic<int64_t> given_ = 0;
  std::atomic<bool> ended_ = false, cancelled_ = false;
  std::thread thread_;
  const std::shared_ptr<EarsScript> script_;
};

class ScriptedEars final : public Recogniser {
 public:
  explicit ScriptedEars(std::shared_ptr<EarsScript> script) : script_(std::move(script)) {
    info_.first_channel = script_->first_channel;
  }
  const RecogniserInfo& info() const override { return info_; }
  Result<std::unique_ptr<Listener>> open(const ListenOptions& options,
                                         std::shared_ptr<TranscriptSink> sink) override {
    if (script_->refuses) return Error{ErrorCode::kOverloaded, "All are busy.", {}, 7};
    {
      const std::lock_guard lock(script_->mutex);
      script_->last = options;
    }
    return std::unique_ptr<Listener>(std::make_unique<ScriptedListener>(script_, std::move(sink)));
  }

 private:
  const std::shared_ptr<EarsScript> script_;
  RecogniserInfo info_{
      .name = "scripted", .family = "test", .languages = {"en", "de"}, .translates = true};
};

/// A recogniser whose transcript of every recording is its own name.
class NamedEars final : public Recogniser {
 public:
  explicit NamedEars(const std::string& name) : info_{.name = name, .family = "test"} {}
  const RecogniserInfo& info() const override { return info_; }
  Result<std::unique_ptr<Listener>> open(const ListenOptions&,
                                         std::shared_ptr<TranscriptSink> sink) override {
    struct Named final : Listener {
      void hear(std::span<const float>) override {}
      void end() override { sink->finished(transcript); }
      void cancel() override {}
      std::shared_ptr<TranscriptSink> sink;
      Transcript transcript;
    };
    auto out = std::make_unique<Named>();
    out->sink = std::move(sink);
    out->transcript.segments.push_back({.end_s = 1, .text = info_.name});
    return std::unique_ptr<Listener>(std::move(out));
  }

 private:
  RecogniserInfo info_;
};

class TranscriptionServerTest : public testing::Test {
 protected:
  void SetUp() override { start({}); }
  void start(ServerOptions options) {
    server_.reset();
    options.port = 0;
    options.ears = std::make_shared<Ears>(
        std::vector<std::shared_ptr<Recogniser>>{std::make_shared<ScriptedEars>(script_)});
    server_ = std::make_unique<HttpServer>(std::move(options));
    server_->open(std::make_shared<FakeBackend>());
  }
  /// Begins a server whose recogniser is "installed", and which has no models yet.
  void install_ears(bool asked_for) {
    server_.reset();
    ServerOptions options;
    options.port = 0;
    options.ears = std::make_shared<Ears>(
        std::vector<std::shared_ptr<Recogniser>>{std::make_shared<NamedEars>("installed")},
        asked_for);
    server_ = std::make_unique<HttpServer>(std::move(options));
  }
  static std::string request(const std::string& file, const std::string& fields = "",
                             const std::string& path = "/v1/audio/transcriptions",
                             const std::string& version = "1.1") {
    const std::string body =
        fields + "--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n" +
        file + "\r\n--xyz--\r\n";
    return "POST " + path + " HTTP/" + version +
           "\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=xyz\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  static std::string field(const std::string& name, const std::string& value) {
    return "--xyz\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value +
           "\r\n";
  }
  static std::string silence(double seconds, int rate = kHearingRate) {
    return recording_wav(std::vector<float>(static_cast<size_t>(seconds * rate)), rate);
  }
  TestAnswer ask(const std::string& bytes) {
    TestClient client(server_->port());
    client.send(bytes);
    return client.read();
  }

  const std::shared_ptr<EarsScript> script_ = std::make_shared<EarsScript>();
  std::unique_ptr<HttpServer> server_;
};

TEST_F(TranscriptionServerTest, Whole) {
  for (const int rate : {16000, 8000, 48000}) {
    const TestAnswer answer = ask(request(silence(3.5, rate)));
    EXPECT_EQ(answer.status, 200) << answer.body;
    const json body = json::parse(answer.body);
    EXPECT_EQ(body["text"], "w0 w1 w2");
    EXPECT_EQ(body["usage"]["seconds"], 3.5);
  }
  const TestAnswer text = ask(request(silence(2), field("response_format", "text")));
  EXPECT_EQ(text.body, "w0 w1\n");
  EXPECT_EQ(text.header("Content-Type"), "text/plain; charset=utf-8");
}

TEST_F(TranscriptionServerTest, LargeBodiesOfUnknownLength) {
  start(
      {.max_body_bytes = size_t{1} << 10, .max_upload_bytes = size_t{80} << 10, .max_uploads = 1});
  const auto sent_as = [&](const std::string& coding, double seconds) {
    std::string bytes = request(silence(seconds));
    const size_t length = bytes.find("Content-Length: "), end = bytes.find("\r\n\r\n");
    std::string body = bytes.substr(end + 4);
    std::string out = bytes.substr(0, length);
    if (coding == "gzip") {
      body = gzipped(body);
      return concat(out, "Content-Encoding: gzip\r\nContent-Length: ", body.size(), "\r\n\r\n",
                    body);
    }
    out += "Transfer-Encoding: chunked\r\n\r\n";
    for (; !body.empty(); body.erase(0, 1000)) out += http_chunk(body.substr(0, 1000));
    return out + "0\r\n\r\n";
  };
  for (const char* coding : {"chunked", "gzip"}) {
    for (int i = 0; i < 3; ++i) {  // each request gives back its permit for a large body
      const TestAnswer answer = ask(sent_as(coding, 2));
      EXPECT_EQ(answer.status, 200) << coding << answer.body;
    }
    const TestAnswer refused = ask(sent_as(coding, 3));
    EXPECT_EQ(refused.status, 413) << coding;
    EXPECT_NE(refused.body.find("81920"), std::string::npos) << refused.body;
  }
}

TEST_F(TranscriptionServerTest, OptionsArrive) {
  ask(request(silence(1),
              field("language", "German") + field("prompt", "Tee") + field("temperature", "0.5")));
  EXPECT_EQ(script_->last.language, "de");
  EXPECT_EQ(script_->last.prompt, "Tee");
  EXPECT_EQ(script_->last.temperatures, std::vector<float>{0.5f});
  EXPECT_NE(script_->last.client, 0u);
  ask(request(silence(1), "", "/v1/audio/translations"));
  EXPECT_TRUE(script_->last.translate);
}

TEST_F(TranscriptionServerTest, HearsTheFirstChannelWhereTheRecogniserDoes) {
  std::string data;
  for (int i = 0; i < kHearingRate; ++i) le(data, 8000, 2), le(data, 0, 2);
  for (const bool first : {false, true}) {
    script_->first_channel = first, script_->loudest = 0;
    start({});
    EXPECT_EQ(ask(request(wav(data, 1, 2, kHearingRate))).status, 200);
    EXPECT_FLOAT_EQ(script_->loudest, (first ? 8000 : 4000) / 32768.f);
  }
}

/// Partial texts of a segment are sent before the segment. A partial text that contradicts sent
/// text is not sent.
TEST_F(TranscriptionServerTest, AStreamSendsTheBeginningsOfSegments) {
  script_->partials = {" ", " w", " x"};
  const TestAnswer answer = ask(request(silence(2.5), field("stream", "true")));
  std::string told;
  int deltas = 0;
  for (size_t at = 0; (at = answer.body.find("data: ", at)) != std::string::npos; at += 6) {
    const json event = json::parse(answer.body.substr(at + 6, answer.body.find('\n', at) - at - 6));
    if (event["type"] != "transcript.text.delta") continue;
    told += event["delta"];
    deltas += !event["delta"].get<std::string>().empty();
  }
  EXPECT_EQ(told, "w0 w1");
  EXPECT_GT(deltas, 2);
  EXPECT_NE(answer.body.find("\"text\":\"w0 w1\""), std::string::npos);
}

TEST_F(TranscriptionServerTest, Stream) {
  const TestAnswer answer = ask(request(silence(2.5), field("stream", "true")));
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.whole);
  EXPECT_EQ(answer.body,
            "data: {\"type\":\"transcript.text.delta\",\"delta\":\"\",\"duration\":2.5}\n\n"
            "data: {\"type\":\"transcript.text.delta\",\"delta\":\"w0\"}\n\n"
            "data: {\"type\":\"transcript.text.delta\",\"delta\":\" w1\"}\n\n"
            "data: {\"type\":\"transcript.text.done\",\"text\":\"w0 w1\",\"usage\":{\"type\":"
            "\"duration\",\"seconds\":2.5}}\n\n");
  TestClient old(server_->port());
  old.send(request(silence(1), field("stream", "true"), "/v1/audio/transcriptions", "1.0"));
  const TestAnswer bare = old.read();
  EXPECT_EQ(bare.status, 200);
  EXPECT_NE(bare.body.find("transcript.text.done"), std::string::npos);
}

/// The status line and a first event are sent before the recogniser has reported anything, but an
/// invalid recording still gets an error status.
TEST_F(TranscriptionServerTest, AStreamBeginsWhenTheRecordingIsAccepted) {
  script_->holds_at = 0;
  TestClient client(server_->port());
  client.send(request(silence(30), field("stream", "true")));
  TestAnswer streamed = client.read_head();  // the recogniser has not reported anything
  EXPECT_EQ(streamed.status, 200);
  script_->holds_at = -1;
  client.read_body(streamed);
  EXPECT_TRUE(streamed.body.starts_with(
      "data: {\"type\":\"transcript.text.delta\",\"delta\":\"\",\"duration\":30.0}"))
      << streamed.body;
  EXPECT_EQ(ask(request("no audio", field("stream", "true"))).status, 400);
  script_->refuses = true;
  EXPECT_EQ(ask(request(silence(1), field("stream", "true"))).status, 503);
  script_->refuses = false;
  script_->holds = true;
  start({.max_heard_s = 10});
  EXPECT_EQ(ask(request(silence(30), field("stream", "true"))).status, 400) << "too long";
}

TEST_F(TranscriptionServerTest, WithoutAStreamTheStatusWaitsForText) {
  script_->fails_after = 0;
  const TestAnswer whole = ask(request(silence(3)));
  EXPECT_EQ(whole.status, 500);
  EXPECT_EQ(whole.body.find("secret"), std::string::npos);
  script_->fails_after = 2;
  script_->holds_at = 1;
  TestClient client(server_->port());
  client.send(request(silence(30), field("stream", "true")));
  TestAnswer streamed = client.read_head();
  script_->holds_at = -1;
  client.read_body(streamed);
  EXPECT_EQ(streamed.status, 200);
  EXPECT_NE(streamed.body.find("{\"type\":\"error\",\"error\":{"), std::string::npos);
  EXPECT_EQ(streamed.body.find("transcript.text.done"), std::string::npos);
  EXPECT_EQ(streamed.body.find("secret"), std::string::npos);
}

TEST_F(TranscriptionServerTest, RefusedWithWhenToComeBack) {
  script_->refuses = true;
  const TestAnswer answer = ask(request(silence(1)));
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.header("Retry-After"), "7");
}

/// A file is decoded while it is recognised, not all at once.
TEST_F(TranscriptionServerTest, NoFurtherAheadThanAMinute) {
  script_->holds = true;
  TestClient client(server_->port());
  client.send(request(silence(200, 8000)));
  const auto seconds = [&] { return static_cast<double>(script_->given) / kHearingRate; };
  for (int i = 0; i < 500 && seconds() < 60; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_GE(seconds(), 60);
  EXPECT_LE(seconds(), 80);
  script_->holds = false;
  const TestAnswer answer = client.read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(json::parse(answer.body)["usage"]["seconds"], 200);
}

TEST_F(TranscriptionServerTest, AClientThatGoesCancels) {
  script_->holds = true;
  {
    TestClient client(server_->port());
    client.send(request(silence(5)));
    for (int i = 0; i < 500 && script_->given == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_GT(script_->given, 0);
  }
  for (int i = 0; i < 500 && script_->cancelled == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(script_->cancelled, 1);
}

TEST_F(TranscriptionServerTest, AServerThatEndsCancels) {
  script_->holds = true;
  TestClient client(server_->port());
  client.send(request(silence(5)));
  for (int i = 0; i < 500 && script_->given == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  server_.reset();
  EXPECT_EQ(script_->cancelled, 1);
}

TEST_F(TranscriptionServerTest, LengthAndSizeAreBounded) {
  start({.max_upload_bytes = size_t{2} << 20, .max_heard_s = 10});
  const TestAnswer longer = ask(request(silence(11)));
  EXPECT_EQ(longer.status, 400);
  EXPECT_EQ(json::parse(longer.body)["error"]["param"], "file");
  EXPECT_EQ(ask(request(silence(9))).status, 200);
  TestClient client(server_->port());
  client.send(
      "POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nContent-Type: "
      "multipart/form-data; boundary=xyz\r\nContent-Length: 3000000\r\n\r\n");
  EXPECT_EQ(client.read().status, 413);
}

/// Chooses the recogniser: the one that the user configured, else that of a loaded model, else the
/// installed one.
TEST_F(TranscriptionServerTest, AModelThatHearsComesBeforeWhatIsInstalled) {
  for (const bool asked_for : {true, false}) {
    for (const bool hears : {true, false}) {
      install_ears(asked_for);
      const auto model = std::make_shared<FakeWriter>();
      if (hears) model->write_down(std::make_shared<NamedEars>("writer"));
      server_->open(model);
      const std::string want = hears && !asked_for ? "writer" : "installed";
      const auto heard_by = [&](const std::string& fields) {
        return json::parse(ask(request(silence(1), fields)).body)["text"];
      };
      EXPECT_EQ(heard_by(""), want) << asked_for << hears;
      EXPECT_EQ(heard_by(field("model", "whisper-1")), want) << asked_for << hears;
      EXPECT_EQ(heard_by(field("model", "installed")), "installed");
      if (hears) {
        EXPECT_EQ(heard_by(field("model", "writer")), "writer");
      }
      TestClient client(server_->port());
      client.get("/v1/models/whisper-1");
      EXPECT_EQ(json::parse(client.read().body)["id"], want);
    }
  }
}

/// While models are loading, the server cannot know whether one of them recognises speech.
TEST_F(TranscriptionServerTest, WhileModelsLoadOnlyAnsweredByARecogniserThatWasNamed) {
  for (const bool asked_for : {true, false}) {
    install_ears(asked_for);
    const auto status = [&](const std::string& model) {
      return ask(request(silence(1), field("model", model))).status;
    };
    EXPECT_EQ(status("installed"), 200);
    EXPECT_EQ(status("whisper-1"), asked_for ? 200 : 503);
    const TestAnswer answer = ask(request(silence(1), field("model", "writer")));
    EXPECT_EQ(answer.status, 503);
    EXPECT_TRUE(has(answer.body, "still being loaded")) << answer.body;
    EXPECT_FALSE(answer.header("Retry-After").empty());
    server_->open(std::make_shared<FakeBackend>());
    EXPECT_EQ(status("whisper-1"), 200);
    EXPECT_EQ(status("writer"), 404);
  }
}

TEST_F(TranscriptionServerTest, AnUnloadedModelThatHearsIsLoadedAgain) {
  install_ears(false);
  const auto hearing = [] {
    auto model = std::make_shared<FakeWriter>();
    model->write_down(std::make_shared<NamedEars>("writer"));
    return model;
  };
  const auto models = std::make_shared<ModelTable>(
      std::vector<ModelSource>{{"first", [] { return std::make_shared<FakeBackend>(); }},
                               {"second", [] { return std::make_shared<FakeBackend>(); }},
                               {"writer", hearing}},
      ModelTableOptions{.keep_s = 1});
  server_->open(models);
  const auto heard = [&] {
    return json::parse(ask(request(silence(1), field("model", "whisper-1"))).body)["text"];
  };
  EXPECT_EQ(heard(), "installed");
  ASSERT_TRUE(models->load("writer"));
  EXPECT_EQ(heard(), "writer");
  models->sweep(now_s() + 100);
  ASSERT_EQ(models->look_up("writer")->backend, nullptr);
  EXPECT_EQ(heard(), "writer");
}

TEST_F(TranscriptionServerTest, KeepsTheConnection) {
  TestClient client(server_->port());
  client.send(request(silence(1)));
  EXPECT_EQ(client.read().status, 200);
  client.send(request("no audio"));
  EXPECT_EQ(client.read().status, 400);
  client.send(request(silence(1), field("stream", "true")));
  EXPECT_EQ(client.read().status, 200);
  client.get("/v1/models/whisper-1");
  EXPECT_EQ(json::parse(client.read().body)["id"], "scripted");
}

}  // namespace
}  // namespace syrinx
