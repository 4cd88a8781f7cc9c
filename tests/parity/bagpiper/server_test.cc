// Tests Bagpiper's small checkpoint through the real server's sockets: written answers to questions
// about recordings, scenes made audible by chat, texts read aloud.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/check.h"
#include "engine/collector.h"
#include "families/bagpiper/fixture.h"
#include "server/http/http_server.h"
#include "server/http/test_client_test.h"
#include "server/models/backend.h"
#include "server/request/wire.h"

namespace syrinx::bagpiper {
namespace {

using nlohmann::ordered_json;

constexpr uint32_t kWavBytes = 44;

std::string number_bytes(uint32_t value, size_t bytes) {
  return std::string(reinterpret_cast<const char*>(&value), bytes);
}

/// Returns a WAV file of 16-bit samples; this loses nothing, as the golden recordings are 16-bit.
std::string wav_of(const std::vector<float>& samples) {
  std::string pcm;
  for (const float value : samples) {
    const auto sample = static_cast<int16_t>(value * 32768.f);
    pcm.append(reinterpret_cast<const char*>(&sample), sizeof sample);
  }
  const auto size = static_cast<uint32_t>(pcm.size());
  return "RIFF" + number_bytes(36 + size, 4) + "WAVEfmt " + number_bytes(16, 4) +
         number_bytes(1, 2) + number_bytes(1, 2) + number_bytes(16000, 4) + number_bytes(32000, 4) +
         number_bytes(2, 2) + number_bytes(16, 2) + "data" + number_bytes(size, 4) + pcm;
}

std::string wav_of(int64_t count) {
  return wav_of(fixture::golden_signal(count, static_cast<uint32_t>(count)));
}

struct Writing : Collector {
  void text(std::string_view piece, std::span<const ScoredToken>) override { said += piece; }
  std::string said;
};

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
        load_as<bagpiper::Bagpiper>({bagpiper::golden_path("checkpoint"), "bagpiper"}), engine)));
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
  /// Sends a golden request and returns its answer in words and audio.
  TestAnswer scene(const ordered_json& c, const ordered_json& fields) {
    ordered_json body{{"model", "bagpiper"},
                      {"messages", c["messages"]},
                      {"temperature", 0},
                      {"max_completion_tokens", c["max_tokens"]},
                      {"modalities", {"text", "audio"}},
                      {"audio", {{"voice", "default"}, {"format", "wav"}}}};
    body.update(fields);
    return post("/v1/chat/completions", body);
  }
  TestAnswer transcribe(const std::string& wav, const ordered_json& fields) {
    const auto part = [](const std::string& head, const std::string& value) {
      return "--xyz\r\nContent-Disposition: form-data; name=" + head + "\r\n\r\n" + value + "\r\n";
    };
    std::string form = part("\"file\"; filename=\"a.wav\"", wav);
    for (const auto& [name, value] : fields.items()) {
      form += part('"' + name + '"', value.get<std::string>());
    }
    form += "--xyz--\r\n";
    TestClient client(server_->port());
    client.send(concat("POST /v1/audio/transcriptions HTTP/1.1\r\nHost: localhost\r\n",
                       "Content-Type: multipart/form-data; boundary=xyz\r\nContent-Length: ",
                       form.size(), "\r\n\r\n", form));
    return client.read();
  }
  /// Returns the model's written answer about a recording, without the server.
  static std::string written(std::vector<float> samples) {
    EngineOptions options;
    options.threads = 1;
    options.repetition_s = 0;
    Engine engine(load_as<bagpiper::Bagpiper>({bagpiper::golden_path("checkpoint"), "bagpiper"}),
                  options);
    auto recording = std::make_shared<Recording>(Recording{std::move(samples), 16000});
    const auto sink = std::make_shared<Writing>();
    const Pipeline& model = engine.pipeline();
    EXPECT_TRUE(engine.submit(model.dictation({recording}).take(), sink).ok());
    EXPECT_NE(sink->wait().reason, FinishReason::kError) << sink->wait().error.message;
    const std::string said = model.dictated({}, sink->said, true).text;
    const size_t begin = said.find_first_not_of(" \t\n");
    return begin == said.npos ? "" : said.substr(begin, said.find_last_not_of(" \t\n") + 1 - begin);
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

TEST_F(BagpiperServer, WritesARecordingDown) {
  std::vector<float> samples;
  std::string want;  // the first answer about a recording that is not empty after its thoughts
  for (int64_t count = 20000; want.empty() && count < 30000; count += 1000) {
    samples = fixture::golden_signal(count, static_cast<uint32_t>(count));
    want = written(samples);
  }
  ASSERT_FALSE(want.empty());
  for (const char* model : {"bagpiper", "whisper-1"}) {
    const TestAnswer answer = transcribe(wav_of(samples), {{"model", model}});
    ASSERT_EQ(answer.status, 200) << answer.body;
    const auto json = ordered_json::parse(answer.body);
    EXPECT_EQ(json["text"], want) << model;
    EXPECT_GT(json["usage"]["output_tokens"], 0);
  }
  EXPECT_EQ(transcribe(wav_of(samples), {{"model", "other"}}).status, 404);
  const TestAnswer words = transcribe(wav_of(samples), {{"model", "bagpiper"},
                                                        {"response_format", "verbose_json"},
                                                        {"timestamp_granularities[]", "word"}});
  EXPECT_EQ(words.status, 400) << words.body;
  TestClient client(server_->port());
  client.send("GET /v1/models/bagpiper HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(ordered_json::parse(client.read().body)["transcribes"], true);
}

TEST_F(BagpiperServer, WritesALongRecordingDownFromPauseToPause) {
  constexpr int64_t kSecond = 16000, kPause = 26 * kSecond;
  std::vector<float> samples = fixture::golden_signal(45 * kSecond, 5);
  std::fill_n(samples.begin() + kPause, kSecond, 0.f);
  samples.resize(110 * kSecond);  // silence, longer than one stretch
  std::vector<float> first(samples.begin(), samples.begin() + kPause + kSecond / 10);
  const TestAnswer answer =
      transcribe(wav_of(samples), {{"model", "bagpiper"}, {"response_format", "verbose_json"}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const auto json = ordered_json::parse(answer.body);
  EXPECT_NEAR(json["duration"].get<double>(), 110, 0.01);
  const auto& segments = json["segments"];
  ASSERT_EQ(segments.size(), 2u) << segments;
  EXPECT_EQ(segments[0]["start"], 0);
  EXPECT_NEAR(segments[0]["end"].get<double>(), 26.1, 1e-6);
  EXPECT_NEAR(segments[1]["start"].get<double>(), 26.1, 1e-6);
  EXPECT_LE(segments[1]["end"].get<double>(), 56.1);
  EXPECT_EQ(segments[0]["text"], written(std::move(first)));
  const std::string all = json["text"], text = segments[0]["text"];
  EXPECT_TRUE(all.starts_with(text + " ")) << all;
}

TEST_F(BagpiperServer, GivesTheWordsAndTheSoundOfAScene) {
  const ordered_json c = find("guided_ends");
  const TestAnswer answer = scene(c, ordered_json::object());
  ASSERT_EQ(answer.status, 200) << answer.body;
  const ordered_json choice = ordered_json::parse(answer.body)["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "length") << "the words were cut, not the audio";
  const ordered_json& audio = choice["message"]["audio"];
  EXPECT_EQ(audio["transcript"], c["answer"]);
  const auto sound = base64_decoded(audio["data"].get<std::string>());
  ASSERT_TRUE(sound && sound->size() > kWavBytes);
  const Safetensors golden(bagpiper::golden_path("guided_ends.safetensors"));
  const int64_t frames = golden.view("frames").shape[0] + golden.view("more_0").shape[0];
  EXPECT_EQ(static_cast<int64_t>(sound->size() - kWavBytes), frames * 320 * 2);
}

TEST_F(BagpiperServer, GuidesASceneAsItIsAsked) {
  const ordered_json c = find("ends");
  ASSERT_EQ(c["guidance"], 1);
  const auto sound_of = [&](const ordered_json& fields) {
    const TestAnswer answer = scene(c, fields);
    EXPECT_EQ(answer.status, 200) << answer.body;
    const ordered_json choice = ordered_json::parse(answer.body)["choices"][0];
    EXPECT_EQ(choice["message"]["audio"]["transcript"], c["answer"]) << "words have no guidance";
    return std::pair(choice["message"]["audio"]["data"].get<std::string>(),
                     choice["finish_reason"].get<std::string>());
  };
  const auto [none, reason] = sound_of({{"guidance", 1}});
  EXPECT_EQ(reason, "stop");
  const Safetensors golden(bagpiper::golden_path("ends.safetensors"));
  int64_t frames = 0;
  for (const char* part : {"frames", "more_0", "more_1"}) frames += golden.view(part).shape[0];
  EXPECT_EQ(static_cast<int64_t>(base64_decoded(none)->size() - kWavBytes), frames * 320 * 2);
  EXPECT_NE(sound_of({{"guidance", 5}}).first, none);
}

TEST_F(BagpiperServer, StreamsThePartsOfAnAnswerInTheirOrder) {
  const ordered_json c = find("guided_back");
  const TestAnswer answer =
      post("/v1/chat/completions", {{"model", "bagpiper"},
                                    {"messages", c["messages"]},
                                    {"temperature", 0},
                                    {"stream", true},
                                    {"max_completion_tokens", c["max_tokens"]},
                                    {"modalities", {"text", "audio"}},
                                    {"audio", {{"format", "pcm16"}}}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  struct Part {
    std::string transcript;
    size_t bytes = 0;
  };
  std::vector<Part> parts;
  std::istringstream lines(answer.body);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("data: {")) continue;
    const ordered_json event = ordered_json::parse(line.substr(6));
    const ordered_json audio = event["choices"][0]["delta"].value("audio", ordered_json::object());
    const std::string text = audio.value("transcript", ""), data = audio.value("data", "");
    if (!text.empty()) {
      if (parts.empty() || parts.back().bytes > 0) parts.emplace_back();
      parts.back().transcript += text;
    }
    if (data.empty()) continue;
    ASSERT_FALSE(parts.empty());
    parts.back().bytes += base64_decoded(data)->size();
  }
  ASSERT_EQ(parts.size(), 2u);
  const Safetensors golden(bagpiper::golden_path("guided_back.safetensors"));
  EXPECT_EQ(parts[0].transcript, c["answer"].get<std::string>());
  EXPECT_EQ(static_cast<int64_t>(parts[0].bytes), golden.view("frames").shape[0] * 640);
  const std::string more = c["more"][0], last = c["more"][1];
  EXPECT_EQ(parts[1].transcript, "\n\n" + more + "\n\n" + last);
  EXPECT_EQ(static_cast<int64_t>(parts[1].bytes), golden.view("more_2").shape[0] * 640);
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
}  // namespace syrinx::bagpiper
