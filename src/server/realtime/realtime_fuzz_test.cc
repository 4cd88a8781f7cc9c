// Sends sessions hostile events, and results that they did not request.
#include <gtest/gtest.h>

#include "base/fuzzing.h"
#include "server/realtime/context_window.h"
#include "server/realtime/realtime_peer_test.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

/// Returns the events from which the mutator starts, including events of the beta.
const std::vector<std::string>& event_seeds() {
  static const std::vector<std::string> all = {
      R"({"type":"session.update","session":{"audio":{"input":{"turn_detection":null}}}})",
      R"({"type":"session.update","session":{"audio":{"input":{"turn_detection":{"type":"server_vad","silence_duration_ms":100}}}}})",
      R"({"type":"session.update","session":{"audio":{"input":{"turn_detection":{"type":"semantic_vad"},"format":{"type":"audio/pcma"},"transcription":{"model":"x"}}}}})",
      R"({"type":"session.update","session":{"audio":{"input":{"format":null},"output":{"format":{"type":"audio/pcmu"}}},"output_modalities":["text"]}})",
      R"({"type":"session.update","session":{"output_modalities":["audio"],"type":"realtime"}})",
      R"({"type":"input_audio_buffer.commit"})",
      R"({"type":"input_audio_buffer.clear"})",
      R"({"type":"conversation.item.create","item":{"id":"a","type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}})",
      R"({"type":"conversation.item.create","previous_item_id":"root","item":{"type":"message","role":"assistant","content":[{"type":"output_audio","transcript":"hi"}]}})",
      R"({"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_audio","audio":"AAAAAAAAAAAAAAAA"}]}})",
      R"({"type":"conversation.item.create","item":{"type":"function_call","call_id":"c","name":"f"}})",
      R"({"type":"conversation.item.create","item":{"type":"function_call_output","call_id":"c","output":"1"}})",
      R"({"type":"conversation.item.delete","item_id":"a"})",
      R"({"type":"conversation.item.retrieve","item_id":"a"})",
      R"({"type":"conversation.item.truncate","item_id":"item_x_9","content_index":0,"audio_end_ms":5})",
      R"({"type":"response.create"})",
      R"({"type":"response.create","response":{"conversation":"none","input":[{"type":"item_reference","id":"a"}]}})",
      R"({"type":"response.create","response":{"conversation":"none","output_modalities":["text"]}})",
      R"({"type":"response.cancel"})",
      R"({"type":"input_text_buffer.append","text":"What is"})",
      R"({"type":"input_text_buffer.replace","text":"What is the time?","event_id":"e"})",
      R"({"type":"input_text_buffer.commit"})",
      R"({"type":"input_text_buffer.clear"})",
      R"({"type":"input_audio_buffer.append","audio":"AAAAAAAAAAAAAAAA","event_id":"e"})",
      R"({"type":"session.update","session":{"type":"realtime","predict":{"rule":"top_k","k":3,"draft_tokens":30,"hint":"x"}}})",
      R"({"type":"session.update","session":{"instructions":"Be brief.","tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object"}}],"tool_choice":"none","max_output_tokens":40,"temperature":0.8}})",
      R"({"type":"session.update","session":{"tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"function","name":"f"},"truncation":{"type":"retention_ratio","retention_ratio":0.8,"token_limits":{"post_instructions":90}}}})",
      R"({"type":"response.create","response":{"tool_choice":"required","conversation":"none"}})",
      R"({"type":"session.update","session":{"truncation":"disabled"}})",
      R"({"type":"session.update","session":{"modalities":["text"],"voice":"low","input_audio_format":"g711_ulaw","turn_detection":{"type":"server_vad","threshold":0.2,"prefix_padding_ms":10}}})",
      R"({"type":"session.update","session":{"include":["item.input_audio_transcription.logprobs"],"audio":{"input":{"turn_detection":{"type":"server_vad","idle_timeout_ms":5000}}}}})",
      R"({"type":"transcription_session.update","session":{"input_audio_transcription":{"model":"x","language":"en"}}})",
      R"({"type":"response.create","response":{"instructions":"x","metadata":{"a":"b"},"max_output_tokens":"inf","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}})",
      R"({"type":"output_audio_buffer.clear"})"};
  return all;
}
const std::vector<std::string>& event_tokens() {
  static const std::vector<std::string> all = {"null",
                                               "true",
                                               "{}",
                                               "[]",
                                               "\"\"",
                                               "-1",
                                               "0",
                                               "1e999",
                                               "99999999999",
                                               "\\ud800",
                                               "\\u0000",
                                               ",",
                                               ":",
                                               "{",
                                               "}",
                                               "[",
                                               "]",
                                               "\"",
                                               "\xff",
                                               "\"type\":",
                                               "\"session\":",
                                               "\"item_id\":",
                                               "\"item_x_3\"",
                                               "\"resp_x_4\"",
                                               "\"inf\"",
                                               "\"audio\":",
                                               "semantic_vad",
                                               "server_vad",
                                               "audio/pcma",
                                               "item_reference",
                                               "retention_ratio",
                                               "\"required\""};
  return all;
}

/// Sends events with any content in any order, and results of answers and transcripts that may have
/// ended. Nothing throws, every sent event is JSON, memory stays bounded, and the session is quiet
/// in the end.
TEST(RealtimeFuzz, Events) {
  Mutator mutator(event_seeds(), event_tokens());
  const auto roll = [&](size_t most) { return static_cast<size_t>(mutator.below(most)); };
  const int inputs = fuzz_inputs(6000);
  for (int input = 0; input < inputs && !testing::Test::HasFailure();) {
    RealtimePeer peer(
        [&](RealtimeFacts& facts) {
          facts.beta = roll(4) == 0;
          facts.hears = roll(4) == 0;
          if (roll(2) == 0) facts.hears_ahead = {.each_s = 0.05, .anew_s = roll(2) == 0 ? 0 : 0.12};
          facts.speaks = roll(4) > 0;
          facts.calls_tools = roll(2) == 0;
          facts.may_predict = roll(2) == 0;
          facts.predicts = roll(2) == 0;
          if (roll(8) == 0) facts.no_answer = "Nobody answers here.";
        },
        roll(8) == 0);
    for (int step = 0; step < 120; ++step, ++input) {
      const size_t what = roll(12);
      if (what < 2) {
        const bool long_silence = roll(60) == 0;
        std::string bytes(long_silence ? 48 * 7000 : 2 * roll(roll(4) == 0 ? 4000 : 400), '\0');
        if (!long_silence && roll(2) == 0) {
          for (char& byte : bytes) byte = static_cast<char>(roll(256));
        }
        peer.append(bytes);
      } else if (what < 4 && !peer.opened.empty()) {
        const std::string& item = peer.opened[roll(peer.opened.size())].item;
        if (roll(2) == 0) {
          peer.hear(item, {.segments = {" some"}, .partial = "thing"});
        } else {
          peer.hear_all(item, roll(3) == 0 ? "" : "some thing");
        }
      } else if (what < 6 && !peer.begun.empty()) {
        if (roll(8) == 0) {  // shortens the body to a random context window
          const BeginAnswer& begin = peer.begun.back();
          const auto fitted = fitted_chat(
              begin.body, {.calls_tools = true},
              {.how = begin.truncation,
               .room = static_cast<int64_t>(roll(500)),
               .instructions = begin.instructions,
               .tokens = [](const SpeechRequest& request) {
                 return Result(static_cast<int64_t>(request.writing.chat->messages.size()));
               }});
          if (const auto* chat = std::get_if<FittedChat>(&fitted); chat && chat->left > 0) {
            EXPECT_LT(chat->left, begin.body["messages"].size() - begin.instructions);
            if (!begin.items.empty()) peer.session->leave_out(begin.items.at(chat->left - 1));
          }
        }
        if (roll(3) > 0) {
          peer.answer({.text = roll(2) == 0 ? "word " : "",
                       .audio = std::string(roll(2) * 200, 'a'),
                       .ids = std::vector<int32_t>(roll(3), 7),
                       .words = {{"word", 0.1 * static_cast<double>(step)}}});
        } else if (roll(4) == 0) {
          peer.answer({.error = ApiError{.message = "bad"}});
        } else {
          peer.answer({.calls = {{"f", "{}"}}});
          peer.end();
        }
      } else {
        peer.raw(mutator.next(), roll(50) == 0);
      }
    }
    EXPECT_LT(peer.session->kept_bytes(), size_t{8} << 20);
    for (int i = 0; i < 100 && !peer.session->quiet(); ++i) {
      peer.send({{"type", "input_audio_buffer.clear"}});
      for (const OpenHearing& each : std::vector(peer.opened)) peer.hear_all(each.item, "");
      for (const BeginAnswer& each : std::vector(peer.begun)) {
        peer.send({{"type", "response.cancel"}, {"response_id", each.response}});
      }
      peer.send({{"type", "response.cancel"}});
    }
    EXPECT_TRUE(peer.session->quiet()) << input;
  }
}

/// Sends audio of any size and alignment in every format, as valid or damaged base64, with and
/// without a detector. The session keeps all samples of valid audio. Invalid audio causes one error
/// that names the event, and none of its samples are kept.
TEST(RealtimeFuzz, AudioOfAnySizeAndAlignment) {
  const std::vector<std::pair<std::string, int>> formats = {
      // The format, and the bytes of a sample.
      {R"({"type":"audio/pcm","rate":24000})", 2},
      {R"({"type":"audio/pcmu"})", 1},
      {R"({"type":"audio/pcma"})", 1}};
  const std::vector<std::string> detectors = {
      "null", R"({"type":"server_vad","silence_duration_ms":100})", R"({"type":"semantic_vad"})"};
  const std::vector<std::string> damage = {"=", "==", "*", "\n", "-_", "A", "\"", "\xc3\xa9"};
  Mutator mutator({""}, {""});
  const auto roll = [&](size_t most) { return static_cast<size_t>(mutator.below(most)); };
  const int inputs = fuzz_inputs(6000);
  int heard = 0, refused = 0;
  for (int input = 0; input < inputs && !testing::Test::HasFailure();) {
    RealtimePeer peer(
        [](RealtimeFacts& facts) { facts.hears = true; });  // so the session needs no transcript
    const auto& [format, width] = mutator.pick(formats);
    const std::string& detector = mutator.pick(detectors);
    peer.raw(R"({"type":"session.update","session":{"audio":{"input":{"format":)" + format +
             R"(,"turn_detection":)" + detector + "}}}}");
    ASSERT_EQ(peer.events.back()["type"], "session.updated");
    int64_t bytes_heard = 0;  // bytes since the buffer was cleared
    for (int step = 0; step < 60; ++step, ++input) {
      std::string bytes(roll(roll(10) == 0 ? 3000 : 300), '\0');
      if (const size_t kind = roll(3); kind > 0) {
        for (char& byte : bytes) byte = static_cast<char>(kind == 1 ? roll(256) : 0x70);
      }
      std::string text = base64(bytes);
      if (roll(6) == 0) {
        const size_t at = roll(text.size() + 1);
        roll(2) == 0 ? text.insert(at, mutator.pick(damage)) : text.erase(at, 1 + roll(5));
      }
      const auto left = base64_decoded(text);
      const bool whole = left && left->size() % static_cast<size_t>(width) == 0;
      int errors = 0;
      for (const JsonIn& event : peer.send(
               {{"type", "input_audio_buffer.append"}, {"event_id", "mine"}, {"audio", text}})) {
        if (event["type"] != "error") continue;
        ++errors;
        EXPECT_EQ(event["error"]["event_id"], "mine");
      }
      EXPECT_EQ(errors, whole ? 0 : 1) << bytes.size() << " bytes: " << text;
      (whole ? heard : refused)++;
      if (whole) bytes_heard += std::ssize(*left);
    }
    if (detector != "null") continue;
    // The buffer has all valid audio, resampled to 16 kHz, except samples that the resampler holds
    // back.
    peer.events.clear();
    peer.raw(R"({"type":"input_audio_buffer.commit"})");
    const double samples = static_cast<double>(bytes_heard / width) * (width == 2 ? 2. / 3 : 2);
    if (samples < 1700) continue;
    ASSERT_EQ(peer.events.at(0)["type"], "input_audio_buffer.committed");
    const std::string item = peer.events[0]["item_id"];
    peer.events.clear();
    peer.send({{"type", "conversation.item.retrieve"}, {"item_id", item}});
    const auto audio =
        base64_decoded(peer.events.at(0)["item"]["content"][0]["audio"].get<std::string>());
    ASSERT_TRUE(audio.has_value());
    EXPECT_EQ(audio->size() % static_cast<size_t>(width), 0u);
    EXPECT_NEAR(static_cast<double>(audio->size()), static_cast<double>(bytes_heard),
                200.0 * width);
  }
  EXPECT_GT(heard, inputs / 3);
  EXPECT_GT(refused, inputs / 50);
}

}  // namespace
}  // namespace syrinx
