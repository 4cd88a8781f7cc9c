// Field names of the Realtime API's beta are converted to current names and back. For whole
// sessions, see tests/http/test_realtime.py.
#include "server/realtime/beta_names.h"

#include <gtest/gtest.h>

#include <string>

namespace syrinx {
namespace {

JsonIn in_today(const char* beta) {
  JsonIn event = JsonIn::parse(beta);
  from_beta(event);
  return event;
}

JsonOut in_beta(const char* now) {
  JsonOut event = JsonOut::parse(now);
  return to_beta(event) ? event : JsonOut();
}

TEST(BetaNames, FlatSession) {
  EXPECT_EQ(in_today(R"({"type": "session.update", "session": {"modalities": ["text", "audio"],
      "voice": "alloy", "instructions": "Be brief.", "input_audio_format": "g711_ulaw",
      "output_audio_format": "pcm16", "input_audio_transcription": {"model": "whisper-1"},
      "turn_detection": null, "temperature": 0.8, "max_response_output_tokens": 200}})"),
            JsonIn::parse(R"({"type": "session.update", "session": {
      "output_modalities": ["text", "audio"], "instructions": "Be brief.", "temperature": 0.8,
      "max_output_tokens": 200, "audio": {
        "input": {"format": {"type": "audio/pcmu"}, "transcription": {"model": "whisper-1"},
                  "turn_detection": null},
        "output": {"format": {"type": "audio/pcm"}, "voice": "alloy"}}}})"));
}

TEST(BetaNames, ResponsesAndTranscription) {
  EXPECT_EQ(in_today(R"({"type": "response.create", "response": {"modalities": ["text"],
      "voice": "echo"}})"),
            JsonIn::parse(R"({"type": "response.create", "response": {
      "output_modalities": ["text"], "audio": {"output": {"voice": "echo"}}}})"));
  EXPECT_EQ(in_today(R"({"type": "transcription_session.update", "session": {
      "input_audio_format": "pcm16"}})"),
            JsonIn::parse(R"({"type": "session.update", "session": {"type": "transcription",
      "audio": {"input": {"format": {"type": "audio/pcm"}}}}})"));
}

/// Fields of unexpected types stay unchanged. The code that reads them refuses them.
TEST(BetaNames, OddEventsStay) {
  for (const char* same :
       {R"({})", R"({"type": 7})", R"({"type": "session.update"})",
        R"({"type": "session.update", "session": []})", R"({"type": "response.create"})",
        R"({"type": "input_audio_buffer.commit", "session": {"voice": "x"}})"}) {
    EXPECT_EQ(in_today(same), JsonIn::parse(same)) << same;
  }
  // If an event has both names, the current name counts. A value that is not an object does not
  // become an object.
  EXPECT_EQ(in_today(R"({"type": "session.update", "session": {"voice": "a", "audio": {"output":
      {"voice": "b"}}}})")["session"]["audio"]["output"]["voice"],
            "b");
  EXPECT_EQ(
      in_today(R"({"type": "session.update", "session": {"voice": "a", "audio": 3}})")["session"]
                                                                                      ["audio"],
      3);
  EXPECT_EQ(in_today(R"({"type": "session.update", "session": {"input_audio_format": "mp3"}})")
                ["session"]["audio"]["input"]["format"]["type"],
            "mp3");
}

TEST(BetaNames, FieldsThatMoved) {
  const auto found = beta_field_in({{"type", "realtime"}, {"voice", "alloy"}});
  ASSERT_TRUE(found);
  EXPECT_STREQ(found->name, "voice");
  EXPECT_EQ(found->today, "audio.output.voice");
  EXPECT_EQ(beta_field_in({{"modalities", nullptr}})->today, "output_modalities");
  EXPECT_FALSE(beta_field_in({{"instructions", ""}, {"audio", {{"input", {}}}}}));
}

TEST(BetaNames, EventsOut) {
  EXPECT_EQ(in_beta(R"({"type": "response.output_audio.delta", "delta": "AA=="})"),
            JsonOut::parse(R"({"type": "response.audio.delta", "delta": "AA=="})"));
  EXPECT_EQ(in_beta(R"({"type": "response.output_audio_transcript.done"})")["type"],
            "response.audio_transcript.done");
  EXPECT_EQ(in_beta(R"({"type": "response.output_text.delta"})")["type"], "response.text.delta");
  EXPECT_EQ(in_beta(R"({"type": "response.output_item.done", "item": {"type": "message",
      "content": [{"type": "output_audio"}, {"type": "input_audio"}]}})"),
            JsonOut::parse(R"({"type": "response.output_item.done", "item": {"type": "message",
      "content": [{"type": "audio"}, {"type": "input_audio"}]}})"));
  EXPECT_EQ(in_beta(R"({"type": "conversation.item.added", "item": {"content": []}})")["type"],
            "conversation.item.created");
  EXPECT_EQ(in_beta(R"({"type": "conversation.item.done"})"), JsonOut());
}

TEST(BetaNames, SessionsAndResponsesOut) {
  const JsonOut session = in_beta(R"({"type": "session.updated", "session": {"type": "realtime",
      "object": "realtime.session", "id": "s", "model": "m", "output_modalities": ["audio"],
      "instructions": "", "tools": [], "tool_choice": "auto", "max_output_tokens": "inf",
      "audio": {"input": {"format": {"type": "audio/pcma"}, "transcription": null,
                          "noise_reduction": null, "turn_detection": {"type": "server_vad"}},
                "output": {"format": {"type": "audio/pcm", "rate": 24000}, "voice": "finch",
                           "speed": 1}}}})")["session"];
  EXPECT_EQ(session.at("modalities"), JsonOut::array({"text", "audio"}));
  EXPECT_EQ(session.at("voice"), "finch");
  EXPECT_EQ(session.at("input_audio_format"), "g711_alaw");
  EXPECT_EQ(session.at("output_audio_format"), "pcm16");
  EXPECT_EQ(session.at("turn_detection").at("type"), "server_vad");
  EXPECT_EQ(session.at("max_response_output_tokens"), "inf");
  EXPECT_FALSE(session.contains("audio"));
  const JsonOut response = in_beta(R"({"type": "response.done", "response": {"id": "r",
      "output_modalities": ["text"], "audio": {"output": {"voice": "finch",
      "format": {"type": "audio/pcm"}}}, "output": [{"content": [{"type": "output_text"}]}]}})")
      ["response"];
  EXPECT_EQ(response.at("modalities"), JsonOut::array({"text"}));
  EXPECT_EQ(response.at("output")[0].at("content")[0].at("type"), "text");
  EXPECT_EQ(response.at("output_audio_format"), "pcm16");
  EXPECT_FALSE(response.contains("output_modalities"));
  EXPECT_EQ(in_beta(R"({"type": "session.created", "session": {"type": "transcription", "id": "s",
      "object": "realtime.transcription_session", "audio": {"input": {}}}})")["type"],
            "transcription_session.created");
}

}  // namespace
}  // namespace syrinx
