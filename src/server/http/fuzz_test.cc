// Mutated input of clients: bodies of speech and batches, and heads of requests. The inputs are the
// same in every run; SYRINX_FUZZ_INPUTS is their number (./check uses sanitizers).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/fuzzing.h"
#include "server/http/routes.h"
#include "server/models/fake_backend_test.h"
#include "server/request/speech_call.h"

namespace syrinx {
namespace {

int runs() { return fuzz_inputs(20'000); }

std::vector<std::string> corpus() {
  std::vector<std::string> paths, out;
  for (const auto& file :
       std::filesystem::directory_iterator(SYRINX_SOURCE_DIR "/tests/fuzz/speech")) {
    paths.push_back(file.path().string());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    std::ifstream in(path, std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return out;
}

PipelineInfo some_info() {
  PipelineInfo info;
  info.model = "finch";
  info.speech.voices = {{"anna", ""}, {"Ben", ""}};
  info.speech.default_voice = "anna";
  info.max_text_bytes = 1000;
  info.offers.add("instructions");
  info.speech.word_times = true;
  return info;
}

/// Expects an error that a client can read.
void expect_refusal(const ApiError& error) {
  EXPECT_TRUE(error.status >= 400 && error.status < 500) << error.message;
  EXPECT_FALSE(error.message.empty());
  EXPECT_FALSE(error.code.empty());
  EXPECT_TRUE(nlohmann::json::accept(error_body(error)));
}

/// Expects that an accepted call is within its bounds.
void expect_call(const SpeechCall& call) {
  const auto within = [](auto value, auto low, auto high) {
    return !value || (*value >= low && *value <= high);
  };
  const SpeechRequest& request = call.request;
  EXPECT_TRUE(!request.say.text.empty() && request.say.text.size() <= 1000);
  EXPECT_TRUE(request.voice.name.empty() || request.voice.name == "anna" ||
              request.voice.name == "Ben");
  EXPECT_TRUE(within(request.sampling.temperature, 0, 2));
  EXPECT_TRUE(within(request.sampling.top_p, 0, 1));
  EXPECT_TRUE(within(request.sampling.min_p, 0, 1));
  EXPECT_TRUE(within(request.sampling.top_k, 0, 1'000'000));
  EXPECT_TRUE(within(request.sampling.repetition_penalty, 0.09f, 10));
  EXPECT_TRUE(request.terms.max_frames >= 0 && request.terms.initial_chunk_frames >= 0);
  EXPECT_LE(call.voices.size(), 8u);
  EXPECT_LE(request.voice.mix.size(), 8u);
  for (const VoiceWish& wish : call.voices) {
    if (!wish.source) continue;
    EXPECT_TRUE(wish.source->audio.size() >= 64 || !wish.source->embedding.empty());
    EXPECT_LE(wish.source->text.size(), 16u << 10);
  }
  EXPECT_TRUE(call.audio.speed >= 0.25 && call.audio.speed <= 4);
  EXPECT_TRUE(call.audio.out_rate_hz == 0 ||
              (call.audio.out_rate_hz >= 8000 && call.audio.out_rate_hz <= 48000));
}

TEST(Fuzz, Bodies) {
  PipelineInfo info = some_info();
  info.speech.mixes = true;
  const VoiceEncoderInfo encoder{
      .family = "f", .version = "1", .modes = {{"whole", true}, {"speaker", false}}};
  Mutator mutator(corpus(), json_tokens());
  int accepted = 0, batches = 0, clones = 0;
  for (int i = 0; i < runs() && !testing::Test::HasFailure(); ++i) {
    const std::string text = mutator.next();
    auto parsed = SpeechBody::parse(text);
    if (const auto* fault = std::get_if<ApiError>(&parsed)) {
      expect_refusal(*fault);
      continue;
    }
    const auto& body = std::get<SpeechBody>(parsed);
    auto call = body.call(i % 2 == 0 ? Speaker(info) : Speaker(info, &encoder));
    if (const auto* fault = std::get_if<ApiError>(&call)) {
      expect_refusal(*fault);
    } else {
      expect_call(std::get<SpeechCall>(call));
      clones += std::get<SpeechCall>(call).voices.empty() ? 0 : 1;
      if (++accepted % 16 == 0) mutator.keep(text);
    }
    auto items = body.items();
    if (const auto* list = std::get_if<std::vector<SpeechBody::Item>>(&items)) {
      EXPECT_TRUE(!list->empty() && list->size() <= SpeechBody::kMaxItems);
      if (++batches % 16 == 0) mutator.keep(text);
    }
  }
  EXPECT_GT(accepted, runs() / 100);  // otherwise the test reaches only the JSON parser
  EXPECT_GT(batches, runs() / 1000);
  EXPECT_GT(clones, runs() / 1000);
}

TEST(Fuzz, VendorBodies) {
  const PipelineInfo info = some_info();
  Mutator mutator(
      {R"({"text": "Hi", "model_id": "eleven_turbo_v2", "voice_settings": {"speed": 1.1}})",
       R"({"transcript": "Hi", "voice": {"mode": "id", "id": "anna"}, "language": "en",
           "output_format": {"container": "raw", "encoding": "pcm_s16le", "sample_rate": 16000}})",
       R"({"text": "Hi", "transcript": "Hi", "output_format": {"container": "wav"}})",
       R"({"input": "Hi", "lang_code": "a", "stream": false, "return_timestamps": true})",
       "output_format=pcm_24000&encoding=linear16&container=none&sample_rate=8000&speed=1.5"},
      json_tokens());
  const char* paths[] = {"/v1/text-to-speech/anna",
                         "/tts/bytes",
                         "/v1/speak",
                         "/tts/sse",
                         "/dev/captioned_speech",
                         "/v1/text-to-speech/anna/stream/with-timestamps"};
  int accepted = 0;
  for (int i = 0; i < runs() && !testing::Test::HasFailure(); ++i) {
    const std::string text = mutator.next(), query = mutator.next();
    auto vendor = *find_vendor_call(paths[i % std::size(paths)]);
    const auto body = native_body(vendor, query, text);
    if (const auto* fault = std::get_if<ApiError>(&body)) {
      expect_refusal(*fault);
      continue;
    }
    const auto parsed = SpeechBody::parse(std::get<std::string>(body));
    ASSERT_TRUE(std::holds_alternative<SpeechBody>(parsed)) << "the translation is no JSON object";
    const auto call = std::get<SpeechBody>(parsed).call(info);
    if (const auto* fault = std::get_if<ApiError>(&call)) {
      expect_refusal(*fault);
    } else {
      expect_call(std::get<SpeechCall>(call));
      if (++accepted % 16 == 0) mutator.keep(text);
    }
  }
  EXPECT_GT(accepted, runs() / 1000);
}

TEST(Fuzz, Heads) {
  const ModelTable models(std::make_shared<FakeBackend>());
  const AccessRules access = {.hosts = {"localhost", "[::1]"}, .origins = {"https://a.example"}};
  const ApiKeys keys({"sesame"});
  Mutator mutator({"/v1/audio/voices/l%6Fw", "/v1/models/fake-1", "model=fake%2D1", "Bearer sesame",
                   "localhost:8080", "[::1]:80", "https://a.example", "/v1/audio/speech",
                   "application/json; charset=utf-8", "POST", "DELETE", "GET", "/health"},
                  json_tokens());
  for (int i = 0; i < runs() && !testing::Test::HasFailure(); ++i) {
    const std::string method = mutator.next(), path = mutator.next(), query = mutator.next();
    const std::string type = mutator.next(), key = mutator.next(), host = mutator.next();
    const std::string origin = mutator.next();
    const RequestHead head{
        .method = method,
        .path = path,
        .query = query,
        .content_type = type,
        .authorization = key,
        .browser = {
            .host = host, .origin = origin, .requested_headers = query, .reads_only = i % 2 == 0}};
    const auto routed = route(head, {.models = i % 3 == 0 ? nullptr : &models,
                                     .keys = i % 5 == 0 ? &keys : nullptr,
                                     .access = i % 7 == 0 ? nullptr : &access});
    if (const auto* reply = std::get_if<Reply>(&routed)) {
      const std::string bytes = response_head(reply->status, reply->headers);
      EXPECT_EQ(bytes.find("\r\n\r\n"), bytes.size() - 4);  // no value ended the head early
      if (reply->status >= 400) {
        EXPECT_TRUE(nlohmann::json::accept(reply->body)) << reply->body;
      }
    }
  }
}

}  // namespace
}  // namespace syrinx
