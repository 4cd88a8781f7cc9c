#include "server/dialects/wyoming.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "server/dialects/text_session.h"
#include "server/http/ws_client_test.h"
#include "server/http/wyoming_server.h"
#include "server/models/fake_backend_test.h"

namespace syrinx {
namespace {

std::string event(const std::string& type, const std::string& data = "") {
  if (data.empty()) return "{\"type\":\"" + type + "\"}\n";
  return concat("{\"type\":\"", type, "\",\"data_length\":", data.size(), "}\n", data);
}

TEST(WyomingParser, CutAnywhere) {
  const std::string bytes = "{\"type\":\"describe\",\"version\":\"1.10.2\"}\n" +
                            event("synthesize-chunk", R"({"text":"a\nb"})") +
                            "{\"type\":\"audio-chunk\",\"payload_length\":5}\n\n{\"}\n" +
                            "{\"type\":\"synthesize\",\"data\":{\"text\":\"inside\"}}\n" +
                            "{\"type\":\"both\",\"data\":{\"a\":1,\"b\":1},\"data_length\":7,"
                            "\"payload_length\":3}\n{\"b\":2}xyz" +
                            event("end");
  for (size_t step = 1; step <= bytes.size(); ++step) {
    WyomingParser parser;
    std::string got;
    for (size_t at = 0; at < bytes.size(); at += step) {
      parser.push(std::string_view(bytes).substr(at, step));
      while (const auto e = parser.next()) got += e->type + dump_json(e->data) + " ";
    }
    EXPECT_EQ(got,
              "describe{} synthesize-chunk{\"text\":\"a\\nb\"} audio-chunk{} "
              "synthesize{\"text\":\"inside\"} both{\"a\":1,\"b\":2} end{} ");
    EXPECT_EQ(parser.error(), "");
  }
}

TEST(WyomingParser, RefusesWhatIsNoEvent) {
  const std::string bad[] = {
      "\n",
      "GET / HTTP/1.1\r\n",
      "[]\n",
      "{\"type\":1}\n",
      "{\"type\":\"a\",\"data_length\":-1}\n",
      "{\"type\":\"a\",\"data_length\":1e18}\n",
      "{\"type\":\"a\",\"payload_length\":99999999}\n",
      "{\"type\":\"a\",\"data_length\":2}\n[]",
      std::string(300'000, ' '),
      std::string(300'000, '[') + "\n",
  };
  for (const std::string& bytes : bad) {
    WyomingParser parser;
    parser.push(bytes);
    EXPECT_FALSE(parser.next()) << bytes.substr(0, 40);
    EXPECT_NE(parser.error(), "") << bytes.substr(0, 40);
    parser.push(event("describe"));
    EXPECT_FALSE(parser.next());
  }
}

std::string chunk(const std::string& audio, int rate_hz, int width, int channels) {
  const std::string data =
      concat("{\"rate\":", rate_hz, ",\"width\":", width, ",\"channels\":", channels, "}");
  return concat("{\"type\":\"audio-chunk\",\"data_length\":", data.size(),
                ",\"payload_length\":", audio.size(), "}\n", data, audio);
}

/// A recogniser whose transcript is a word and the number of samples.
class CountingEar final : public Recogniser {
 public:
  const RecogniserInfo& info() const override { return info_; }
  Result<std::unique_ptr<Listener>> open(const ListenOptions& options,
                                         std::shared_ptr<TranscriptSink> sink) override {
    struct Counter final : Listener {
      void hear(std::span<const float> samples) override {
        if (count == 0) sink->segment(transcript.segments.emplace_back(segment(" Heard")));
        count += samples.size();
      }
      void end() override {
        sink->segment(transcript.segments.emplace_back(segment(" " + std::to_string(count))));
        sink->finished(transcript);
      }
      void cancel() override {}
      static TranscriptSegment segment(std::string text) { return {.text = std::move(text)}; }
      std::shared_ptr<TranscriptSink> sink;
      Transcript transcript;
      size_t count = 0;
    };
    EXPECT_TRUE(options.live);
    auto out = std::make_unique<Counter>();
    out->sink = sink_ = std::move(sink);
    out->transcript.language = options.language;
    return std::unique_ptr<Listener>(std::move(out));
  }
  /// Reports that the newest recording is processed up to `seconds`.
  void report_heard(double seconds) { sink_->heard(seconds); }

 private:
  std::shared_ptr<TranscriptSink> sink_;
  const RecogniserInfo info_{.name = "counter", .family = "test", .languages = {"en", "de"}};
};

class WyomingServerTest : public testing::Test {
 protected:
  void start(double step_s = 0, WyomingOptions options = {}) {
    options.port = 0;
    backend_ = std::make_shared<FakeBackend>(step_s);
    backend_->mutable_info().speech.late_text = LateText::kToken;
    backend_->mutable_info().speech.languages = {"english", "auto"};
    server_ =
        std::make_unique<WyomingServer>(std::move(options), std::make_shared<ModelTable>(backend_));
  }

  struct Heard {
    std::string types;  // types of the events, each with a space
    std::string last;   // data of the last event
    size_t audio = 0;
  };
  /// Reads events up to one of this type, or to the end.
  static Heard hear(RawSocket& socket, const std::string& until) {
    Heard out;
    for (;;) {
      const auto header = parse_object(socket.read_until("\n"));
      if (!header) return out;
      out.last = socket.read(static_cast<size_t>(number_at(*header, "data_length").value_or(0)));
      const double payload = number_at(*header, "payload_length").value_or(0);
      out.audio += socket.read(static_cast<size_t>(payload)).size();
      const std::string type = string_at(*header, "type").value_or("?");
      if (!out.types.ends_with(type + " ")) out.types += type + " ";
      if (type == until) return out;
    }
  }

  std::shared_ptr<FakeBackend> backend_;
  std::unique_ptr<WyomingServer> server_;
};

TEST_F(WyomingServerTest, Describes) {
  start();
  RawSocket socket(server_->port());
  socket.send(event("describe"));
  const Heard info = hear(socket, "info");
  EXPECT_NE(info.last.find(R"("supports_synthesize_streaming":true)"), std::string::npos);
  EXPECT_NE(info.last.find(R"("name":"High")"), std::string::npos);
  EXPECT_NE(info.last.find(R"("languages":["en"])"), std::string::npos);
  socket.send(event("ping", R"({"text":"x"})"));
  EXPECT_EQ(hear(socket, "pong").last, R"({"text":"x"})");
}

/// A model that recognises speech.
class HearingBackend final : public FakeBackend {
 public:
  std::shared_ptr<Recogniser> recogniser() const override { return ear_; }

 private:
  const std::shared_ptr<Recogniser> ear_ = std::make_shared<CountingEar>();
};

TEST_F(WyomingServerTest, AModelStaysLoadedWhileItHears) {
  std::vector<ModelSource> sources;
  sources.push_back({.name = "first", .load = [] { return std::make_shared<FakeBackend>(); }});
  sources.push_back({.name = "ear", .load = [] { return std::make_shared<HearingBackend>(); }});
  const auto models =
      std::make_shared<ModelTable>(std::move(sources), ModelTableOptions{.keep_s = 1});
  const auto loaded = [&] { return models->look_up("ear")->backend != nullptr; };
  ASSERT_TRUE(models->load("ear"));
  server_ = std::make_unique<WyomingServer>(WyomingOptions{.port = 0}, models);
  RawSocket socket(server_->port());
  socket.send(event("audio-start") + chunk(std::string(3200, 'a'), 16000, 2, 1));
  EXPECT_EQ(hear(socket, "transcript-chunk").types, "transcript-start transcript-chunk ");
  models->sweep(now_s() + 100);
  EXPECT_TRUE(loaded());
  socket.send(event("audio-stop"));
  EXPECT_NE(hear(socket, "transcript").last.find("Heard 1600"), std::string::npos);
  hear(socket, "transcript-stop");
  models->sweep(now_s() + 300);
  for (const char* named : {R"({"name":"ear"})", "{}"}) {
    EXPECT_FALSE(loaded());
    socket.send(event("describe"));
    EXPECT_NE(hear(socket, "info").last.find(R"("name":"counter")"), std::string::npos);
    socket.send(event("transcribe", named) + event("audio-start") +
                chunk(std::string(3200, 'a'), 16000, 2, 1) + event("audio-stop"));
    EXPECT_NE(hear(socket, "transcript").last.find("Heard 1600"), std::string::npos);
    hear(socket, "transcript-stop");
    EXPECT_TRUE(loaded());
    models->sweep(now_s() + 500);
  }
}

/// Adds two models. One is loaded when a text names it, and has speakers as voices. The other has a
/// voice with the name of the first model's voice.
class WyomingModelsTest : public WyomingServerTest {
 protected:
  void start_three() {
    backend_ = made("first");
    second_ = made("second");
    SpeechFacts& speech = second_->mutable_info().speech;
    speech.voices = {{"anna", ""}, {"ben", ""}};
    speech.default_voice = "anna";
    speech.voices_are_speakers = true;
    speech.languages = {"de"};
    third_ = made("third");
    third_->mutable_info().speech.voices = {{"low", ""}, {"deep", ""}};
    const auto facts = std::make_shared<const PipelineInfo>(second_->info());
    std::vector<ModelSource> sources;
    sources.push_back({.name = "first", .load = [this] { return backend_; }});
    sources.push_back({.name = "second",
                       .load =
                           [this] {
                             ++loads_;
                             if (broken_) throw LoadError("second.onnx: is cut off");
                             return second_;
                           },
                       .facts = facts});
    sources.push_back({.name = "third", .load = [this] { return third_; }});
    models_ = std::make_shared<ModelTable>(std::move(sources), ModelTableOptions{});
    ASSERT_TRUE(models_->load("third"));
    WyomingOptions options;
    options.port = 0;
    server_ = std::make_unique<WyomingServer>(std::move(options), models_);
  }
  static std::shared_ptr<FakeBackend> made(const std::string& name) {
    auto out = std::make_shared<FakeBackend>(0);
    out->mutable_info().model = name;
    out->mutable_info().speech.late_text = LateText::kToken;
    out->mutable_info().speech.languages = {"en"};
    return out;
  }
  /// Reads up to the last event of a text that is spoken with this voice.
  Heard speak(RawSocket& socket, const std::string& voice, const std::string& end = "audio-stop") {
    socket.send(event("synthesize", concat("{\"text\":\"0123456789\",\"voice\":", voice, "}")));
    return hear(socket, end);
  }
  void TearDown() override { server_.reset(); }

  std::shared_ptr<FakeBackend> second_, third_;
  std::shared_ptr<ModelTable> models_;
  std::atomic<int> loads_ = 0;
  std::atomic<bool> broken_ = false;
};

TEST_F(WyomingModelsTest, ListsTheVoicesOfAll) {
  start_three();
  RawSocket socket(server_->port());
  socket.send(event("describe"));
  const auto info = parse_object(hear(socket, "info").last);
  ASSERT_TRUE(info);
  std::string listed;
  for (const JsonIn& voice : info->at("tts").at(0).at("voices")) {
    listed += concat(voice.at("name").get<std::string>(), ":",
                     voice.at("languages").at(0).get<std::string>());
    for (const JsonIn& speaker : voice.value("speakers", JsonIn::array())) {
      listed += "/" + speaker.at("name").get<std::string>();
    }
    listed += " ";
    EXPECT_TRUE(voice.at("installed").get<bool>());
    EXPECT_EQ(voice.at("attribution").at("name"), "fake");
    EXPECT_TRUE(voice.at("version").is_null());
  }
  EXPECT_EQ(listed, "low:en High:en second:de/anna/ben third/low:en deep:en ");
  EXPECT_EQ(loads_, 0);
}

TEST_F(WyomingModelsTest, SpeaksWithTheModelThatHasTheVoice) {
  start_three();
  RawSocket socket(server_->port());
  EXPECT_EQ(speak(socket, R"({"name":"deep"})").audio, 13 * 1920 * 2u);
  EXPECT_EQ(third_->last_request().voice.name, "deep");
  speak(socket, R"({"name":"third/low"})");
  EXPECT_EQ(third_->last_request().voice.name, "low");
  speak(socket, R"({"name":"third"})");
  EXPECT_EQ(third_->texts().size(), 3u);
  speak(socket, R"({"name":"low"})");
  EXPECT_EQ(backend_->texts().size(), 1u);
  // The model is not loaded yet. First a speaker by name, then the default voice.
  EXPECT_EQ(speak(socket, R"({"name":"second","speaker":"ben"})").audio, 13 * 1920 * 2u);
  EXPECT_EQ(second_->last_request().voice.name, "ben");
  EXPECT_EQ(loads_, 1);
  speak(socket, R"({"name":"second"})");
  EXPECT_EQ(second_->last_request().voice.name, "");
  // Without a name, the first model with the language speaks.
  speak(socket, R"({"language":"de-DE"})");
  EXPECT_EQ(second_->texts().size(), 3u);
  speak(socket, R"({"language":"en-GB"})");
  EXPECT_EQ(backend_->texts().size(), 2u);
}

TEST_F(WyomingModelsTest, StreamsTextToAModelThatIsLoadedForIt) {
  start_three();
  RawSocket socket(server_->port());
  std::string all = event("synthesize-start", R"({"voice":{"name":"second","speaker":"ben"}})");
  for (const char* piece : {"01234", "56", "789"}) {
    all += event("synthesize-chunk", concat("{\"text\":\"", piece, "\"}"));
  }
  socket.send(all + event("synthesize-stop"));  // one write; the model is loaded first
  const Heard heard = hear(socket, "synthesize-stopped");
  EXPECT_EQ(heard.types, "audio-start audio-chunk audio-stop synthesize-stopped ");
  EXPECT_EQ(heard.audio, 13 * 1920 * 2u);
  EXPECT_EQ(second_->texts(), std::vector<std::string>({"0123456789"}));
  EXPECT_EQ(second_->last_request().voice.name, "ben");
}

TEST_F(WyomingModelsTest, ReportsAModelThatCannotBeLoaded) {
  start_three();
  broken_ = true;
  RawSocket socket(server_->port());
  const Heard heard = speak(socket, R"({"name":"second"})", "error");
  EXPECT_EQ(heard.types, "error ");
  EXPECT_NE(heard.last.find("second.onnx: is cut off"), std::string::npos) << heard.last;
  RawSocket other(server_->port());
  EXPECT_NE(speak(other, R"({"name":"who"})", "error").last.find("who"), std::string::npos);
}

TEST_F(WyomingServerTest, SpeaksWholeTexts) {
  start();
  RawSocket socket(server_->port());
  for (int i = 0; i < 2; ++i) {
    socket.send(event("synthesize", R"({"text":"0123456789","voice":{"name":"High"}})"));
    const Heard heard = hear(socket, "audio-stop");
    EXPECT_EQ(heard.types, "audio-start audio-chunk audio-stop ");
    EXPECT_EQ(heard.audio, 13 * 1920 * 2u);
    EXPECT_EQ(backend_->last_request().voice.name, "High");
  }
  socket.send(event("synthesize", R"({"text":"x","voice":{"language":"en-GB"}})"));
  hear(socket, "audio-stop");
  EXPECT_EQ(backend_->last_request().say.language, "english");
  socket.send(event("synthesize", R"({"text":" "})"));
  EXPECT_EQ(hear(socket, "audio-stop").types, "audio-start audio-stop ");
}

TEST_F(WyomingServerTest, SpeaksTextThatComesInPieces) {
  start();
  RawSocket socket(server_->port());
  socket.send(event("synthesize-start", "{}"));
  for (const char* piece : {"01234", "56", "789"}) {
    socket.send(event("synthesize-chunk", concat("{\"text\":\"", piece, "\"}")));
  }
  socket.send(event("synthesize", R"({"text":"0123456789"})"));  // for servers without streaming
  socket.send(event("synthesize-stop"));
  const Heard heard = hear(socket, "synthesize-stopped");
  EXPECT_EQ(heard.types, "audio-start audio-chunk audio-stop synthesize-stopped ");
  EXPECT_EQ(heard.audio, 13 * 1920 * 2u);
  EXPECT_EQ(backend_->texts(), std::vector<std::string>({"0123456789"}));
}

class WyomingEarsTest : public WyomingServerTest {
 protected:
  void SetUp() override {
    WyomingOptions options;
    options.ears = std::make_shared<Ears>(
        std::vector<std::shared_ptr<Recogniser>>{std::make_shared<CountingEar>()});
    start(0, options);
  }
};

TEST_F(WyomingEarsTest, RecordingsBecomeText) {
  RawSocket socket(server_->port());
  socket.send(event("describe"));
  const Heard info = hear(socket, "info");
  EXPECT_NE(info.last.find(R"("asr":[{"name":"syrinx")"), std::string::npos) << info.last;
  EXPECT_NE(info.last.find(R"({"name":"counter")"), std::string::npos);
  EXPECT_NE(info.last.find(R"("supports_transcript_streaming":true)"), std::string::npos);
  struct Sound {
    std::string chunk;
    const char* text;
  };
  for (const Sound& sound : {Sound{chunk(std::string(3200, 'a'), 16000, 2, 1), "Heard 4800"},
                             Sound{chunk(std::string(19200, 'a'), 48000, 2, 2), "Heard 4800"}}) {
    socket.send(event("transcribe", R"({"language":"de-DE"})") +
                event("audio-start", R"({"rate":16000,"width":2,"channels":1})"));
    for (int i = 0; i < 3; ++i) socket.send(sound.chunk);
    EXPECT_EQ(hear(socket, "transcript-chunk").types, "transcript-start transcript-chunk ");
    socket.send(event("audio-stop"));
    EXPECT_EQ(hear(socket, "transcript").last,
              concat(R"({"text":")", sound.text, R"(","language":"de"})"));
    EXPECT_EQ(hear(socket, "transcript-stop").types, "transcript-stop ");
  }
}

std::unique_ptr<TextSession> open_session(std::shared_ptr<CountingEar> ear) {
  const auto backend = std::make_shared<FakeBackend>();
  const auto ears =
      std::make_shared<const Ears>(std::vector<std::shared_ptr<Recogniser>>{std::move(ear)});
  return std::make_unique<TextSession>(
      backend, make_wyoming_dialect(std::make_shared<ModelTable>(backend), nullptr, ears, [] {}),
      SessionLimits{}, [] {}, 0);
}

TEST(WyomingSession, WaitsForTheRecogniser) {
  const auto ear = std::make_shared<CountingEar>();
  const auto session = open_session(ear);
  session->message(event("audio-start"), true, 0);
  const std::string half_minute = chunk(std::string(960'000, 'a'), 16000, 2, 1);
  for (int i = 0; i < 4; ++i) session->message(half_minute, true, 0);
  EXPECT_FALSE(session->full());
  session->message(half_minute, true, 0);
  EXPECT_TRUE(session->full());
  ear->report_heard(31);
  EXPECT_FALSE(session->full());
}

TEST(WyomingSession, EndsWhenARecordingFallsSilent) {
  const auto open = open_session(std::make_shared<CountingEar>());
  TextSession& session = *open;
  const auto send_frames = [&](double now_s) {
    while (session.next(now_s) != nullptr) session.written();
  };
  session.message(event("audio-start"), true, 0);
  session.message(chunk("abcd", 16000, 2, 1), true, 200);
  send_frames(200);
  session.tick(499, false);
  EXPECT_FALSE(session.closing());
  session.message(event("audio-stop"), true, 499);
  session.tick(1000, true);  // the result is due
  EXPECT_FALSE(session.closing());
  send_frames(1000);
  session.message(event("audio-start"), true, 1000);
  send_frames(1000);
  session.tick(1301, false);
  EXPECT_TRUE(session.closing());
}

TEST_F(WyomingEarsTest, FaultsAreReported) {
  const std::string begin = event("audio-start");
  const std::string bad[] = {
      begin + begin,
      begin + chunk("abc", 16000, 2, 1),
      begin + chunk("abcd", 16000, 4, 1),
      begin + chunk("abcd", 16000, 2, 9),
      begin + chunk("abcd", 0, 2, 1),
      begin + chunk("abcd", 16000, 2, 1) + chunk("abcd", 24000, 2, 1),
      event("transcribe", R"({"language":"xx"})") + begin,
      event("transcribe", R"({"name":"other"})") + begin,
      event("detect"),
  };
  for (const std::string& bytes : bad) {
    RawSocket socket(server_->port());
    socket.send(bytes);
    EXPECT_TRUE(hear(socket, "never").types.ends_with("error ")) << bytes;
  }
  RawSocket socket(server_->port());  // audio of no recording is ignored
  socket.send(chunk("abcd", 16000, 2, 1) + event("audio-stop") + event("ping"));
  EXPECT_EQ(hear(socket, "pong").types, "pong ");
}

TEST_F(WyomingServerTest, FailuresEndTheConnectionWithoutAStop) {
  start();
  const std::string bad[] = {
      event("synthesize", R"({"text":"fail late"})"),
      event("synthesize", R"({"text":"x","voice":{"name":"nobody"}})"),
      event("synthesize", R"({"text":"x","text_format":"ssml"})"),  // the text is not SSML
      event("synthesize", R"({"text":"x","text_format":"html"})"),
      event("synthesize"),
      event("transcribe", R"({"language":"en"})"),
      event("synthesize-start") + event("synthesize-start"),
      "nonsense\n",
  };
  for (const std::string& bytes : bad) {
    RawSocket socket(server_->port());
    socket.send(bytes);
    const Heard heard = hear(socket, "never");
    EXPECT_TRUE(heard.types.ends_with("error ")) << bytes << heard.types;
    EXPECT_EQ(heard.types.find("audio-stop"), std::string::npos) << bytes;
    EXPECT_EQ(heard.last.find("secret"), std::string::npos);
  }
}

TEST_F(WyomingServerTest, AClientThatStillSendsIsNotReset) {
  start();
  RawSocket socket(server_->port());
  socket.send("nonsense\n");
  EXPECT_EQ(hear(socket, "never").types, "error ");
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(socket.send(std::string(256 << 10, ' '))) << i;
}

TEST_F(WyomingServerTest, ClientsThatGoAwayOrDoNotRead) {
  start(0.002, {.max_connections = 2, .stall_timeout_s = 0.5});
  {
    RawSocket gone(server_->port());
    gone.send(event("synthesize", R"({"text":"endless"})"));
    EXPECT_EQ(hear(gone, "audio-chunk").types, "audio-start audio-chunk ");
  }
  EXPECT_TRUE(backend_->wait_idle(5));
  RawSocket stalled(server_->port(), 4096);
  stalled.send(event("synthesize", R"({"text":"endless"})"));
  RawSocket second(server_->port());
  second.send(event("describe"));
  EXPECT_EQ(hear(second, "info").types, "info ");
  RawSocket third(server_->port());
  third.send(event("describe"));
  EXPECT_EQ(hear(third, "info").types, "");  // the server has no free connection
  EXPECT_TRUE(backend_->wait_idle(10));
}

TEST_F(WyomingServerTest, TwentyClientsAndAnEnd) {
  start(0.001);
  std::vector<std::thread> clients;
  for (size_t i = 0; i < 20; ++i) {
    clients.emplace_back([this] {
      RawSocket socket(server_->port());
      socket.send(event("synthesize", R"({"text":"0123456789"})"));
      EXPECT_EQ(hear(socket, "audio-stop").audio, 13 * 1920 * 2u);
    });
  }
  for (std::thread& client : clients) client.join();
  RawSocket idle(server_->port());
  EXPECT_TRUE(server_->drain(5));
  server_.reset();
  EXPECT_EQ(hear(idle, "never").types, "");
}

}  // namespace
}  // namespace syrinx
