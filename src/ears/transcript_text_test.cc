#include "ears/transcript_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ears/ears.h"
#include "text/languages.h"

namespace syrinx {
namespace {

Transcript small_transcript() {
  Transcript out{.language = "en", .duration_s = 3725.5, .segments = {}};
  out.segments.push_back({.start_s = 0.25,
                          .end_s = 1.5,
                          .text = " Hello there.",
                          .tokens = {1, 2},
                          .avg_logprob = -0.5f,
                          .words = {{.start_s = 0.25, .end_s = 0.75, .word = "Hello"},
                                    {.start_s = 0.8, .end_s = 1.5, .word = "there"}}});
  out.segments.push_back({.start_s = 3723.0, .end_s = 3724.0404, .text = " A <b> & \xff."});
  return out;
}

TEST(TranscriptText, SubRip) {
  EXPECT_EQ(transcript_srt({}), "");
  EXPECT_EQ(transcript_srt(small_transcript()),
            "1\n00:00:00,250 --> 00:00:01,500\nHello there.\n\n"
            "2\n01:02:03,000 --> 01:02:04,040\nA <b> & \xff.\n\n");
}

TEST(TranscriptText, WebVtt) {
  EXPECT_EQ(transcript_vtt({}), "WEBVTT\n\n");
  EXPECT_EQ(transcript_vtt(small_transcript()),
            "WEBVTT\n\n00:00:00.250 --> 00:00:01.500\nHello there.\n\n"
            "01:02:03.000 --> 01:02:04.040\nA &lt;b&gt; &amp; \xff.\n\n");
}

TEST(TranscriptText, LongSegmentsAreCutBetweenWords) {
  TranscriptSegment segment{.start_s = 0, .end_s = 30};
  for (int i = 0; i < 60; ++i) {
    segment.text += " word" + std::to_string(i) + ",";
    segment.words.push_back(
        {.start_s = i * 0.5, .end_s = i * 0.5 + 0.4, .word = "word" + std::to_string(i)});
  }
  Transcript transcript{.language = "en", .duration_s = 30, .segments = {segment}};
  const std::string srt = transcript_srt(transcript);
  EXPECT_TRUE(srt.starts_with("1\n00:00:00,000 --> 00:00:05,400\nword0, word1,")) << srt;
  std::string joined;
  for (size_t at = 0; at < srt.size();) {
    size_t end = srt.find('\n', at);
    const std::string line = srt.substr(at, end - at);
    at = end + 1;
    EXPECT_LE(line.size(), 84u);
    if (line.starts_with("word")) joined += " " + line;
  }
  EXPECT_EQ(joined, segment.text);
  // The words do not match the text, so the segment is not divided.
  transcript.segments[0].words[3].word = "other";
  EXPECT_EQ(transcript_srt(transcript).find("\n2\n"), std::string::npos);
}

/// The limit of a cue counts characters, not bytes: two-byte letters count once.
TEST(TranscriptText, CuesAreCountedInCharacters) {
  const auto cut = [](const std::string& word) {
    TranscriptSegment segment{.start_s = 0, .end_s = 6};
    for (int i = 0; i < 20; ++i) {
      segment.text += " " + word;
      segment.words.push_back({.start_s = i * 0.3, .end_s = i * 0.3 + 0.2, .word = word});
    }
    const std::string srt =
        transcript_srt({.language = "ru", .duration_s = 6, .segments = {segment}});
    size_t cues = 0;
    for (size_t at = srt.find("-->"); at != srt.npos; at = srt.find("-->", at + 1)) ++cues;
    return cues;
  };
  EXPECT_EQ(cut("slovo"), 2u);
  EXPECT_EQ(cut("слово"), 2u);
  EXPECT_EQ(cut("のことばを"), 3u) << "two columns each";
}

TEST(TranscriptText, SeekIsWhereTheWindowBegan) {
  Transcript transcript = small_transcript();
  transcript.segments[1].window_s = 3700;
  const auto segments = nlohmann::json::parse(transcript_verbose_json(transcript, {}))["segments"];
  EXPECT_EQ(segments[0]["seek"], 25);
  EXPECT_EQ(segments[1]["seek"], 370000);
}

TEST(TranscriptText, ALineBreakEndsNoCue) {
  Transcript transcript{.language = "en", .duration_s = 1, .segments = {}};
  transcript.segments.push_back({.start_s = 0, .end_s = 1, .text = " a\n\n2\n00:00"});
  transcript.segments.push_back({.start_s = 1, .end_s = 2, .text = " \n "});
  EXPECT_EQ(transcript_srt(transcript), "1\n00:00:00,000 --> 00:00:01,000\na  2 00:00\n\n");
}

TEST(TranscriptText, JsonOfOpenAi) {
  const auto small = nlohmann::json::parse(transcript_json(small_transcript()));
  EXPECT_EQ(small["text"], "Hello there. A <b> & \xEF\xBF\xBD.");
  EXPECT_EQ(small["usage"], (nlohmann::json{{"type", "duration"}, {"seconds", 3725.5}}));
  const auto verbose =
      nlohmann::json::parse(transcript_verbose_json(small_transcript(), {.words = true}));
  EXPECT_EQ(verbose["task"], "transcribe");
  EXPECT_EQ(verbose["language"], "english");
  EXPECT_EQ(verbose["duration"], 3725.5);
  ASSERT_EQ(verbose["segments"].size(), 2u);
  EXPECT_EQ(verbose["segments"][1]["id"], 1);
  EXPECT_EQ(verbose["segments"][1]["end"], 3724.04);
  EXPECT_EQ(verbose["segments"][0]["tokens"], (nlohmann::json{1, 2}));
  EXPECT_EQ(verbose["words"][1]["word"], "there");
  const auto bare = nlohmann::json::parse(transcript_verbose_json(
      small_transcript(), {.segments = false, .words = false, .translated = true}));
  EXPECT_EQ(bare["task"], "translate");
  EXPECT_FALSE(bare.contains("segments"));
  Transcript counted = small_transcript();
  counted.prompt_tokens = 3;
  counted.completion_tokens = 4;
  EXPECT_EQ(nlohmann::json::parse(usage_json(counted))["total_tokens"], 7);
  EXPECT_EQ(nlohmann::json::parse(transcript_json(counted))["usage"]["type"], "tokens");
  EXPECT_EQ(nlohmann::json::parse(transcript_verbose_json(counted, {}))["usage"],
            (nlohmann::json{{"type", "duration"}, {"seconds", 3725.5}}));
}

TEST(Languages, CodesAndNames) {
  EXPECT_EQ(language_name("en"), "english");
  EXPECT_EQ(language_name("xx"), "xx");
  for (const char* called : {"en", "EN", "en-US", "en_GB", "English"}) {
    EXPECT_EQ(language_code(called), "en") << called;
  }
  EXPECT_EQ(language_code("Klingon"), "klingon");
}

class Deaf final : public Recogniser {
 public:
  explicit Deaf(std::string name) : info_{.name = std::move(name)} {}
  const RecogniserInfo& info() const override { return info_; }
  Result<std::unique_ptr<Listener>> open(const ListenOptions&,
                                         std::shared_ptr<TranscriptSink>) override {
    return Error{ErrorCode::kInternal, "deaf"};
  }

 private:
  RecogniserInfo info_;
};

TEST(Ears, ByName) {
  EXPECT_FALSE(Ears().find("").ok());
  const Ears ears({std::make_shared<Deaf>("one"), std::make_shared<Deaf>("two")});
  const auto name_of = [&](const char* called) { return ears.find(called).take()->info().name; };
  EXPECT_EQ(name_of(""), "one");
  EXPECT_EQ(name_of("two"), "two");
  EXPECT_EQ(name_of("whisper-1"), "one");
  EXPECT_EQ(name_of("gpt-4o-mini-transcribe-2025-03-20"), "one");
  const auto unknown = ears.find("three");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_NE(unknown.error().message.find("one, two"), std::string::npos);
  EXPECT_THROW(Ears({std::make_shared<Deaf>("one"), std::make_shared<Deaf>("one")}), LoadError);
}

}  // namespace
}  // namespace syrinx
