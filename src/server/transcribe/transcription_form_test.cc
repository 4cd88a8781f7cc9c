#include "server/transcribe/transcription_form.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/fuzzing.h"
#include "ears/transcript_text.h"
namespace syrinx {
namespace {

using Format = TranscriptionCall::Format;

TranscriptionCall read_call(std::vector<FormPart> form, bool translate = false) {
  form.push_back({.name = "file", .filename = "a.wav", .data = "RIFF"});
  auto call = read_transcription(form, translate);
  if (auto* fault = std::get_if<ApiError>(&call)) {
    ADD_FAILURE() << fault->message;
    return {};
  }
  return std::get<TranscriptionCall>(call);
}

std::string refused_field(std::vector<FormPart> form) {
  form.push_back({.name = "file", .filename = "a.wav", .data = "RIFF"});
  const auto call = read_transcription(form, false);
  const auto* fault = std::get_if<ApiError>(&call);
  return fault == nullptr ? "" : fault->param;
}

FormPart field(const char* name, std::string_view value) { return {name, "", value}; }

TEST(TranscriptionForm, ReadsEveryField) {
  const TranscriptionCall plain = read_call({});
  EXPECT_EQ(plain.file, "RIFF");
  EXPECT_EQ(plain.format, Format::kJson);
  EXPECT_FALSE(plain.stream || plain.listen.word_times || plain.listen.translate);
  const TranscriptionCall all = read_call(
      {field("model", "whisper-1"), field("language", "English"), field("prompt", "Tea"),
       field("keywords[]", "milk"), field("keywords[]", "sugar"), field("temperature", "0.25"),
       field("response_format", "verbose_json"), field("timestamp_granularities[]", "word"),
       field("timestamp_granularities[]", "segment"), field("chunking_strategy", "auto"),
       field("stream", "false"), field("whatever", "else")});
  EXPECT_EQ(all.model, "whisper-1");
  EXPECT_EQ(all.listen.language, "en");
  EXPECT_EQ(all.listen.prompt, "Tea, milk, sugar");
  EXPECT_EQ(all.listen.temperatures, std::vector<float>{0.25f});
  EXPECT_TRUE(all.words && all.segments && all.listen.word_times);
  EXPECT_FALSE(read_call({field("response_format", "verbose_json"),
                          field("timestamp_granularities[0]", "word")})
                   .segments);
  EXPECT_TRUE(read_call({field("response_format", "srt")}).listen.word_times);
  EXPECT_TRUE(read_call({field("stream", "true")}).listen.follow);
  EXPECT_TRUE(read_call({field("include[]", "logprobs")}).listen.scores);
  EXPECT_EQ(read_call({field("languages[]", "de"), field("languages[]", "en")}).listen.language,
            "");
  EXPECT_EQ(read_call({field("languages[]", "de")}).listen.language, "de");
  const TranscriptionCall english = read_call({field("language", "de")}, true);
  EXPECT_TRUE(english.listen.translate);
  EXPECT_EQ(english.listen.language, "");
  EXPECT_TRUE(read_call({field("temperature", "0")}).listen.temperatures.empty());
}

TEST(TranscriptionForm, RefusesByName) {
  EXPECT_EQ(std::get<ApiError>(read_transcription({}, false)).param, "file");
  EXPECT_EQ(refused_field({field("response_format", "xml")}), "response_format");
  EXPECT_EQ(refused_field({field("temperature", "0.5x")}), "temperature");
  EXPECT_EQ(refused_field({field("temperature", "-1")}), "temperature");
  EXPECT_EQ(refused_field({field("temperature", "1e99")}), "temperature");
  EXPECT_EQ(refused_field({field("stream", "2")}), "stream");
  EXPECT_EQ(refused_field({field("stream", "true"), field("response_format", "vtt")}), "stream");
  EXPECT_EQ(refused_field({field("include[]", "logprobs"), field("response_format", "text")}),
            "include");
  EXPECT_EQ(refused_field({field("include[]", "speakers")}), "include");
  EXPECT_EQ(refused_field({field("timestamp_granularities[]", "word")}), "timestamp_granularities");
  EXPECT_EQ(refused_field({field("chunking_strategy", "{\"type\": \"other\"}")}),
            "chunking_strategy");
  EXPECT_EQ(refused_field({field("prompt", std::string(17 << 10, 'a'))}), "prompt");
}

TEST(TranscriptionForm, Events) {
  TranscriptSegment segment{.text = " Hello"};
  EXPECT_EQ(transcript_delta_event(segment, true, false),
            "data: {\"type\":\"transcript.text.delta\",\"delta\":\"Hello\"}\n\n");
  EXPECT_EQ(transcript_delta_event(segment, false, false),
            "data: {\"type\":\"transcript.text.delta\",\"delta\":\" Hello\"}\n\n");
  segment.text = " ";
  EXPECT_EQ(transcript_delta_event(segment, true, false), "");
  const std::string usage = ",\"usage\":{\"type\":\"duration\",\"seconds\":1.5}}";
  EXPECT_EQ(transcript_done_event({.language = "en", .duration_s = 1.5, .segments = {}}, false),
            "data: {\"type\":\"transcript.text.done\",\"text\":\"\"" + usage + "\n\n");
  segment = {.text = " H\u00e9", .pieces = {{" H", -0.5f}, {"\xc3", -1}, {"\xa9", -0.25f}}};
  const std::string scores =
      ",\"logprobs\":[{\"token\":\" H\",\"logprob\":-0.5,\"bytes\":[32,72]},"
      "{\"token\":\"\uFFFD\",\"logprob\":-1.0,\"bytes\":[195]},"
      "{\"token\":\"\uFFFD\",\"logprob\":-0.25,\"bytes\":[169]}]";
  EXPECT_EQ(transcript_delta_event(segment, true, true),
            "data: {\"type\":\"transcript.text.delta\",\"delta\":\"H\u00e9\"" + scores + "}\n\n");
  const Transcript whole{.language = "en", .duration_s = 1.5, .segments = {segment}};
  EXPECT_EQ(
      transcript_done_event(whole, true),
      "data: {\"type\":\"transcript.text.done\",\"text\":\"H\u00e9\"" + scores + usage + "\n\n");
  EXPECT_EQ(transcript_json(whole, true), "{\"text\":\"H\u00e9\"" + scores + usage);
}

/// Fields of any bytes are either refused or read with values within their bounds.
TEST(TranscriptionFormFuzz, AnyFields) {
  const int runs = fuzz_inputs(20'000);
  const std::vector<std::string> names = {"file",
                                          "model",
                                          "language",
                                          "languages[]",
                                          "prompt",
                                          "keywords[]",
                                          "response_format",
                                          "timestamp_granularities[]",
                                          "stream",
                                          "temperature",
                                          "include[]",
                                          "chunking_strategy",
                                          "keywords",
                                          "timestamp_granularities"};
  const std::vector<std::string> values = {"auto",         "{\"type\": \"server_vad\"}",
                                           "verbose_json", "word",
                                           "segment",      "true",
                                           "0.5",          "1e-9",
                                           "en",           "\xff\xfe",
                                           "[[[[",         "",
                                           "srt",          "{\"type\": [1, {\"a\": null}]}",
                                           "nan",          "german",
                                           "logprobs"};
  std::mt19937 random(3);
  int taken = 0;
  for (int run = 0; run < runs; ++run) {
    std::vector<std::string> texts(random() % 8);
    std::vector<FormPart> form;
    for (std::string& text : texts) {
      text = values[random() % values.size()];
      for (uint32_t change = 0; change < random() % 3; ++change) {
        const size_t at = random() % (text.size() + 1);
        if (random() % 2 == 0) {
          text.insert(at, 1, static_cast<char>(random()));
        } else {
          text.erase(at, 1 + random() % 3);
        }
      }
    }
    for (const std::string& text : texts) {
      form.push_back({names[random() % names.size()], "", text});
    }
    if (random() % 4 != 0) form.push_back({"file", "", "RIFF"});
    const auto call = read_transcription(form, random() % 4 == 0);
    const auto* read = std::get_if<TranscriptionCall>(&call);
    if (read == nullptr) continue;
    ++taken;
    for (const float each : read->listen.temperatures) ASSERT_TRUE(each > 0 && each <= 1);
    ASSERT_LE(read->listen.language.size(), 40u);
    Transcript transcript{.language = "en", .duration_s = 1, .segments = {}};
    transcript.segments.push_back({.text = read->listen.prompt});
    const std::string body = transcription_body(*read, transcript);
    if (std::string(transcription_type(read->format)) == "application/json") {
      ASSERT_TRUE(nlohmann::json::accept(body)) << body;
    }
  }
  EXPECT_GT(taken, runs / 20);
}

}  // namespace
}  // namespace syrinx
