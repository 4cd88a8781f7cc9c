// Responses of a session: the events of their items, and how they end.
#include "server/realtime/response.h"

#include <gtest/gtest.h>

#include "server/realtime/realtime_peer_test.h"

namespace syrinx {
namespace {

TEST(RealtimeResponse, TextInAndTextOut) {
  RealtimePeer peer;
  peer.send(session_update({{"output_modalities", {"text"}}, {"instructions", "Be brief."}}));
  const auto created = peer.send(user_says("Hi"));
  EXPECT_EQ(kinds_of(created), "conversation.item.added conversation.item.done");
  EXPECT_EQ(created[0]["item"]["content"][0]["text"], "Hi");
  auto events = peer.send(
      {{"type", "response.create"}, {"response", {{"metadata", {{"client_event_id", "7"}}}}}});
  ASSERT_EQ(kinds_of(events), "response.created");
  EXPECT_EQ(events[0]["response"]["metadata"]["client_event_id"], "7");
  EXPECT_EQ(events[0]["response"]["status"], "in_progress");
  EXPECT_EQ(peer.begun.at(0).body["messages"][0]["content"], "Be brief.");
  events = peer.answer({.text = "Yo."});
  EXPECT_EQ(kinds_of(events),
            "response.output_item.added conversation.item.added response.content_part.added "
            "response.output_text.delta");
  events = peer.end(FinishReason::kLength);
  EXPECT_EQ(kinds_of(events),
            "response.output_text.done response.content_part.done response.output_item.done "
            "conversation.item.done response.done");
  EXPECT_EQ(events.back()["response"]["status"], "incomplete");
  EXPECT_EQ(events.back()["response"]["status_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(events.back()["response"]["metadata"]["client_event_id"], "7");
}

TEST(RealtimeResponse, OneResponseAtATimeAndOthersBeside) {
  RealtimePeer peer;
  peer.send(user_says("Hi"));
  EXPECT_EQ(kinds_of(peer.send({{"type", "response.cancel"}})),
            "error:\"response_cancel_not_active\"");
  EXPECT_TRUE(
      peer.events.back()["error"]["message"].get<std::string>().starts_with("Cancellation failed"));
  peer.send(respond());
  EXPECT_EQ(kinds_of(peer.send(respond())), "error:\"conversation_already_has_active_response\"");
  const std::string main = peer.begun.at(0).response;
  const JsonIn beside = {{"type", "response.create"},
                         {"response",
                          {{"conversation", "none"},
                           {"output_modalities", {"text"}},
                           {"metadata", {{"topic", "mood"}}},
                           {"instructions", "Classify."},
                           {"input",
                            {{{"type", "message"},
                              {"role", "user"},
                              {"content", {{{"type", "input_text"}, {"text", "I am glad"}}}}}}}}}};
  auto events = peer.send(beside);
  ASSERT_EQ(kinds_of(events), "response.created");
  EXPECT_TRUE(events[0]["response"]["conversation_id"].is_null());
  EXPECT_EQ(peer.begun.back().body["messages"],
            JsonIn::parse(R"([{"role": "system", "content": "Classify."},
                            {"role": "user", "content": "I am glad"}])"));
  events = peer.answer({.text = "happy"});
  EXPECT_EQ(kinds_of(events),
            "response.output_item.added response.content_part.added response.output_text.delta");
  events = peer.end();
  EXPECT_EQ(kinds_of(events),
            "response.output_text.done response.content_part.done response.output_item.done "
            "response.done");
  EXPECT_EQ(events.back()["response"]["output"][0]["content"][0]["text"], "happy");
  EXPECT_EQ(events.back()["response"]["metadata"]["topic"], "mood");
  // At most four responses run at a time.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(kinds_of(peer.send(beside)), "response.created");
  EXPECT_EQ(kinds_of(peer.send(beside)), "error:\"too_many_responses\"");
  events = peer.send({{"type", "response.cancel"}, {"response_id", main}});
  EXPECT_EQ(kinds_of(events), "response.done");
  EXPECT_EQ(events[0]["response"]["status_details"]["reason"], "client_cancelled");
  EXPECT_EQ(peer.stopped, std::vector{main});
}

TEST(RealtimeResponse, ToolsArePassedThrough) {
  RealtimePeer peer;
  peer.send(session_update(JsonIn::parse(R"({"tools": [{"type": "function", "name": "weather",
      "description": "of a town", "parameters": {"type": "object"}}]})")));
  peer.send(user_says("Weather?"));
  peer.send(respond());
  EXPECT_EQ(peer.begun.at(0).body["tools"], JsonIn::parse(R"([{"type": "function", "function":
      {"name": "weather", "description": "of a town", "parameters": {"type": "object"}}}])"));
  peer.answer({.text = "Let me see.", .calls = {{"weather", R"({"town":"Ulm"})"}}});
  const auto events = peer.end();
  EXPECT_EQ(kinds_of(events),
            "response.output_audio.done response.output_audio_transcript.done "
            "response.content_part.done response.output_item.done conversation.item.done "
            "response.output_item.added conversation.item.added "
            "response.function_call_arguments.delta response.function_call_arguments.done "
            "response.output_item.done conversation.item.done response.done");
  const JsonIn& done = events[8];
  EXPECT_EQ(done["name"], "weather");
  EXPECT_EQ(done["arguments"], R"({"town":"Ulm"})");
  EXPECT_EQ(done["output_index"], 1);
  EXPECT_EQ(events.back()["response"]["output"].size(), 2u);
  const auto stray = peer.send(
      {{"type", "conversation.item.create"},
       {"item", {{"type", "function_call_output"}, {"call_id", "other"}, {"output", "snow"}}}});
  ASSERT_EQ(stray.size(), 1u);
  EXPECT_EQ(stray[0]["error"]["param"], "item.call_id");
  peer.send(
      {{"type", "conversation.item.create"},
       {"item",
        {{"type", "function_call_output"}, {"call_id", done["call_id"]}, {"output", "rain"}}}});
  peer.send(respond());
  const JsonIn messages = peer.begun.back().body["messages"];
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[1]["content"], "Let me see.");
  EXPECT_EQ(messages[1]["tool_calls"][0]["function"]["name"], "weather");
  EXPECT_EQ(messages[1]["tool_calls"][0]["id"], done["call_id"]);
  EXPECT_EQ(messages[2],
            (JsonIn{{"role", "tool"}, {"tool_call_id", done["call_id"]}, {"content", "rain"}}));
}

TEST(RealtimeResponse, AToolThatMustBeCalled) {
  RealtimePeer peer([](RealtimeFacts& facts) { facts.calls_tools = true; });
  auto events = peer.send(session_update(JsonIn::parse(
      R"({"tools": [{"type": "function", "name": "f"}], "tool_choice": "required"})")));
  EXPECT_EQ(events.at(0)["session"]["tool_choice"], "required");
  peer.send(respond());
  EXPECT_EQ(peer.begun.back().body["tool_choice"], "required");
  peer.end();
  const JsonIn one = {{"type", "function"}, {"name", "f"}};
  peer.send({{"type", "response.create"}, {"response", {{"tool_choice", one}}}});
  EXPECT_EQ(peer.begun.back().body["tool_choice"],
            JsonIn::parse(R"({"type": "function", "function": {"name": "f"}})"));
  events = peer.send(session_update({{"tool_choice", {{"type", "mcp"}, {"server_label", "x"}}}}));
  EXPECT_EQ(events.at(0)["error"]["param"], "session.tool_choice.type");
  RealtimePeer other;
  events = other.send(session_update({{"tool_choice", one}}));
  EXPECT_EQ(kinds_of(events), "error:\"unsupported_value\"");
  EXPECT_NE(events[0]["error"]["message"].get<std::string>().find("'writer'"), std::string::npos);
}

TEST(RealtimeResponse, AnswersAreReadAsTheyWereMade) {
  RealtimePeer peer([](RealtimeFacts& facts) { facts.hears = true; });
  peer.send(user_says("Hi"));
  peer.send(respond());
  peer.answer({.text = "One two", .audio = std::string(48000, 'a'), .ids = {1, 2, 3}});
  peer.answer({.text = " three.", .audio = std::string(48000, 'a'), .ids = {4}});
  peer.answer({.calls = {{"f", "{}"}}});
  peer.end();
  peer.send(user_says("And?"));
  peer.send(respond());
  const JsonIn& said = peer.begun.back().body["messages"][1];
  EXPECT_EQ(said["content"], "One two three.");
  EXPECT_EQ(said["tool_calls"].size(), 1u) << "one answer is one message";
  const std::string item = said["audio"]["id"];
  const NamedAnswer& named = peer.begun.back().answers.at(item);
  EXPECT_EQ(*named.made.ids, (std::vector<int32_t>{1, 2, 3, 4}));
  EXPECT_FALSE(named.made.heard_s);
  EXPECT_EQ(named.text, "One two three.");
  peer.end();
  peer.send({{"type", "conversation.item.truncate"},
             {"item_id", item},
             {"content_index", 0},
             {"audio_end_ms", 800}});
  peer.send(respond());
  EXPECT_EQ(peer.begun.back().answers.at(item).made.heard_s, 0.8);
  // At a higher speed the client has played more of the answer by the same time.
  peer.end();
  peer.send(session_update({{"audio", {{"output", {{"speed", 1.5}}}}}}));
  peer.send(respond());
  peer.answer({.text = "Fast.", .audio = std::string(96000, 'a'), .ids = {5, 6}});
  const std::string fast = peer.events.back()["item_id"];
  peer.end();
  peer.send({{"type", "conversation.item.truncate"},
             {"item_id", fast},
             {"content_index", 0},
             {"audio_end_ms", 1000}});
  peer.send(respond());
  EXPECT_EQ(peer.begun.back().answers.at(fast).made.heard_s, 1.5);
  peer.end();
  peer.send({{"type", "conversation.item.delete"}, {"item_id", fast}});
  peer.send(respond());
  // Written answers have no ids. Answers that a client sends again have no ids either.
  peer.end();
  peer.send({{"type", "conversation.item.delete"}, {"item_id", item}});
  peer.send({{"type", "response.create"}, {"response", {{"output_modalities", {"text"}}}}});
  peer.answer({.text = "Four.", .ids = {5}});
  peer.end();
  peer.send(respond());
  EXPECT_TRUE(peer.begun.back().answers.empty());
}

/// The model gets the ids of the answer up to the moment at which playback stopped.
TEST(RealtimeResponse, AnAnswerOfWhichLessThanAWordWasHeardIsReadAllTheSame) {
  RealtimePeer peer([](RealtimeFacts& facts) { facts.hears = true; });
  peer.send(user_says("Hi"));
  peer.send(respond());
  peer.answer({.text = " Wonderful day.", .audio = std::string(48000, 'a'), .ids = {1, 2, 3}});
  const std::string item = peer.events.back()["item_id"];
  peer.end();
  const auto messages_after = [&](int heard_ms) {
    peer.send({{"type", "conversation.item.truncate"},
               {"item_id", item},
               {"content_index", 0},
               {"audio_end_ms", heard_ms}});
    peer.send(respond());
    peer.end();
    return peer.begun.back().body["messages"];
  };
  const JsonIn heard = messages_after(200);
  ASSERT_GE(heard.size(), 2u);
  EXPECT_EQ(heard[1]["content"], "");
  EXPECT_EQ(heard[1]["audio"]["id"], item);
  EXPECT_EQ(peer.begun.back().answers.at(item).made.heard_s, 0.2);
  EXPECT_EQ(messages_after(0).size(), 1u) << "an answer that did not sound";
  EXPECT_TRUE(peer.begun.back().answers.empty());
}

TEST(RealtimeResponse, TruncatedWhileItIsSpoken) {
  RealtimePeer peer;
  peer.send(user_says("Count."));
  peer.send(respond());
  peer.answer({.text = "One, two, three."});
  peer.answer({.audio = filled_with(96000, 'a'), .words = {{"One", 0.1}, {"two", 1.0}}});
  const std::string id = peer.events.back()["item_id"];
  peer.send({{"type", "conversation.item.truncate"},
             {"item_id", id},
             {"content_index", 0},
             {"audio_end_ms", 500}});
  peer.answer({.text = " Four.", .words = {{"three", 1.5}}});
  EXPECT_EQ(peer.end()[1]["transcript"], "One");
}

/// What the answer has beside speech, such as its text, is not lost.
TEST(RealtimeResponse, AnAnswerThatCannotBeSpokenIsReportedAndComplete) {
  RealtimePeer peer;
  peer.send(user_says("Hi"));
  peer.send(respond());
  peer.answer({.text = "We"});
  const auto events = peer.answer({.unspoken = ApiError{.message = "mute", .code = "silent"}});
  EXPECT_EQ(kinds_of(events), "error:\"silent\"");
  peer.answer({.outcome = Outcome{}});
  EXPECT_EQ(peer.events.back()["response"]["status"], "completed");
}

TEST(RealtimeResponse, FailuresAreReported) {
  RealtimePeer peer;
  peer.send(user_says("Hi"));
  peer.send(respond());
  peer.answer({.text = "We"});
  const auto events =
      peer.answer({.error = ApiError{.status = 503, .message = "busy", .code = "overloaded"}});
  EXPECT_EQ(kinds_of(events),
            "response.output_audio.done response.output_audio_transcript.done "
            "response.content_part.done response.output_item.done conversation.item.done "
            "response.done");
  const JsonIn response = events.back()["response"];
  EXPECT_EQ(response["status"], "failed");
  EXPECT_EQ(response["status_details"]["error"]["message"], "busy");
  EXPECT_EQ(response["status_details"]["error"]["type"], "server_error");
  // A recogniser may fail, too.
  peer.send(session_update(JsonIn::parse(R"({"audio": {"input": {"transcription": {}}}})")));
  const auto failed =
      peer.hear(peer.turn(), {.error = ApiError{.message = "deaf", .code = "unsupported"}});
  EXPECT_EQ(kinds_of(failed), "conversation.item.input_audio_transcription.failed");
  EXPECT_EQ(failed[0]["error"]["message"], "deaf");
}

}  // namespace
}  // namespace syrinx
