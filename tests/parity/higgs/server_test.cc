// Tests Higgs Audio's small checkpoint through the server's sockets: speech with the voice of a
// recording in the request, or of one stored before, equals speech with the golden voice's frames.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "codec/qwen3_audio_fixture.h"
#include "engine/collector.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "io/test_dir.h"
#include "runtime/runtime.h"
#include "server/http/http_server.h"
#include "server/http/test_client_test.h"
#include "server/models/backend.h"
#include "server/request/wire.h"
#include "voices/voice_store.h"

namespace syrinx::higgs {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kHeardSamples = 24500;
constexpr int kSpokenFrames = 12;
constexpr const char* kWords = "hello there, how are you?";

std::string higgs_golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/higgs/golden/" + name;
}

std::string little_endian(uint32_t value, size_t bytes) {
  return std::string(reinterpret_cast<const char*>(&value), bytes);
}

/// Returns the golden's recording as a WAV file of 16-bit samples at 24 kHz; this loses nothing.
std::string heard_wav() {
  std::string pcm;
  for (const float value : fixture::golden_signal(kHeardSamples, kHeardSamples)) {
    pcm += little_endian(static_cast<uint32_t>(static_cast<int32_t>(value * 32768.f)), 2);
  }
  const auto size = static_cast<uint32_t>(pcm.size());
  return "RIFF" + little_endian(36 + size, 4) + "WAVEfmt " + little_endian(16, 4) +
         little_endian(1, 2) + little_endian(1, 2) + little_endian(24000, 4) +
         little_endian(48000, 4) + little_endian(2, 2) + little_endian(16, 2) + "data" +
         little_endian(size, 4) + pcm;
}

std::unique_ptr<Engine> higgs_engine() {
  LoadOptions load;
  load.model = higgs_golden("checkpoint");
  load.weights = "f32";
  load.engine.threads = 2;
  load.engine.repetition_s = 0;
  return load_engine(load);
}

TEST(HiggsServer, SpeaksWithTheVoiceOfARecording) {
  const auto alone = higgs_engine();
  const Safetensors golden(higgs_golden("encoder.safetensors"));
  const View codes = golden.view("codes_24500");
  Voice voice{.family = "higgs_audio", .encoder = "given", .mode = "in-context", .text = kWords};
  Tensor kept(codes.shape, DType::kI32);
  std::copy_n(codes.i32(), codes.count(), kept.i32());
  voice.tensors.emplace("codes", std::move(kept));
  SpeechRequest request;
  request.say.text = "Hello.";
  request.sampling.temperature = 0.f;
  request.terms.max_frames = kSpokenFrames;
  request.voice.data = std::make_shared<const Voice>(std::move(voice));
  const auto sink = std::make_shared<Collector>();
  ASSERT_TRUE(alone->submit(request, sink).ok());
  ASSERT_NE(sink->wait().reason, FinishReason::kError) << sink->wait().error.message;
  const std::vector<float> want = sink->samples();
  ASSERT_EQ(std::ssize(want), kSpokenFrames * 960);

  const TestDir store;
  ServerOptions options;
  options.port = 0;
  options.voices =
      std::make_shared<VoiceDesk>(std::make_shared<VoiceStore>(store.path()), VoiceDeskOptions{});
  HttpServer server(std::move(options));
  const std::shared_ptr<Backend> backend = make_backend(higgs_engine());
  server.open(backend);
  const auto post = [&](const char* path, const char* type, const std::string& body) {
    TestClient client(server.port());
    client.send(concat("POST ", path, " HTTP/1.1\r\nHost: localhost\r\nContent-Type: ", type,
                       "\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
    return client.read();
  };
  const auto say = [&](ordered_json body) {
    body["input"] = "Hello.";
    body["temperature"] = 0;
    body["max_new_tokens"] = kSpokenFrames;
    body["response_format"] = "pcm";
    return post("/v1/audio/speech", "application/json", body.dump());
  };
  const TestAnswer sent =
      say({{"ref_audio", "data:audio/wav;base64," + base64(heard_wav())}, {"ref_text", kWords}});
  ASSERT_EQ(sent.status, 200) << sent.body;
  ASSERT_EQ(sent.body.size(), want.size() * sizeof(int16_t));
  const auto* got = reinterpret_cast<const int16_t*>(sent.body.data());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got[i] / 32768., std::clamp(want[i], -1.f, 1.f), 1e-4) << i;
  }

  const std::string mark = "part";
  const auto field = [&](const char* name, const std::string& value, const char* more = "") {
    return concat("--", mark, "\r\nContent-Disposition: form-data; name=\"", name, "\"", more,
                  "\r\n\r\n", value, "\r\n");
  };
  const TestAnswer stored = post(
      "/v1/audio/voices", ("multipart/form-data; boundary=" + mark).c_str(),
      concat(field("name", "anna"), field("ref_text", kWords),
             field("audio_sample", heard_wav(), "; filename=\"a.wav\""), "--", mark, "--\r\n"));
  ASSERT_EQ(stored.status, 200) << stored.body;
  const TestAnswer named = say({{"voice", "anna"}});
  ASSERT_EQ(named.status, 200) << named.body;
  EXPECT_EQ(named.body, sent.body);
  // The recording is shorter than a second.
  const TestAnswer brief =
      say({{"ref_audio", "data:audio/wav;base64," + base64(heard_wav().substr(0, 44 + 24000))}});
  EXPECT_EQ(brief.status, 400) << brief.body;
}

}  // namespace
}  // namespace syrinx::higgs
