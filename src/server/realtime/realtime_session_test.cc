// The session of the Realtime API as a state machine, without sockets and without an engine.
#include "server/realtime/realtime_session.h"

#include <gtest/gtest.h>

#include "ears/recogniser.h"
#include "server/realtime/realtime_peer_test.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

TEST(RealtimeSession, BeginsWithItsConfiguration) {
  RealtimePeer peer;
  ASSERT_EQ(kinds_of(peer.events), "session.created conversation.created");
  const JsonIn session = peer.events[0]["session"];
  EXPECT_EQ(session["type"], "realtime");
  EXPECT_EQ(session["model"], "writer");
  EXPECT_EQ(session["output_modalities"], JsonIn::array({"audio"}));
  EXPECT_EQ(session["audio"]["input"]["format"], JsonIn({{"type", "audio/pcm"}, {"rate", 24000}}));
  EXPECT_EQ(session["audio"]["input"]["turn_detection"]["type"], "server_vad");
  EXPECT_EQ(session["audio"]["input"]["turn_detection"]["silence_duration_ms"], 500);
  EXPECT_TRUE(session["audio"]["input"]["transcription"].is_null());
  EXPECT_EQ(session["audio"]["output"]["voice"], "low");
  EXPECT_EQ(session["max_output_tokens"], "inf");
}

TEST(RealtimeSession, UpdatesMergeAndNullIsTheDefault) {
  RealtimePeer peer;
  const auto updated = [&](JsonIn session) {
    const auto events = peer.send(session_update(std::move(session)));
    EXPECT_EQ(kinds_of(events), "session.updated");
    return events.at(0)["session"];
  };
  JsonIn now = updated({{"type", "realtime"},
                        {"instructions", "Be brief."},
                        {"max_output_tokens", 50},
                        {"audio",
                         {{"input",
                           {{"turn_detection", {{"type", "server_vad"}, {"threshold", 0.7}}},
                            {"transcription", {{"model", "whisper-1"}}},
                            {"format", {{"type", "audio/pcmu"}}}}},
                          {"output", {{"voice", "high"}, {"speed", 1.25}}}}}});
  EXPECT_EQ(now["audio"]["input"]["turn_detection"]["threshold"], 0.7);
  EXPECT_EQ(now["audio"]["input"]["format"], JsonIn({{"type", "audio/pcmu"}}));
  now = updated({{"type", "realtime"}, {"tracing", nullptr}});  // all other settings remain
  EXPECT_EQ(now["instructions"], "Be brief.");
  EXPECT_EQ(now["max_output_tokens"], 50);
  EXPECT_EQ(now["audio"]["output"]["speed"], 1.25);
  EXPECT_EQ(now["audio"]["input"]["transcription"]["model"], "whisper-1");
  now = updated({{"instructions", nullptr},
                 {"max_output_tokens", nullptr},
                 {"audio",
                  {{"input", {{"turn_detection", nullptr}, {"transcription", nullptr}}},
                   {"output", {{"voice", nullptr}}}}}});
  EXPECT_EQ(now["instructions"], "");
  EXPECT_EQ(now["max_output_tokens"], "inf");
  EXPECT_TRUE(now["audio"]["input"]["turn_detection"].is_null());
  EXPECT_TRUE(now["audio"]["input"]["transcription"].is_null());
  EXPECT_EQ(now["audio"]["output"]["voice"], "low");
  EXPECT_EQ(now["audio"]["input"]["format"]["type"], "audio/pcmu");
  now = updated({{"audio", {{"input", {{"turn_detection", {{"type", "semantic_vad"}}}}}}}});
  EXPECT_EQ(now["audio"]["input"]["turn_detection"]["eagerness"], "auto");
}

TEST(RealtimeSession, BeginsWithAConversation) {
  const RealtimePeer peer;
  ASSERT_EQ(kinds_of(peer.events), "session.created conversation.created");
  EXPECT_EQ(peer.events[1]["conversation"],
            (JsonIn{{"id", "conv_x"}, {"object", "realtime.conversation"}}));
  EXPECT_EQ(kinds_of(RealtimePeer({}, true).events), "session.created")
      << "who only has things written down holds none";
}

TEST(RealtimeSession, TruncationIsReadAndSent) {
  RealtimePeer peer;
  const auto updated = [&](const JsonIn& truncation) {
    return peer.send(session_update({{"truncation", truncation}})).at(0)["session"]["truncation"];
  };
  const auto begun = [&] {
    peer.send(respond());
    peer.end();
    return peer.begun.back().truncation;
  };
  EXPECT_EQ(peer.events.at(0)["session"]["truncation"], "auto");
  EXPECT_EQ(updated("disabled"), "disabled");
  EXPECT_TRUE(begun().disabled);
  const JsonIn ratio = JsonIn::parse(
      R"({"type": "retention_ratio", "retention_ratio": 0.8, "token_limits": {"post_instructions": 900}})");
  EXPECT_EQ(updated(ratio), ratio);
  EXPECT_EQ(begun().keep, 0.8);
  EXPECT_EQ(begun().most, 900);
  EXPECT_FALSE(begun().disabled);
  EXPECT_EQ(updated(nullptr), "auto");
  EXPECT_EQ(begun().keep, 1);
  for (const auto& [wrong, param] :
       {std::pair{R"("half")", "truncation"},
        {R"({"type": "half"})", "truncation.type"},
        {R"({"type": "retention_ratio"})", "truncation.retention_ratio"},
        {R"({"type": "retention_ratio", "retention_ratio": 1.1})", "truncation.retention_ratio"},
        {R"({"type": "retention_ratio", "retention_ratio": 1, "token_limits": 3})",
         "truncation.token_limits"}}) {
    const auto events = peer.send(session_update({{"truncation", JsonIn::parse(wrong)}}));
    EXPECT_EQ(events.at(0)["error"]["param"], std::string("session.") + param) << wrong;
  }
}

TEST(RealtimeSession, WrongUpdatesChangeNothing) {
  RealtimePeer peer;
  const auto refused = [&](JsonIn session, const char* code, const char* param) {
    const auto events = peer.send(
        {{"type", "session.update"}, {"event_id", "mine"}, {"session", std::move(session)}});
    EXPECT_EQ(kinds_of(events), std::string("error:\"") + code + "\"");
    EXPECT_EQ(events.at(0)["error"]["param"], param);
    EXPECT_EQ(events.at(0)["error"]["event_id"], "mine");
    EXPECT_EQ(events.at(0)["error"]["type"], "invalid_request_error");
  };
  refused({{"instructions", "x"}, {"output_modalities", {"smell"}}}, "invalid_value",
          "session.output_modalities");
  refused({{"audio", {{"input", {{"format", {{"type", "audio/pcm"}, {"rate", 16000}}}}}}}},
          "invalid_value", "session.audio.input.format.rate");
  refused({{"audio", {{"output", {{"speed", 9}}}}}}, "invalid_value", "session.audio.output.speed");
  refused({{"audio", {{"output", {{"voice", "nobody"}}}}}}, "voice_not_found",
          "session.audio.output.voice");
  refused({{"tools", {{{"type", "mcp"}}}}}, "invalid_value", "session.tools[0].type");
  refused({{"tool_choice", "required"}}, "unsupported_value", "session.tool_choice");
  refused({{"audio", "loud"}}, "invalid_type", "session.audio");
  refused({{"max_output_tokens", 0}}, "invalid_value", "session.max_output_tokens");
  EXPECT_EQ(peer.events.back()["error"]["message"],
            "'session.max_output_tokens' must be between 1 and 16777216.");
  refused({{"voice", "low"}}, "unknown_parameter", "session.voice");
  EXPECT_NE(peer.events.back()["error"]["message"].get<std::string>().find(
                "'session.audio.output.voice'"),
            std::string::npos);
  refused({{"type", "else"}}, "invalid_value", "session.type");
  EXPECT_EQ(kinds_of(peer.send({{"type", "session.update"}})),
            "error:\"missing_required_parameter\"");
  EXPECT_EQ(peer.send(session_update(JsonIn::object())).at(0)["session"]["instructions"], "");
}

TEST(RealtimeSession, ATurnByAudioInTheDocumentedOrder) {
  RealtimePeer peer;
  peer.send(
      session_update({{"audio", {{"input", {{"transcription", {{"model", "whisper-1"}}}}}}}}));
  peer.say(1000, false);
  std::vector<JsonIn> events = peer.say(600, true);
  ASSERT_EQ(kinds_of(events), "input_audio_buffer.speech_started");
  const std::string item = events[0]["item_id"];
  EXPECT_NEAR(events[0]["audio_start_ms"].get<int>(), 700, 20);
  ASSERT_EQ(peer.opened.size(), 1u);
  EXPECT_EQ(peer.opened[0].item, item);
  EXPECT_EQ(peer.opened[0].wish.model, "whisper-1");
  peer.hear(item, {.segments = {" hello"}});  // its delta is sent when the item exists
  events = peer.say(600, false);
  EXPECT_EQ(kinds_of(events),
            "input_audio_buffer.speech_stopped input_audio_buffer.committed "
            "conversation.item.added conversation.item.done "
            "conversation.item.input_audio_transcription.delta");
  for (const JsonIn& event : events) {
    EXPECT_EQ(event.contains("item") ? event["item"]["id"] : event["item_id"], item);
  }
  EXPECT_NEAR(events[0]["audio_end_ms"].get<int>(), 2110, 30);
  EXPECT_TRUE(events[1]["previous_item_id"].is_null());
  EXPECT_EQ(events[2]["item"]["content"],
            JsonIn::parse(R"([{"type": "input_audio", "transcript": null}])"));
  EXPECT_EQ(events[4]["delta"], "hello");
  // The recogniser gets prefix, speech and pause, and no other samples.
  EXPECT_NEAR(static_cast<double>(peer.samples[item]) / kHearingRate, 0.3 + 0.6 + 0.51, 0.03);
  EXPECT_EQ(peer.ended, std::vector{item});
  EXPECT_TRUE(peer.begun.empty());
  events = peer.hear(item, {.segments = {" there"},
                            .text = "hello there",
                            .usage = {{"type", "duration"}, {"seconds", 1.5}}});
  EXPECT_EQ(kinds_of(events),
            "conversation.item.input_audio_transcription.delta "
            "conversation.item.input_audio_transcription.completed response.created");
  EXPECT_EQ(events[0]["delta"], " there");
  EXPECT_EQ(events[1]["transcript"], "hello there");
  EXPECT_EQ(events[1]["usage"]["type"], "duration");
  ASSERT_EQ(peer.begun.size(), 1u);
  EXPECT_EQ(peer.begun[0].body["messages"],
            JsonIn::parse(R"([{"role": "user", "content": "hello there"}])"));
  events = peer.answer({.text = "Good"});
  EXPECT_EQ(kinds_of(events),
            "response.output_item.added conversation.item.added response.content_part.added "
            "response.output_audio_transcript.delta");
  EXPECT_EQ(events[0]["item"]["status"], "in_progress");
  EXPECT_EQ(events[0]["item"]["content"], JsonIn::array());
  EXPECT_EQ(events[1]["previous_item_id"], item);
  EXPECT_EQ(events[2]["part"]["type"], "audio");
  events = peer.answer({.text = " day.", .audio = filled_with(4800, 'a')});
  EXPECT_EQ(kinds_of(events), "response.output_audio_transcript.delta response.output_audio.delta");
  EXPECT_EQ(base64_decoded(events[1]["delta"].get<std::string>()), filled_with(4800, 'a'));
  events = peer.end();
  EXPECT_EQ(kinds_of(events),
            "response.output_audio.done response.output_audio_transcript.done "
            "response.content_part.done response.output_item.done conversation.item.done "
            "response.done");
  EXPECT_EQ(events[1]["transcript"], "Good day.");
  const JsonIn response = events.back()["response"];
  EXPECT_EQ(response["status"], "completed");
  EXPECT_EQ(response["output"][0]["content"][0]["transcript"], "Good day.");
  EXPECT_FALSE(response["output"][0]["content"][0].contains("audio"));
  EXPECT_EQ(response["usage"]["total_tokens"], 10);
  EXPECT_EQ(response["usage"]["input_token_details"]["cached_tokens"], 2);
  EXPECT_EQ(response["usage"]["output_token_details"]["text_tokens"], 3);
  EXPECT_TRUE(peer.session->quiet());
}

TEST(RealtimeSession, ForeseesWhatWouldBeAsked) {
  RealtimePeer peer([](RealtimeFacts& facts) { facts.may_predict = facts.predicts = true; });
  peer.send(session_update({{"instructions", "Be brief."}}));
  peer.say(600, true);
  const std::string item = peer.opened.at(0).item;
  peer.hear(item, {.partial = ""});
  EXPECT_TRUE(peer.foreseen.empty());
  peer.hear(item, {.partial = "what is"});
  peer.hear(item, {.partial = "what is"});  // the same text again begins no draft
  ASSERT_EQ(peer.foreseen.size(), 1u);
  EXPECT_EQ(peer.foreseen[0], JsonIn::parse(R"([{"role": "system", "content": "Be brief."},
                                                {"role": "user", "content": "what is"}])"));
  peer.hear(item, {.segments = {" what is the"}, .partial = "thyme"});
  EXPECT_EQ(peer.foreseen.back()[1]["content"], "what is the thyme");
  peer.say(700, false);  // the turn becomes an item whose transcript is still to come
  peer.say(600, true);   // a new turn begins
  const std::string more = peer.opened.back().item;
  peer.hear(more, {.partial = "of day"});
  ASSERT_EQ(peer.foreseen.size(), 3u);
  EXPECT_EQ(peer.foreseen[2], JsonIn::parse(R"([{"role": "system", "content": "Be brief."},
                                                {"role": "user", "content": "what is the thyme"},
                                                {"role": "user", "content": "of day"}])"));
  peer.say(700, false);
  peer.hear_all(item, "what is the time");
  peer.hear_all(more, "of day");
  ASSERT_EQ(peer.begun.size(), 1u);
  EXPECT_TRUE(peer.begun[0].foreseen);
  EXPECT_EQ(peer.begun[0].body["messages"].back()["content"], "of day");
  peer.end();
  EXPECT_EQ(peer.forgotten, 0);
  // A sound without words drops the question. Clearing the buffer drops it, too.
  peer.say(600, true);
  peer.hear(peer.opened.back().item, {.partial = "hm"});
  peer.say(700, false);
  peer.hear_all(peer.opened.back().item, "");
  EXPECT_EQ(peer.forgotten, 1);
  peer.say(600, true);
  peer.hear(peer.opened.back().item, {.partial = "oh"});
  peer.send({{"type", "input_audio_buffer.clear"}});
  EXPECT_EQ(peer.forgotten, 2);
  // No draft begins if the session does not answer on its own.
  const size_t before = peer.foreseen.size();
  peer.send(session_update(JsonIn::parse(R"({"audio": {"input": {"turn_detection":
      {"type": "server_vad", "create_response": false}}}})")));
  peer.say(600, true);
  peer.hear(peer.opened.back().item, {.partial = "hello"});
  EXPECT_EQ(peer.foreseen.size(), before);
  peer.send({{"type", "response.create"}, {"response", {{"input", JsonIn::array()}}}});
  EXPECT_FALSE(peer.begun.back().foreseen);
}

TEST(RealtimeSession, SilenceAndNoiseGetNoAnswer) {
  RealtimePeer peer;
  const std::string item = peer.turn();
  EXPECT_EQ(kinds_of(peer.hear_all(item, "")), "");
  EXPECT_TRUE(peer.begun.empty());
  EXPECT_TRUE(peer.session->quiet());
}

TEST(RealtimeSession, SpeakingInterruptsTheAnswer) {
  RealtimePeer peer;
  peer.hear_all(peer.turn(), "tell me all");
  const std::string first = peer.begun.back().response;
  peer.answer({.text = "Once upon", .audio = filled_with(48000, 'a')});
  const auto events = peer.say(300, true);
  EXPECT_EQ(kinds_of(events),
            "input_audio_buffer.speech_started response.output_audio.done "
            "response.output_audio_transcript.done response.content_part.done "
            "response.output_item.done conversation.item.done response.done");
  EXPECT_EQ(events.back()["response"]["status"], "cancelled");
  EXPECT_EQ(events.back()["response"]["status_details"]["reason"], "turn_detected");
  EXPECT_EQ(events[4]["item"]["status"], "incomplete");
  EXPECT_EQ(peer.stopped, std::vector{first});
  EXPECT_EQ(kinds_of(peer.answer({.text = "late"})),
            "");  // after the cancellation no event follows
  // Two successive utterances get one answer when both transcripts have arrived.
  const std::string second = peer.opened.back().item;
  peer.say(700, false);
  peer.say(300, true);
  const std::string third = peer.opened.back().item;
  EXPECT_NE(second, third);
  peer.hear_all(second, "no");
  EXPECT_EQ(peer.begun.size(), 1u);
  peer.say(700, false);
  peer.hear_all(third, "stop it");
  ASSERT_EQ(peer.begun.size(), 2u);
  EXPECT_EQ(peer.begun[1].body["messages"].back()["content"], "stop it");
  EXPECT_EQ(peer.begun[1].body["messages"].size(), 4u);
}

TEST(RealtimeSession, WithoutInterruptionsTheAnswerGoesOn) {
  RealtimePeer peer;
  peer.send(session_update(JsonIn::parse(R"({"audio": {"input": {"turn_detection":
      {"type": "server_vad", "interrupt_response": false}}}})")));
  peer.hear_all(peer.turn(), "one");
  peer.answer({.text = "First."});
  const std::string second = peer.turn();
  EXPECT_TRUE(peer.stopped.empty());
  peer.hear_all(second, "two");
  EXPECT_EQ(peer.begun.size(), 1u);
  EXPECT_EQ(kinds_of({peer.end().back()}),
            "response.created");  // the session begins the answer to the second turn
  ASSERT_EQ(peer.begun.size(), 2u);
  EXPECT_EQ(peer.begun[1].body["messages"].size(), 3u);
  // A session that does not answer on its own begins no answer.
  RealtimePeer quiet;
  quiet.send(session_update(JsonIn::parse(R"({"audio": {"input": {"turn_detection":
      {"type": "server_vad", "create_response": false}}}})")));
  EXPECT_EQ(kinds_of(quiet.hear_all(quiet.turn(), "one")), "");
}

TEST(RealtimeSession, VoicesAreFixedOnceTheyAreHeard) {
  RealtimePeer peer;
  const JsonIn other = session_update({{"audio", {{"output", {{"voice", "high"}}}}}});
  EXPECT_EQ(kinds_of(peer.send(other)), "session.updated");
  peer.send(user_says("Hi"));
  peer.send(respond());
  EXPECT_EQ(peer.begun.at(0).config.voice, "high");
  peer.answer({.text = "Hi", .audio = "aa"});
  EXPECT_EQ(kinds_of(peer.send(other)), "session.updated");  // the voice is unchanged
  EXPECT_EQ(kinds_of(peer.send(session_update({{"audio", {{"output", {{"voice", "low"}}}}}}))),
            "error:\"cannot_update_voice\"");
  RealtimePeer unset;  // a client that sends back the settings it received
  unset.send(user_says("Hi"));
  unset.send(respond());
  unset.answer({.text = "Hi", .audio = "aa"});
  EXPECT_EQ(kinds_of(unset.send(session_update({{"audio", {{"output", {{"voice", "low"}}}}}}))),
            "session.updated");
  EXPECT_EQ(kinds_of(unset.send(other)), "error:\"cannot_update_voice\"");
}

TEST(RealtimeSession, WithoutATextModelThereAreNoAnswers) {
  RealtimePeer peer([](RealtimeFacts& facts) { facts.no_answer = "No text model is loaded."; });
  peer.send(user_says("Hi"));
  EXPECT_EQ(kinds_of(peer.send(respond())), "error:\"no_text_model\"");
  EXPECT_EQ(kinds_of(peer.hear_all(peer.turn(), "hello")), "error:\"no_text_model\"");
  EXPECT_EQ(kinds_of(peer.hear_all(peer.turn(), "hello")), "");  // the transcript is sent only once
}

TEST(RealtimeSession, TranscriptionSessions) {
  RealtimePeer peer({}, true);
  const JsonIn session = peer.events[0]["session"];
  EXPECT_EQ(session["type"], "transcription");
  EXPECT_EQ(session["object"], "realtime.transcription_session");
  EXPECT_FALSE(session.contains("instructions"));
  const std::string item = peer.turn();
  const auto events = peer.hear(
      item, {.segments = {" one two"}, .text = "one two", .usage = {{"type", "duration"}}});
  EXPECT_EQ(kinds_of(events),
            "conversation.item.input_audio_transcription.delta "
            "conversation.item.input_audio_transcription.completed");
  EXPECT_TRUE(peer.begun.empty());
  EXPECT_EQ(kinds_of(peer.send(respond())), "error:\"invalid_value\"");
  EXPECT_TRUE(peer.session->quiet());
}

TEST(RealtimeSession, TranscriptionSessionsHearWordsWhileTheyAreSaid) {
  RealtimePeer peer({}, true);
  peer.say(300, false);
  peer.say(600, true);
  ASSERT_EQ(peer.opened.size(), 1u);
  EXPECT_TRUE(peer.opened[0].wish.partial) << "a recogniser of whole utterances makes passes";
  const std::string item = peer.opened[0].item;
  const auto delta = [&](const HearingNews& news) {
    std::string out;
    for (const JsonIn& event : peer.hear(item, news)) {
      EXPECT_EQ(event["type"], "conversation.item.input_audio_transcription.delta");
      EXPECT_EQ(event["item_id"], item);
      out += event["delta"].get<std::string>();
    }
    return out;
  };
  EXPECT_EQ(delta({.partial = "the quick"}), "") << "one hypothesis alone is a guess";
  EXPECT_EQ(delta({.partial = "the quick brow"}), "the quick");
  EXPECT_EQ(delta({.partial = "the quick brown fox"}), "") << "the last word may go on";
  EXPECT_EQ(delta({.partial = "the quick brown fox jumps"}), " brown fox");
  EXPECT_EQ(delta({.partial = "the quiet brown fox jumps"}), "") << "nothing is taken back";
  peer.say(700, false);
  const auto events = peer.hear(item, {.segments = {" The quick brown fox jumps."},
                                       .text = "The quick brown fox jumps.",
                                       .usage = {{"type", "duration"}}});
  EXPECT_EQ(kinds_of(events), "conversation.item.input_audio_transcription.completed");
  EXPECT_EQ(events[0]["transcript"], "The quick brown fox jumps.");
  // A hypothesis that only grows is sent at once, even if it ends within a word.
  const std::string grown = peer.turn();
  EXPECT_EQ(peer.hear(grown, {.partial = "four fi", .grows = true})[0]["delta"], "four fi");
  EXPECT_EQ(peer.hear(grown, {.partial = "four five", .grows = true})[0]["delta"], "ve");
  EXPECT_EQ(kinds_of(peer.hear(grown, {.segments = {" four five"}, .grows = true})), "");
  peer.hear(grown, {.text = "four five"});
  // If no delta contradicts the transcript, all deltas together equal the transcript.
  const std::string second = peer.turn();
  peer.hear(second, {.partial = "one two"});
  peer.hear(second, {.partial = "one two three"});
  EXPECT_EQ(
      peer.hear(second, {.segments = {" one two three"}, .text = "one two three"})[0]["delta"],
      " three");
}

TEST(RealtimeSession, WhatAClientAsksForIsNotAnsweredAgain) {
  RealtimePeer peer;
  const std::string item = peer.turn();
  peer.send(respond());  // the response waits for the transcript
  peer.hear_all(item, "hello");
  ASSERT_EQ(peer.begun.size(), 1u);
  peer.end();
  EXPECT_EQ(peer.begun.size(), 1u);
}

/// A turn with a complete transcript is answered even if the client drops the next turn.
TEST(RealtimeSession, AnAnswerThatIsDueDoesNotWaitForATurnThatIsDropped) {
  const JsonIn clear = {{"type", "input_audio_buffer.clear"}};
  const JsonIn mute = session_update({{"audio", {{"input", {{"turn_detection", nullptr}}}}}});
  for (const JsonIn& drop : {clear, mute}) {
    RealtimePeer peer;
    const std::string item = peer.turn();
    peer.say(600, true);
    peer.hear_all(item, "What time is it?");
    EXPECT_TRUE(peer.begun.empty()) << "somebody speaks";
    peer.send(drop);
    EXPECT_EQ(peer.begun.size(), 1u) << drop;
  }
  RealtimePeer peer;
  const std::string item = peer.turn(), other = peer.turn();
  peer.hear_all(item, "What time is it?");
  EXPECT_TRUE(peer.begun.empty()) << "it is not known yet what was said last";
  peer.send({{"type", "conversation.item.delete"}, {"item_id", other}});
  EXPECT_EQ(peer.begun.size(), 1u);
}

TEST(RealtimeSession, TheIdOfWhatIsBeingSaidIsTaken) {
  RealtimePeer peer;
  peer.say(300, false);
  peer.say(600, true);
  const std::string item = peer.opened.back().item;
  JsonIn event = user_says("");
  event["item"]["id"] = item;
  event["item"]["content"] = {{{"type", "input_audio"}, {"audio", base64(pcm_24k(500, true))}}};
  EXPECT_EQ(kinds_of(peer.send(event)), "error:\"item_create_duplicate_item_id\"");
  peer.say(700, false);
  peer.hear_all(item, "What time is it?");
  EXPECT_EQ(peer.begun.size(), 1u);
}

TEST(RealtimeSession, SilenceAfterAnAnswerIsAnsweredWhereThatIsWanted) {
  RealtimePeer peer;
  const JsonIn turns = {{"type", "server_vad"}, {"idle_timeout_ms", 6000}};
  peer.send(session_update({{"audio", {{"input", {{"turn_detection", turns}}}}}}));
  EXPECT_EQ(peer.events.back()["session"]["audio"]["input"]["turn_detection"]["idle_timeout_ms"],
            6000);
  peer.say(30'000, false);
  EXPECT_TRUE(peer.begun.empty()) << "nobody was answered yet";
  peer.hear_all(peer.turn(), "hello");
  ASSERT_EQ(peer.begun.size(), 1u);
  peer.answer({.text = "Hi there.", .audio = pcm_24k(4000, true)});
  peer.end();
  EXPECT_EQ(kinds_of(peer.say(9'000, false)), "") << "four seconds of it were the answer's";
  std::vector<JsonIn> events = peer.say(1'500, false);
  ASSERT_EQ(kinds_of(events),
            "input_audio_buffer.timeout_triggered input_audio_buffer.committed "
            "conversation.item.added conversation.item.done response.created");
  const std::string item = events[0]["item_id"];
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(events[i].contains("item") ? events[i]["item"]["id"] : events[i]["item_id"], item);
  }
  EXPECT_NEAR(events[0]["audio_end_ms"].get<int>() - events[0]["audio_start_ms"].get<int>(), 6000,
              1000);
  EXPECT_NEAR(static_cast<double>(peer.samples[item]) / kHearingRate, 6, 1);
  EXPECT_EQ(peer.begun.size(), 1u) << "it waits for what may have been said";
  peer.hear_all(item, "");
  ASSERT_EQ(peer.begun.size(), 2u);
  peer.answer({.text = "Are you there?", .audio = pcm_24k(1000, true)});
  peer.end();
  peer.say(4'000, false);
  const std::string turn = peer.turn();  // a turn restarts the time
  peer.hear_all(turn, "");               // an empty transcript
  EXPECT_EQ(kinds_of(peer.say(5'000, false)), "");
  EXPECT_EQ(kinds_of(peer.say(2'000, false)).find("input_audio_buffer.timeout_triggered"), 0u);
}

TEST(RealtimeSession, IdleTimeoutsHaveBounds) {
  RealtimePeer peer;
  for (const JsonIn& turns : {JsonIn{{"type", "server_vad"}, {"idle_timeout_ms", 4999}},
                              JsonIn{{"type", "server_vad"}, {"idle_timeout_ms", 30001}},
                              JsonIn{{"type", "semantic_vad"}, {"idle_timeout_ms", 6000}}}) {
    const auto events =
        peer.send(session_update({{"audio", {{"input", {{"turn_detection", turns}}}}}}));
    EXPECT_EQ(kinds_of(events), "error:\"invalid_value\"");
    EXPECT_EQ(events.at(0)["error"]["param"], "session.audio.input.turn_detection.idle_timeout_ms");
  }
}

TEST(RealtimeSession, WhatIsTypedBesideAnAnswerIsForeseenAfterIt) {
  RealtimePeer peer([](RealtimeFacts& facts) { facts.may_predict = facts.predicts = true; });
  for (const bool cancelled : {false, true}) {
    peer.send(user_says("Hi"));
    peer.send(respond());
    peer.foreseen.clear();
    peer.send({{"type", "input_text_buffer.replace"}, {"text", "And then?"}});
    EXPECT_TRUE(peer.foreseen.empty());
    cancelled ? peer.send({{"type", "response.cancel"}}) : peer.end();
    ASSERT_EQ(peer.foreseen.size(), 1u) << cancelled;
    EXPECT_EQ(peer.foreseen[0].back()["content"], "And then?");
    peer.send({{"type", "input_text_buffer.clear"}});
  }
}

TEST(RealtimeSession, WrongEventsAreNoHarm) {
  RealtimePeer peer;
  const auto code = [&](const std::string& text, bool binary = false) {
    peer.raw(text, binary);
    return kinds_of({peer.events.back()});
  };
  EXPECT_EQ(code("{"), "error:\"invalid_json\"");
  EXPECT_EQ(code("[]"), "error:\"invalid_json\"");
  EXPECT_EQ(code("{}", true), "error:\"invalid_json\"");
  EXPECT_EQ(code("{}"), "error:\"missing_required_parameter\"");
  EXPECT_EQ(code(R"({"type": 5})"), "error:\"invalid_type\"");
  EXPECT_EQ(code(R"({"type": "dance"})"), "error:\"invalid_value\"");
  EXPECT_EQ(code(R"({"type": "output_audio_buffer.clear"})"), "error:\"invalid_value\"");
  EXPECT_EQ(code(R"({"type": "input_audio_buffer.append"})"),
            "error:\"missing_required_parameter\"");
  EXPECT_EQ(code(R"({"type": "input_audio_buffer.append", "audio": "%"})"),
            "error:\"invalid_value\"");
  EXPECT_EQ(kinds_of(peer.append("abc")), "error:\"invalid_value\"");  // an odd number of bytes
  EXPECT_EQ(kinds_of(peer.append(filled_with(kMaxAppendBytes + 2, 'a'))),
            "error:\"invalid_value\"");
  EXPECT_TRUE(peer.session->quiet());
}

/// An event with settings or a response may be as long as any event without audio.
TEST(RealtimeSession, EventsWithoutAudioAreShort) {
  RealtimePeer peer;
  const std::string most = filled_with(kMaxEventBytes - 1000, 'a'), more = most + most;
  EXPECT_EQ(kinds_of(peer.send(session_update({{"instructions", most}}))), "session.updated");
  JsonIn update = session_update({{"instructions", more}});
  update["event_id"] = "mine";
  const auto events = peer.send(update);
  EXPECT_EQ(kinds_of(events), "error:\"event_too_long\"");
  EXPECT_EQ(events.at(0)["error"]["event_id"], "mine");
  const auto asked = [&](const char* name, JsonIn value) {
    return kinds_of(peer.send(
        {{"type", "response.create"}, {"response", {{"input", JsonIn::array()}, {name, value}}}}));
  };
  EXPECT_EQ(asked("metadata", {{"note", more}}), "error:\"event_too_long\"");
  EXPECT_EQ(asked("metadata", {{"note", most}}), "response.created");
}

}  // namespace
}  // namespace syrinx
