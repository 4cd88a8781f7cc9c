#include "server/request/vendor_body.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/check.h"

namespace syrinx {
namespace {

using nlohmann::json;

json native(const char* path, const char* query, const char* body) {
  auto call = find_vendor_call(path);
  EXPECT_TRUE(call) << path;
  const auto out = native_body(*call, query, body);
  if (const auto* fault = std::get_if<ApiError>(&out)) {
    return {{"fault", fault->param}, {"message", fault->message}};
  }
  return json::parse(std::get<std::string>(out));
}

TEST(VendorBody, Paths) {
  EXPECT_EQ(find_vendor_call("/v1/text-to-speech/a%20b/stream")->voice, "a b");
  EXPECT_EQ(find_vendor_call("/v1/text-to-speech/anna")->voice, "anna");
  EXPECT_EQ(find_vendor_call("/v1/text-to-speech/a/with-timestamps")->answer, VendorCall::kTimes);
  EXPECT_EQ(find_vendor_call("/v1/text-to-speech/a/stream/with-timestamps")->answer,
            VendorCall::kTimesByPiece);
  EXPECT_EQ(find_vendor_call("/tts/sse")->answer, VendorCall::kEvents);
  for (const char* path : {"/v1/text-to-speech/", "/v1/text-to-speech//stream",
                           "/v1/text-to-speech/with-timestamps/x", "/tts/ssed", "/v1/speaks"}) {
    EXPECT_FALSE(find_vendor_call(path)) << path;
  }
}

TEST(VendorBody, ElevenLabs) {
  EXPECT_EQ(native("/v1/text-to-speech/anna", "output_format=pcm_16000",
                   R"({"text": "Hi", "model_id": "eleven_turbo_v2", "seed": 7,
                       "language_code": "en", "voice_settings": {"speed": 1.1, "stability": 1}})"),
            json::parse(R"({"input": "Hi", "voice": "anna", "seed": 7, "language_hint": "en",
                            "model": "eleven_turbo_v2", "speed": 1.1, "response_format": "pcm", "sample_rate": 16000})"));
  const json plain = native("/v1/text-to-speech/anna/stream", "", R"({"text": "Hi"})");
  EXPECT_EQ(plain["response_format"], "mp3");
  EXPECT_EQ(plain["sample_rate"], 44100);
  EXPECT_EQ(native("/v1/text-to-speech/a", "output_format=gif", "{}")["fault"], "output_format");
  const json ulaw = native("/v1/text-to-speech/a", "output_format=ulaw_8000", "{}");
  EXPECT_EQ(ulaw["response_format"], "pcm");
  EXPECT_EQ(ulaw["encoding"], "pcm_mulaw");
  EXPECT_EQ(ulaw["sample_rate"], 8000);
  EXPECT_EQ(native("/v1/text-to-speech/a", "output_format=wav_24000", "{}")["stream"], false);
  EXPECT_EQ(native("/v1/text-to-speech/a/with-timestamps", "", "{}")["stream"], false);
  EXPECT_EQ(native("/v1/text-to-speech/a/stream/with-timestamps", "", "{}")["stream_format"],
            "sse");
}

TEST(VendorBody, KokoroFastApi) {
  auto call = find_vendor_call("/dev/captioned_speech");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->answer, VendorCall::kCaptions);
  const auto body = [&](const char* text) {
    return json::parse(std::get<std::string>(native_body(*call, "", text)));
  };
  EXPECT_EQ(
      body(R"({"input": "Hi", "voice": "af_sky", "lang_code": "a", "stream": false})"),
      json::parse(R"({"input": "Hi", "voice": "af_sky", "lang_code": "a", "stream": false})"));
  EXPECT_TRUE(call->words);
  EXPECT_EQ(body(R"({"input": "Hi", "return_timestamps": false})")["stream_format"], "sse");
  EXPECT_FALSE(call->words);
  EXPECT_FALSE(find_vendor_call("/dev/captioned_speeches"));
}

TEST(VendorBody, Cartesia) {
  EXPECT_EQ(
      native("/tts/bytes", "",
             R"({"transcript": "Hi", "model_id": "finch", "voice": {"mode": "id", "id": "b"},
                       "generation_config": {"speed": 0.9, "volume": 1.5}, "language": "en",
                       "output_format": {"container": "raw", "encoding": "pcm_s16le",
                                         "sample_rate": 16000}})"),
      json::parse(R"({"input": "Hi", "model": "finch", "voice": "b", "speed": 0.9, "volume": 1.5,
                            "language_hint": "en", "response_format": "pcm",
                            "encoding": "pcm_s16le", "sample_rate": 16000})"));
  const json wav = native("/tts/bytes", "",
                          R"({"transcript": "Hi", "output_format": {"container": "wav",
                              "encoding": "pcm_f32le", "sample_rate": 44100}})");
  EXPECT_EQ(wav["response_format"], "wav");
  EXPECT_EQ(wav["encoding"], "pcm_f32le");
  EXPECT_EQ(native("/tts/bytes", "", "{}")["fault"], "output_format");
  EXPECT_EQ(native("/tts/bytes", "", R"({"output_format": {"container": "gif"}})")["fault"],
            "output_format.container");
  EXPECT_EQ(native("/tts/bytes", "",
                   R"({"output_format": {"container": "raw", "encoding": "gif"}})")["fault"],
            "output_format.encoding");
  EXPECT_EQ(native("/tts/sse", "", R"({"output_format": {"container": "mp3"}})")["fault"],
            "output_format.container");
  VendorCall call = *find_vendor_call("/tts/sse");
  native_body(call, "",
              R"({"context_id": "c", "add_timestamps": true,
                  "output_format": {"container": "raw", "encoding": "pcm_s16le"}})");
  EXPECT_EQ(call.context_id, "c");
  EXPECT_TRUE(call.words);
}

TEST(VendorBody, Deepgram) {
  EXPECT_EQ(
      native("/v1/speak", "model=aura-2-thalia-en", R"({"text": "Hi"})"),
      json::parse(R"({"input": "Hi", "voice": "aura-2-thalia-en", "response_format": "mp3"})"));
  EXPECT_EQ(
      native("/v1/speak", "model=anna&encoding=linear16&container=none&sample_rate=16000&speed=1.2",
             R"({"text": "Hi"})"),
      json::parse(R"({"input": "Hi", "voice": "anna", "response_format": "pcm",
                            "sample_rate": 16000, "speed": 1.2})"));
  EXPECT_EQ(native("/v1/speak", "encoding=linear16", "{}")["response_format"], "wav");
  EXPECT_EQ(native("/v1/speak", "encoding=gif", "{}")["fault"], "encoding");
  const json mulaw = native("/v1/speak", "encoding=mulaw&container=none", "{}");
  EXPECT_EQ(mulaw["encoding"], "mulaw");
  EXPECT_EQ(mulaw["response_format"], "pcm");
  EXPECT_EQ(mulaw["sample_rate"], 8000);
  EXPECT_EQ(native("/v1/speak", "sample_rate=many", "{}")["fault"], "sample_rate");
}

TEST(VendorBody, ErrorsNameTheVendorsFields) {
  const auto named = [](const char* path, const char* field) {
    ApiError error = bad_field(field, concat("'", field, "' must be in 'range'."));
    name_vendor_fields(*find_vendor_call(path), error);
    return error.param + ": " + error.message;
  };
  EXPECT_EQ(named("/v1/text-to-speech/anna", "input"), "text: 'text' must be in 'range'.");
  EXPECT_EQ(named("/tts/bytes", "input"), "transcript: 'transcript' must be in 'range'.");
  EXPECT_EQ(named("/tts/sse", "speed"),
            "generation_config.speed: 'generation_config.speed' must be in 'range'.");
  EXPECT_EQ(named("/v1/speak", "voice"), "model: 'model' must be in 'range'.");
  EXPECT_EQ(named("/v1/speak", "speed"), "speed: 'speed' must be in 'range'.");
  EXPECT_EQ(named("/dev/captioned_speech", "input"), "input: 'input' must be in 'range'.");
}

TEST(VendorBody, WhatIsNoObject) {
  for (const char* body : {"", "[]", "\"text\"", "{", "\xff"}) {
    EXPECT_TRUE(native("/v1/speak", "", body).contains("fault")) << body;
  }
}

}  // namespace
}  // namespace syrinx
