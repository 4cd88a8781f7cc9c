#include "server/request/speech_call.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/check.h"

namespace syrinx {
namespace {

PipelineInfo test_info() {
  PipelineInfo info;
  info.model = "finch";
  info.speech.voices = {{"anna", ""}, {"Ben", ""}};
  info.speech.default_voice = "anna";
  info.max_text_bytes = 100;
  return info;
}

std::variant<SpeechCall, ApiError> parse_speech_call(const std::string& body,
                                                     const PipelineInfo& info) {
  auto parsed = SpeechBody::parse(body);
  if (auto* error = std::get_if<ApiError>(&parsed)) return std::move(*error);
  return std::get<SpeechBody>(parsed).call(info);
}

SpeechCall parse(const std::string& body, const PipelineInfo& info = test_info()) {
  auto parsed = parse_speech_call(body, info);
  if (const auto* error = std::get_if<ApiError>(&parsed)) {
    ADD_FAILURE() << body << " -> " << error->message;
    return {};
  }
  return std::get<SpeechCall>(parsed);
}

ApiError fault(const std::string& body, const PipelineInfo& info = test_info()) {
  auto parsed = parse_speech_call(body, info);
  if (std::holds_alternative<SpeechCall>(parsed)) {
    ADD_FAILURE() << body << " was accepted";
    return {};
  }
  return std::get<ApiError>(parsed);
}

TEST(SpeechCall, ModelTakesWhatItCanOfTheSpeed) {
  PipelineInfo info = test_info();
  const auto shares = [&](const char* body) {
    const SpeechCall call = parse(body, info);
    return std::pair(call.request.voice.speed, call.audio.speed);
  };
  EXPECT_EQ(shares(R"({"input": "a", "speed": 1.5})"), std::pair(1.f, 1.5));
  info.offers.add("speed", {0.5f, 2});
  EXPECT_EQ(shares(R"({"input": "a"})"), std::pair(1.f, 1.0));
  EXPECT_EQ(shares(R"({"input": "a", "speed": 1.5})"), std::pair(1.5f, 1.0));
  EXPECT_EQ(shares(R"({"input": "a", "speed": 4})"), std::pair(2.f, 2.0));
  EXPECT_EQ(shares(R"({"input": "a", "speed": 0.25})"), std::pair(0.5f, 0.5));
  SpeechCall again = parse(R"({"input": "a", "speed": 4})", info);
  share_speed(info, again);
  EXPECT_EQ(again.request.voice.speed, 2);
}

TEST(SpeechCall, LanguageHintsAreForModelsThatKnowThem) {
  PipelineInfo info = test_info();
  EXPECT_EQ(parse(R"({"input": "a", "language_hint": "de"})", info).request.say.language, "");
  info.speech.languages = {"de", "en"};
  EXPECT_EQ(parse(R"({"input": "a", "language_hint": "de-AT"})", info).request.say.language, "de");
  EXPECT_EQ(parse(R"({"input": "a", "language_hint": "xx"})", info).warnings.size(), 1u);
  EXPECT_EQ(parse(R"({"input": "a", "language_hint": "auto"})", info).warnings.size(), 0u);
  EXPECT_EQ(parse(R"({"input": "a", "language_hint": "de"})", info).request.say.language, "de");
  EXPECT_EQ(parse(R"({"input": "a", "language_hint": "xx"})", info).request.say.language, "");
  EXPECT_EQ(parse(R"({"input": "a", "language": "en", "language_hint": "de"})", info)
                .request.say.language,
            "en");
}

TEST(SpeechCall, FieldsOfKokorosClients) {
  PipelineInfo info = test_info();
  EXPECT_EQ(parse(R"({"input": "a", "lang_code": "j"})", info).request.say.language, "");
  info.speech.languages = {"en-us", "en-gb", "ja"};
  EXPECT_EQ(parse(R"({"input": "a", "lang_code": "j"})", info).request.say.language, "ja");
  EXPECT_EQ(parse(R"({"input": "a", "lang_code": "B"})", info).request.say.language, "en-gb");
  EXPECT_EQ(parse(R"({"input": "a", "lang_code": "en-gb"})", info).request.say.language, "en-gb");
  EXPECT_EQ(parse(R"({"input": "a", "lang_code": "z"})", info).warnings.size(), 1u);
  EXPECT_EQ(parse(R"({"input": "a", "lang_code": null})", info).request.say.language, "");
  EXPECT_EQ(
      parse(R"({"input": "a", "lang_code": "j", "language": "en-us"})", info).request.say.language,
      "en-us");
  EXPECT_EQ(parse(R"({"input": "a", "volume_multiplier": 2})", info).audio.volume, 2);
  EXPECT_EQ(parse(R"({"input": "a", "volume_multiplier": 2, "volume": 1})", info).audio.volume, 1);
}

TEST(SpeechCall, FullBody) {
  PipelineInfo info = test_info();
  info.offers.add("instructions");
  const SpeechCall call = parse(
      R"({"model": "finch", "input": "Hello", "voice": "Ben", "response_format": "pcm",
          "instructions": "softly", "speed": 1.0, "stream_format": "sse", "seed": 7,
          "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.05,
          "repetition_penalty": 1.1, "language": "English", "max_new_tokens": 200, "unknown": [], "stream": true,
          "task_type": "CustomVoice", "initial_codec_chunk_frames": 3, "ref_audio": null})",
      info);
  EXPECT_EQ(call.request.say.text, "Hello");
  EXPECT_EQ(call.request.voice.name, "Ben");
  EXPECT_EQ(call.audio.format, AudioFormat::kPcm);
  EXPECT_EQ(call.audio.out_rate_hz, 24000);
  EXPECT_EQ(call.request.terms.initial_chunk_frames, 3);
  EXPECT_TRUE(call.sse);
  EXPECT_EQ(call.request.say.instructions, "softly");
  EXPECT_EQ(call.request.sampling.seed, 7u);
  EXPECT_FLOAT_EQ(*call.request.sampling.temperature, 0.5f);
  EXPECT_FLOAT_EQ(*call.request.sampling.top_p, 0.9f);
  EXPECT_EQ(*call.request.sampling.top_k, 40);
  EXPECT_FLOAT_EQ(*call.request.sampling.min_p, 0.05f);
  EXPECT_FLOAT_EQ(*call.request.sampling.repetition_penalty, 1.1f);
  EXPECT_EQ(call.request.say.language, "English");
  EXPECT_EQ(call.request.terms.max_frames, 200);
}

TEST(SpeechCall, DefaultsAndNulls) {
  const SpeechCall call = parse(
      R"({"input": "Hi", "model": null, "voice": null, "speed": null, "seed": null,
          "response_format": null, "instructions": "", "temperature": null})");
  EXPECT_EQ(call.audio.format, AudioFormat::kMp3);
  EXPECT_EQ(call.audio.out_rate_hz, 0);
  EXPECT_EQ(call.audio.speed, 1.0);
  EXPECT_FALSE(call.sse);
  EXPECT_EQ(call.request.voice.name, "");
  EXPECT_FALSE(call.request.sampling.temperature.has_value());
  EXPECT_EQ(call.request.terms.max_frames, 0);
  EXPECT_LT(call.request.sampling.seed, uint64_t{1} << 53);
  EXPECT_NE(call.request.sampling.seed, parse(R"({"input": "Hi"})").request.sampling.seed);
}

TEST(SpeechCall, VoicesAndModels) {
  EXPECT_EQ(parse(R"({"input": "a", "voice": {"id": "anna"}})").request.voice.name, "anna");
  EXPECT_EQ(parse(R"({"input": "a", "voice": "ben"})").request.voice.name, "Ben");
  for (const char* voice : {"alloy", "ash", "Nova", "cedar"}) {
    EXPECT_EQ(
        parse(R"({"input": "a", "voice": ")" + std::string(voice) + R"("})").request.voice.name,
        "anna");
  }
  for (const char* model : {"finch", "tts-1", "tts-1-hd", "gpt-4o-mini-tts"}) {
    parse(R"({"input": "a", "model": ")" + std::string(model) + R"("})");
  }
  PipelineInfo own = test_info();
  own.speech.voices.push_back({"alloy", ""});
  EXPECT_EQ(parse(R"({"input": "a", "voice": "alloy"})", own).request.voice.name, "alloy");
}

TEST(SpeechCall, InstructionsThatTheModelLacks) {
  const std::string body = R"({"input": "a", "instructions": "softly"})";
  const SpeechCall call = parse(body);
  EXPECT_EQ(call.request.say.instructions, "");
  ASSERT_EQ(call.warnings.size(), 1u);
  EXPECT_NE(call.warnings[0].find("instructions"), std::string::npos);
  EXPECT_NE(call.warnings[0].find("finch"), std::string::npos);
  const PipelineInfo info = test_info();
  const auto strict = std::get<SpeechBody>(SpeechBody::parse(body)).call(info, true);
  ASSERT_TRUE(std::holds_alternative<ApiError>(strict));
  EXPECT_EQ(std::get<ApiError>(strict).param, "instructions");
  EXPECT_EQ(std::get<ApiError>(strict).code, "unsupported_value");
  EXPECT_TRUE(parse(R"({"input": "a", "instructions": ""})").warnings.empty());
}

TEST(SpeechCall, SsmlBecomesPlain) {
  PipelineInfo info = test_info();
  info.offers.add("speed", {0.5, 2});
  info.speech.word_times = true;
  const SpeechCall call = parse(
      R"({"input": "<speak>a <mark name='m'/><prosody rate='50%' pitch='high'>b</prosody></speak>"})",
      info);
  EXPECT_TRUE(call.ssml);
  EXPECT_EQ(call.request.say.text, "a b");
  ASSERT_EQ(call.marks.size(), 1u);
  EXPECT_EQ(call.marks[0].at, 2);
  ASSERT_EQ(call.request.say.deliveries.size(), 1u);
  EXPECT_FLOAT_EQ(call.request.say.deliveries[0].rate, 0.5f);
  ASSERT_EQ(call.warnings.size(), 1u);  // the warning is about the pitch
  EXPECT_NE(call.warnings[0].find("pitch"), std::string::npos);
  const std::string body = R"({"input": "<speak><voice>a</voice></speak>"})";
  const auto strict = std::get<SpeechBody>(SpeechBody::parse(body)).call(info, true);
  EXPECT_TRUE(std::holds_alternative<ApiError>(strict));
  EXPECT_FALSE(parse(R"({"input": "<speak>a</speak>", "ssml": false})").ssml);
  EXPECT_FALSE(parse(R"({"input": "a <speak>"})").ssml);
}

TEST(SpeechCall, PronunciationsAreALexicon) {
  const SpeechCall call = parse(R"({"input": "a", "pronunciations": {"nginx": "engine X"}})");
  ASSERT_TRUE(call.request.say.lexicon);
  EXPECT_EQ(call.request.say.lexicon->size(), 1u);
  for (const char* bad : {R"({"a b": "c"})", R"({"a": 1})", R"(["a"])", R"({"a": "/§/"})"}) {
    const auto body = SpeechBody::parse(concat(R"({"input": "a", "pronunciations": )", bad, "}"));
    const PipelineInfo info = test_info();
    const auto fault = std::get<SpeechBody>(body).call(info);
    ASSERT_TRUE(std::holds_alternative<ApiError>(fault)) << bad;
    EXPECT_EQ(std::get<ApiError>(fault).param, "pronunciations");
  }
}

TEST(SpeechCall, AliasesOfVoices) {
  const PipelineInfo info = test_info();
  const VoiceAliases aliases = {{"21m00Tcm4TlvDq8ikWAM", "ben"}, {"alloy", "Ben"}, {"x", "nobody"}};
  const Speaker speaker(info, nullptr, nullptr, &aliases);
  const auto voice = [&](const char* name) {
    const std::string body = std::string(R"({"input": "a", "voice": ")") + name + "\"}";
    auto call = std::get<SpeechBody>(SpeechBody::parse(body)).call(speaker);
    auto* good = std::get_if<SpeechCall>(&call);
    return good ? good->request.voice.name : "refused: " + std::get<ApiError>(call).code;
  };
  EXPECT_EQ(voice("21m00Tcm4TlvDq8ikWAM"), "Ben");
  EXPECT_EQ(voice("alloy"), "Ben") << "the operator's word goes before OpenAI's names";
  EXPECT_EQ(voice("ash"), "anna");
  EXPECT_EQ(voice("aura-2-thalia-en"), "anna");
  EXPECT_EQ(voice("x"), "refused: voice_not_found");
}

TEST(SpeechCall, EncodingsAndWholeAnswers) {
  SpeechCall call = parse(R"({"input": "a", "response_format": "pcm", "encoding": "pcm_mulaw"})");
  EXPECT_EQ(call.audio.coding, SampleCoding::kMulaw);
  EXPECT_EQ(call.audio.out_rate_hz, 8000);
  call = parse(R"({"input": "a", "response_format": "pcm", "encoding": "pcm_f32le"})");
  EXPECT_EQ(call.audio.coding, SampleCoding::kF32);
  EXPECT_EQ(call.audio.out_rate_hz, 24000);
  call = parse(R"({"input": "a", "response_format": "mp3", "encoding": "pcm_f32le"})");
  EXPECT_EQ(call.audio.coding, SampleCoding::kS16) << "of samples only";
  EXPECT_FALSE(call.whole);
  EXPECT_FALSE(parse(R"({"input": "a", "stream": true})").whole);
  EXPECT_TRUE(parse(R"({"input": "a", "stream": false})").whole);
  EXPECT_FALSE(parse(R"({"input": "a", "stream": false, "stream_format": "sse"})").whole);
}

TEST(SpeechCall, OptionsOfFewModels) {
  const SpeechRequest plain = parse(R"({"input": "a"})").request;
  EXPECT_EQ(plain.terms.flow, FlowMode::kAuto);
  EXPECT_FALSE(plain.terms.offline);
  EXPECT_EQ(plain.voice.speaker, -1);
  const SpeechRequest r = parse(R"({"input": "a", "flow": "full", "exaggeration": 0.7, "speaker": 3,
      "inner_temperature": 0, "inner_top_p": 0.5, "inner_top_k": 7,
      "guidance": 2, "spell_numbers": false, "stream": false})")
                              .request;
  EXPECT_EQ(r.terms.flow, FlowMode::kFull);
  EXPECT_TRUE(r.terms.offline);
  EXPECT_EQ(r.voice.exaggeration, 0.7f);
  EXPECT_EQ(r.say.spell_numbers, false);
  EXPECT_FALSE(plain.say.spell_numbers);
  EXPECT_EQ(r.voice.speaker, 3);
  EXPECT_EQ(r.sampling.inner_temperature, 0.f);
  EXPECT_EQ(r.sampling.inner_top_p, 0.5f);
  EXPECT_EQ(r.sampling.inner_top_k, 7);
  EXPECT_EQ(r.sampling.guidance, 2.f);
  EXPECT_EQ(parse(R"({"input": "a", "flow": "causal"})").request.terms.flow, FlowMode::kCausal);
  EXPECT_EQ(fault(R"({"input": "a", "flow": "half"})").param, "flow");
  EXPECT_EQ(fault(R"({"input": "a", "exaggeration": 9})").param, "exaggeration");
  EXPECT_EQ(fault(R"({"input": "a", "speaker": -1})").param, "speaker");
}

TEST(SpeechCall, EarlierTurns) {
  PipelineInfo info = test_info();
  const std::string two =
      R"({"input": "a", "context": [{"speaker": 1, "text": "Hi."}, {"text": "Oh?"}]})";
  EXPECT_EQ(fault(two, info).param, "context");
  info.speech.context = true;
  const SpeechCall call = parse(two, info);
  ASSERT_EQ(call.request.say.context.size(), 2u);
  EXPECT_EQ(call.request.say.context[0].voice, "1");
  EXPECT_EQ(call.request.say.context[0].text, "Hi.");
  EXPECT_EQ(call.request.say.context[1].voice, "0");
  EXPECT_TRUE(call.voices.empty());
  EXPECT_EQ(fault(R"({"input": "a", "context": [{"speaker": 1}]})", info).param, "context[0].text");
  EXPECT_EQ(fault(R"({"input": "a", "context": ["Hi."]})", info).param, "context[0]");
  EXPECT_EQ(fault(R"({"input": "a", "context": "Hi."})", info).param, "context");
  const std::string sound = std::string(4000, 'A');
  const std::string body = R"({"input": "a", "voice": "ben", "context": [{"text": "b"},
      {"speaker": 2, "text": "c", "audio": ")" +
                           sound + R"("}]})";
  EXPECT_EQ(fault(body, info).param, "context");  // this model cannot clone
  const VoiceEncoderInfo encoder{.family = "test", .version = "1", .modes = {{"x", true}}};
  auto parsed = SpeechBody::parse(body);
  auto heard = std::get<SpeechBody>(parsed).call({info, &encoder});
  ASSERT_TRUE(std::holds_alternative<SpeechCall>(heard)) << std::get<ApiError>(heard).message;
  SpeechCall& with = std::get<SpeechCall>(heard);
  EXPECT_EQ(with.request.voice.name, "Ben");
  ASSERT_EQ(with.voices.size(), 1u);
  EXPECT_EQ(with.voices[0].turn, 1);
  EXPECT_EQ(with.voices[0].source->text, "c");
  // The fetched voice becomes the turn's voice. The request's own voice is unchanged.
  const std::shared_ptr<const Voice> made[] = {std::make_shared<const Voice>()};
  put_voices(with.voices, made, with.request);
  EXPECT_EQ(with.request.voice.name, "Ben");
  EXPECT_FALSE(with.request.voice.data);
  EXPECT_FALSE(with.request.say.context[0].recording);
  EXPECT_EQ(with.request.say.context[1].recording, made[0]);
}

TEST(SpeechCall, Seeds) {
  EXPECT_EQ(parse(R"({"input": "a", "seed": 0})").request.sampling.seed, 0u);
  EXPECT_FALSE(parse(R"({"input": "a", "service_tier": "auto"})").request.terms.background);
  EXPECT_TRUE(parse(R"({"input": "a", "service_tier": "flex"})").request.terms.background);
  for (const char* body : {R"({"input": "a", "seed": -1})", R"({"input": "a", "seed": -1.0})"}) {
    EXPECT_LT(parse(body).request.sampling.seed, uint64_t{1} << 53) << "random";
    EXPECT_NE(parse(body).request.sampling.seed, parse(body).request.sampling.seed);
  }
  EXPECT_EQ(parse(R"({"input": "a", "top_k": 7.0})").request.sampling.top_k, 7)
      << "an integer in JSON";
  EXPECT_EQ(parse(R"({"input": "a", "seed": 18446744073709551615})").request.sampling.seed,
            ~uint64_t{0});
}

TEST(SpeechCall, HalvesOfCharactersAreReplaced) {
  EXPECT_EQ(parse(R"({"input": "a\ud83d"})").request.say.text, "a\ufffd");
  EXPECT_EQ(parse(R"({"input": "\ude00 \ud83d\ude00"})").request.say.text, "\ufffd \U0001f600");
}

TEST(SpeechCall, AnEmptyVoiceIsNone) {
  EXPECT_EQ(parse(R"({"input": "a", "voice": ""})").request.voice.name,
            parse(R"({"input": "a"})").request.voice.name);
  EXPECT_EQ(parse(R"({"input": "a", "voice": {"id": " "}})").request.voice.name,
            parse(R"({"input": "a"})").request.voice.name);
}

TEST(SpeechCall, BoundsAreShownWithAllTheirDigits) {
  EXPECT_NE(fault(R"({"input": "a", "max_new_tokens": -1})").message.find("between 1 and 1000000."),
            std::string::npos);
  EXPECT_NE(fault(R"({"input": "a", "speed": 9})").message.find("between 0.25 and 4."),
            std::string::npos);
}

TEST(SpeechCall, TopKOff) {
  EXPECT_EQ(*parse(R"({"input": "a", "top_k": -1})").request.sampling.top_k, 0);
  EXPECT_EQ(*parse(R"({"input": "a", "top_k": 0})").request.sampling.top_k, 0);
}

struct BadBody {
  const char* body;
  int status;
  const char* param;
  const char* code;
  const char* says;  ///< part of the message
};

class BadBodies : public testing::TestWithParam<BadBody> {};

TEST_P(BadBodies, AreRefused) {
  const BadBody& bad = GetParam();
  const ApiError error = fault(bad.body);
  EXPECT_EQ(error.status, bad.status) << bad.body;
  EXPECT_EQ(error.param, bad.param) << bad.body;
  EXPECT_EQ(error.code, bad.code) << bad.body;
  EXPECT_NE(error.message.find(bad.says), std::string::npos) << bad.body << ": " << error.message;
}

INSTANTIATE_TEST_SUITE_P(
    Json, BadBodies,
    testing::Values(BadBody{"", 400, "", "invalid_json", "JSON"},
                    BadBody{"{", 400, "", "invalid_json", "byte"},
                    BadBody{"[]", 400, "", "invalid_json", "object"},
                    BadBody{"\"text\"", 400, "", "invalid_json", "object"},
                    BadBody{"{\"input\": \"\xff\xfe\"}", 400, "", "invalid_json", "UTF-8"},
                    BadBody{R"({"input": "a"} x)", 400, "", "invalid_json", "byte"},
                    BadBody{R"({"input": "a", "speed": 1e999})", 400, "", "invalid_json",
                            "range"}));

INSTANTIATE_TEST_SUITE_P(
    Types, BadBodies,
    testing::Values(
        BadBody{R"({"input": 5})", 400, "input", "invalid_type", "a string, not a number"},
        BadBody{R"({"input": ["a"]})", 400, "input", "invalid_type", "not an array"},
        BadBody{R"({"input": "a", "model": 1})", 400, "model", "invalid_type", "string"},
        BadBody{R"({"input": "a", "voice": 1})", 400, "voice", "invalid_type", "string"},
        BadBody{R"({"input": "a", "voice": {}})", 400, "voice.id", "invalid_value", "id"},
        BadBody{R"({"input": "a", "voice": {"id": 5}})", 400, "voice.id", "invalid_value", "id"},
        BadBody{R"({"input": "a", "seed": "7"})", 400, "seed", "invalid_type", "integer"},
        BadBody{R"({"input": "a", "seed": 1.5})", 400, "seed", "invalid_type", "integer"},
        BadBody{R"({"input": "a", "seed": 1e30})", 400, "seed", "invalid_value", "between 0 and"},
        BadBody{R"({"input": "a", "seed": 18446744073709551616})", 400, "seed", "invalid_value",
                "between 0 and"},
        BadBody{R"({"input": "a", "seed": -2})", 400, "seed", "invalid_value",
                "between 0 and 18446744073709551615, or -1."},
        BadBody{R"({"input": "a", "service_tier": 1})", 400, "service_tier", "invalid_type", ""},
        BadBody{R"({"input": "a", "service_tier": "soon"})", 400, "service_tier", "invalid_value",
                "flex"},
        BadBody{R"({"input": "a", "temperature": "hot"})", 400, "temperature", "invalid_type", ""},
        BadBody{R"({"input": "a", "temperature": true})", 400, "temperature", "invalid_type",
                "a number, not a boolean"},
        BadBody{R"({"input": "a", "top_k": 1.5})", 400, "top_k", "invalid_type", "an integer"},
        BadBody{R"({"input": "a", "language": 1})", 400, "language", "invalid_type", ""},
        BadBody{R"({"input": "a", "instructions": 1})", 400, "instructions", "invalid_type", ""},
        BadBody{R"({"input": "a", "response_format": 1})", 400, "response_format", "invalid_type",
                ""}));

INSTANTIATE_TEST_SUITE_P(
    Values, BadBodies,
    testing::Values(
        BadBody{"{}", 400, "input", "invalid_value", "input"},
        BadBody{R"({"input": ""})", 400, "input", "invalid_value", "text to speak"},
        BadBody{R"({"input": " \n\t "})", 400, "input", "invalid_value", "text to speak"},
        BadBody{R"({"input": "a", "voice": "zoe"})", 400, "voice", "voice_not_found", "anna, Ben"},
        BadBody{R"({"input": "a", "response_format": "pcm", "encoding": "mp3"})", 400, "encoding",
                "invalid_value", "pcm_mulaw"},
        BadBody{R"({"input": "a", "stream": "no"})", 400, "stream", "invalid_type", ""},
        BadBody{R"({"input": "a", "response_format": "xyz"})", 400, "response_format",
                "invalid_value", "mp3, opus"},
        BadBody{R"({"input": "a", "stream_format": "ws"})", 400, "stream_format", "invalid_value",
                "sse"},
        BadBody{R"({"input": "a", "sample_rate": 7999})", 400, "sample_rate", "invalid_value", ""},
        BadBody{R"({"input": "a", "ref_audio": "x"})", 400, "ref_audio", "unsupported_value",
                "clone"},
        BadBody{R"({"input": "a", "references": []})", 400, "references", "unsupported_value",
                "clone"},
        BadBody{R"({"input": "a", "x_vector_only_mode": true})", 400, "x_vector_only_mode",
                "unsupported_value", "clone"},
        BadBody{R"({"input": "a", "speaker_embedding": []})", 400, "speaker_embedding",
                "invalid_value", "numbers"},
        BadBody{R"({"input": "a", "voice": "anna+Ben"})", 400, "voice", "unsupported_value",
                "does not mix"},
        BadBody{R"({"input": "a", "voice": "anna("})", 400, "voice", "invalid_value", "anna(2)"},
        BadBody{R"({"input": "a", "task_type": "Base"})", 400, "task_type", "unsupported_value",
                "'Base'"},
        BadBody{R"({"input": "a", "task_type": "VoiceDesign"})", 400, "task_type",
                "unsupported_value", "finch"},
        BadBody{R"({"input": "a", "word_timestamps": true})", 400, "word_timestamps",
                "unsupported_value", "words"},
        BadBody{R"({"input": "a", "word_timestamps": 1})", 400, "word_timestamps", "invalid_type",
                ""},
        BadBody{R"({"input": "a", "initial_codec_chunk_frames": -1})", 400,
                "initial_codec_chunk_frames", "invalid_value", ""},
        BadBody{R"({"input": "a", "speed": 9})", 400, "speed", "invalid_value", "0.25"},
        BadBody{R"({"input": "a", "volume": 0})", 400, "volume", "invalid_value", "0.1"},
        BadBody{R"({"input": "a", "volume": 4.5})", 400, "volume", "invalid_value", "4"},
        BadBody{R"({"input": "a", "volume": "loud"})", 400, "volume", "invalid_type", "number"},
        BadBody{R"({"input": "a", "temperature": -1})", 400, "temperature", "invalid_value", "2"},
        BadBody{R"({"input": "a", "top_p": 1.1})", 400, "top_p", "invalid_value", "between"},
        BadBody{R"({"input": "a", "top_k": -2})", 400, "top_k", "invalid_value", "between"},
        BadBody{R"({"input": "a", "max_new_tokens": 0})", 400, "max_new_tokens", "invalid_value",
                ""},
        BadBody{R"({"input": "a", "max_new_tokens": 99999999999999999999})", 400, "max_new_tokens",
                "invalid_value", "between"},
        BadBody{R"({"input": "a", "top_k": 18446744073709551615})", 400, "top_k", "invalid_value",
                "between"}));

TEST(SpeechCall, RatesAndSpeed) {
  SpeechCall call =
      parse(R"({"input": "a", "response_format": "wav", "sample_rate": 48000, "speed": 0.5})");
  EXPECT_EQ(call.audio.out_rate_hz, 48000);
  EXPECT_EQ(call.audio.speed, 0.5);
  EXPECT_EQ(call.audio.volume, 1);
  EXPECT_EQ(parse(R"({"input": "a", "volume": 0.1})").audio.volume, 0.1f);
  EXPECT_EQ(parse(R"({"input": "a", "volume": 4})").audio.volume, 4);
  EXPECT_EQ(parse(R"({"input": "a", "response_format": "m4a"})").audio.format, AudioFormat::kM4a);
  call = parse(R"({"input": "a", "response_format": "ogg"})");
  EXPECT_EQ(call.audio.format, AudioFormat::kOpus);
}

TEST(SpeechCall, PhoneTimestamps) {
  PipelineInfo info = test_info();
  const std::string body = R"({"input": "a", "stream_format": "sse", "phone_timestamps": true})";
  EXPECT_EQ(fault(body, info).param, "phone_timestamps");
  info.speech.phone_times = true;
  EXPECT_TRUE(parse(body, info).request.terms.phone_times);
  EXPECT_FALSE(parse(R"({"input": "a"})", info).request.terms.phone_times);
  EXPECT_EQ(fault(R"({"input": "a", "phone_timestamps": true})", info).param, "phone_timestamps");
}

TEST(SpeechCall, WordTimestamps) {
  PipelineInfo info = test_info();
  info.speech.word_times = true;
  const std::string body = R"({"input": "a", "stream_format": "sse", "word_timestamps": )";
  EXPECT_TRUE(parse(body + "true}", info).words);
  EXPECT_FALSE(parse(body + "false}", info).words);
  EXPECT_EQ(fault(R"({"input": "a", "word_timestamps": true})", info).param, "word_timestamps");
}

TEST(SpeechCall, LongText) {
  const std::string text(101, 'a');
  const ApiError error = fault(R"({"input": ")" + text + R"("})");
  EXPECT_EQ(error.param, "input");
  EXPECT_EQ(error.code, "string_above_max_length");
  EXPECT_NE(error.message.find("101"), std::string::npos);
  EXPECT_NE(error.message.find("at most 100"), std::string::npos);
}

TEST(SpeechCall, DeepNestingDoesNoHarm) {
  fault(std::string(500'000, '['));
  fault(std::string(200'000, '[') + std::string(200'000, ']'));
}

}  // namespace
}  // namespace syrinx
