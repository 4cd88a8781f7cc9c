// Effects of client events on the items of a conversation, and the messages that a model reads.
#include "server/realtime/conversation.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "server/realtime/realtime_peer_test.h"
#include "server/realtime/response_wish.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

TEST(Conversation, ItemsAreAddedFetchedAndDeleted) {
  RealtimePeer peer;
  const auto add = [&](const char* id, const JsonIn& after) {
    JsonIn event = user_says(id);
    event["item"]["id"] = id;
    event["previous_item_id"] = after;
    return peer.send(event);
  };
  add("b", nullptr);
  EXPECT_TRUE(add("a", "root").at(0)["previous_item_id"].is_null());
  EXPECT_EQ(add("c", "b").at(0)["previous_item_id"], "b");
  EXPECT_EQ(add("ab", "a").at(0)["previous_item_id"], "a");
  EXPECT_EQ(kinds_of(add("a", nullptr)), "error:\"item_create_duplicate_item_id\"");
  EXPECT_EQ(kinds_of(add("d", "nowhere")), "error:\"item_create_invalid_previous_item_id\"");
  const auto on = [&](const char* what, const char* id) {
    return peer.send({{"type", std::string("conversation.item.") + what}, {"item_id", id}});
  };
  EXPECT_EQ(on("retrieve", "ab").at(0)["item"]["content"][0]["text"], "ab");
  EXPECT_EQ(kinds_of(on("retrieve", "zz")), "error:\"item_retrieve_invalid_item_id\"");
  EXPECT_EQ(kinds_of(on("delete", "ab")), "conversation.item.deleted");
  EXPECT_EQ(kinds_of(on("delete", "ab")), "error:\"item_delete_invalid_item_id\"");
  peer.send(respond());
  const JsonIn messages = peer.begun.at(0).body["messages"];
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0]["content"], "a");
  EXPECT_EQ(messages[2]["content"], "c");
  const auto refused = [&](const char* item) {
    return kinds_of(
        peer.send({{"type", "conversation.item.create"}, {"item", JsonIn::parse(item)}}));
  };
  EXPECT_EQ(refused(R"({"type": "message", "role": "user"})"),
            "error:\"missing_required_parameter\"");
  EXPECT_EQ(refused(R"({"type": "else"})"), "error:\"invalid_value\"");
  EXPECT_EQ(refused(R"({"type": "message", "role": "user",
                        "content": [{"type": "input_image", "image_url": "x"}]})"),
            "error:\"invalid_value\"");
  EXPECT_EQ(refused(R"({"type": "message", "role": "user",
                        "content": [{"type": "input_audio", "audio": "%%%"}]})"),
            "error:\"invalid_value\"");
  EXPECT_EQ(refused(R"({"type": "function_call", "name": "f", "arguments": "["})"),
            "error:\"invalid_value\"");
}

TEST(Conversation, SaidItemsAreTranscribedAndFetchedWithTheirAudio) {
  RealtimePeer peer;
  JsonIn event = user_says("");
  event["item"]["content"] = {
      {{"type", "input_audio"}, {"audio", base64(filled_with(48000, '\1'))}}};
  const auto events = peer.send(event);
  EXPECT_EQ(kinds_of(events), "conversation.item.added conversation.item.done");
  const std::string id = events[0]["item"]["id"];
  EXPECT_FALSE(events[0]["item"]["content"][0].contains("audio"));
  EXPECT_EQ(peer.samples[id], 16000u);
  EXPECT_EQ(peer.ended, std::vector{id});
  peer.send(respond());
  EXPECT_TRUE(peer.begun.empty());
  peer.hear_all(id, "a recording");
  EXPECT_EQ(peer.begun.at(0).body["messages"][0]["content"], "a recording");
  const JsonIn item =
      peer.send({{"type", "conversation.item.retrieve"}, {"item_id", id}}).at(0)["item"];
  const auto audio = base64_decoded(item["content"][0]["audio"].get<std::string>());
  ASSERT_TRUE(audio);
  EXPECT_EQ(audio->size(), 48000u);
}

TEST(Conversation, WhatWasNotHeardLeavesTheContext) {
  RealtimePeer peer;
  peer.send(user_says("Count."));
  peer.send(respond());
  peer.answer({.text = "One, two, three, four."});
  peer.answer({.audio = filled_with(4 * 48000, 'a'),
               .words = {{"One", 0.1}, {"two", 1.0}, {"three", 2.0}, {"four", 3.0}}});
  const auto done = peer.end();
  const std::string id = done.back()["response"]["output"][0]["id"];
  const auto truncate = [&](const std::string& item, int index, int ms) {
    return peer.send({{"type", "conversation.item.truncate"},
                      {"item_id", item},
                      {"content_index", index},
                      {"audio_end_ms", ms}});
  };
  EXPECT_EQ(kinds_of(truncate("zz", 0, 10)), "error:\"item_truncate_invalid_item_id\"");
  EXPECT_EQ(kinds_of(truncate(id, 1, 10)), "error:\"invalid_value\"");
  EXPECT_EQ(kinds_of(truncate(id, 0, 9000)), "error:\"invalid_value\"");
  EXPECT_EQ(kinds_of(truncate(peer.events[2]["item"]["id"], 0, 10)), "error:\"invalid_value\"");
  const auto events = truncate(id, 0, 2500);
  ASSERT_EQ(kinds_of(events), "conversation.item.truncated");
  EXPECT_EQ(events[0]["audio_end_ms"], 2500);
  const JsonIn item =
      peer.send({{"type", "conversation.item.retrieve"}, {"item_id", id}}).at(0)["item"];
  EXPECT_EQ(item["content"][0]["transcript"], "One, two, three");
  EXPECT_EQ(base64_decoded(item["content"][0]["audio"].get<std::string>())->size(), 2500u * 48);
  peer.send(respond());
  EXPECT_EQ(peer.begun.back().body["messages"].back()["content"], "One, two, three");
  // Without times of words, the text is cut in proportion to the time, at a blank.
  ItemPart part{
      .kind = ItemPart::kOutputAudio, .text = "aaaa bbbb cccc dddd", .audio_s = 4, .whole = true};
  EXPECT_TRUE(truncate_part(part, 1.5));
  EXPECT_EQ(part.text, "aaaa");
  EXPECT_TRUE(truncate_part(part, 0));
  EXPECT_EQ(part.text, "");
  // If an answer is truncated before all its audio exists, only as much of its text remains as can
  // be said in the time that was played.
  ItemPart begun{.kind = ItemPart::kOutputAudio, .text = std::string(1000, 'a'), .audio_s = 1};
  EXPECT_TRUE(truncate_part(begun, 1));
  EXPECT_EQ(begun.text, std::string(15, 'a'));
  // Text without blanks may be cut anywhere; each wide letter counts as a syllable.
  const auto signs = [](int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += "好";
    return out;
  };
  ItemPart unfinished{.kind = ItemPart::kOutputAudio, .text = signs(100), .audio_s = 2};
  EXPECT_TRUE(truncate_part(unfinished, 2));
  EXPECT_EQ(unfinished.text, signs(10));
  ItemPart mixed{.kind = ItemPart::kOutputAudio,
                 .text = "我 Python " + signs(90),
                 .audio_s = 9.9,
                 .whole = true};
  EXPECT_TRUE(truncate_part(mixed, 5));
  EXPECT_EQ(mixed.text, "我 Python " + signs(41));
}

TEST(Conversation, AnswersDoNotPushOutWhatWasSaid) {
  Conversation conversation;
  RealtimeItem said{.id = "a", .role = "user"}, answer{.id = "b", .role = "assistant"};
  said.parts.push_back({.kind = ItemPart::kInputAudio, .samples = std::vector<int16_t>(160'000)});
  answer.parts.push_back(
      {.kind = ItemPart::kOutputAudio, .bytes = filled_with(Conversation::kMaxAudioBytes, 'a')});
  conversation.add(said);
  conversation.add(answer);
  conversation.bound_audio();
  EXPECT_EQ(conversation.find("a")->parts[0].samples.size(), 160'000u);
  EXPECT_EQ(conversation.find("b")->parts[0].bytes.size(), Conversation::kMaxAudioBytes);
  answer.id = "c";
  conversation.add(answer);
  conversation.bound_audio();
  EXPECT_EQ(conversation.find("b")->parts[0].bytes.size(), 0u) << "the oldest goes first";
  EXPECT_EQ(conversation.find("a")->parts[0].samples.size(), 160'000u);
}

TEST(Conversation, WhatIsAskedForByNameIsReadThoughItHasLeft) {
  RealtimePeer peer;
  const std::string id = peer.send(user_says("Remember seven."))[0]["item"]["id"];
  peer.session->leave_out(id);
  peer.send({{"type", "response.create"},
             {"response",
              {{"conversation", "none"}, {"input", {{{"type", "item_reference"}, {"id", id}}}}}}});
  ASSERT_EQ(peer.begun.size(), 1u);
  ASSERT_EQ(peer.begun[0].body["messages"].size(), 1u);
  EXPECT_EQ(peer.begun[0].body["messages"][0]["content"], "Remember seven.");
}

TEST(Conversation, TextIsBoundedWhateverItIs) {
  const size_t half = Conversation::kMaxTextBytes / 2;
  for (const char* name : {"name", "call_id", "arguments"}) {
    RealtimePeer peer;
    const auto call = [&](const std::string& text) {
      JsonIn item = {{"type", "function_call"}, {"name", "f"}};
      item[name] = text;
      return kinds_of(peer.send({{"type", "conversation.item.create"}, {"item", item}}));
    };
    const std::string object = concat("{\"a\":\"", filled_with(half, 'a'), "\"}");
    EXPECT_EQ(call(object), "conversation.item.added conversation.item.done") << name;
    EXPECT_EQ(call(object), "error:\"conversation_too_long\"") << name;
  }
}

/// The newest six minutes of recordings in items are kept, whether they are transcribed or not.
TEST(Conversation, AudioIsBoundedHoweverItCame) {
  constexpr size_t kMinute = size_t{60} * 8000;
  RealtimePeer peer([](RealtimeFacts& facts) { facts.hears = true; });
  peer.send(session_update({{"audio", {{"input", {{"format", {{"type", "audio/pcmu"}}}}}}}}));
  const auto add = [&](const char* id, size_t minutes) {
    const JsonIn part = {{"type", "input_audio"},
                         {"transcript", id},
                         {"audio", base64(filled_with(minutes * kMinute, '\1'))}};
    const JsonIn item = {{"id", id}, {"type", "message"}, {"role", "user"}, {"content", {part}}};
    return kinds_of(peer.send({{"type", "conversation.item.create"}, {"item", item}}));
  };
  EXPECT_EQ(add("long", 7), "error:\"invalid_value\"");
  EXPECT_EQ(add("a", 2), "conversation.item.added conversation.item.done");
  add("b", 1);
  add("c", 4);
  const auto kept = [&](const char* id) {
    const auto events = peer.send({{"type", "conversation.item.retrieve"}, {"item_id", id}});
    return events.at(0)["item"]["content"][0].contains("audio");
  };
  EXPECT_FALSE(kept("a"));
  EXPECT_TRUE(kept("b"));
}

/// The bound on audio applies to all references of a response to an item together.
TEST(Conversation, ReferencesAreBoundedAsItemsAre) {
  Conversation conversation;
  RealtimeItem item{.id = "a", .role = "user"};
  item.parts.push_back({.kind = ItemPart::kInputAudio, .text = "a"});
  item.parts.back().samples.resize(Conversation::kMaxAudioBytes / sizeof(int16_t) / 3);
  conversation.add(std::move(item));
  const JsonIn reference = {{"type", "item_reference"}, {"id", "a"}};
  const JsonIn event = {{"response", {{"input", JsonIn::array_t(5, reference)}}}};
  RealtimeFacts facts;
  for (const bool hears : {true, false}) {
    facts.hears = hears;
    const ResponseWish wish = read_response_wish(JsonFields(event), {}, facts, conversation);
    for (int i = 0; i < 5; ++i) {
      const auto* each = wish.input->find(concat("input_", i));
      ASSERT_NE(each, nullptr);
      EXPECT_EQ(each->parts.at(0).samples.empty(), !hears || i < 2) << hears << i;
      EXPECT_EQ(each->parts.at(0).text, "a");
    }
  }
}

/// A model that takes audio gets only as many recordings as it can process, and the transcripts of
/// older recordings.
TEST(Conversation, TheOldestRecordingsAreReadOnceThereAreTooMany) {
  const auto heard = [](int count, double each_s, double most_s) {
    Conversation conversation;
    std::string out;
    for (int i = 0; i < count; ++i) {
      RealtimeItem item{.id = concat("item_", i), .role = "user"};
      item.parts.push_back({.kind = ItemPart::kInputAudio, .text = concat("said ", i)});
      item.parts.back().samples.resize(static_cast<size_t>(each_s * kHearingRate));
      conversation.add(std::move(item));
      conversation.hear_newest(most_s);
    }
    for (const JsonIn& message : conversation.messages("", true)) {
      out += message["content"].is_array() ? 's' : 'r';
    }
    return out;
  };
  EXPECT_EQ(heard(4, 10, 40), "ssss");
  EXPECT_EQ(heard(5, 10, 40), "rrsss") << "three quarters stay";
  EXPECT_EQ(heard(6, 10, 40), "rrssss") << "and prompts begin alike for a while";
  EXPECT_EQ(heard(2, 100, 40), "rs") << "the last is refused by who hears it";
  EXPECT_EQ(heard(64, 0.1, 1000), std::string(64, 's'));
  EXPECT_EQ(heard(65, 0.1, 1000), std::string(17, 'r') + std::string(48, 's'));
}

TEST(Conversation, IdsOfAnswersAreBounded) {
  Conversation conversation;
  for (int i = 0; i < 6; ++i) {
    RealtimeItem item{.id = concat("item_", i), .role = "assistant"};
    item.parts.push_back({.kind = ItemPart::kOutputAudio, .text = "Yes."});
    item.parts.back().ids.resize(Conversation::kMaxIdBytes / sizeof(int32_t) / 4);
    conversation.add(std::move(item));
    conversation.bound_audio();
  }
  const auto answers = conversation.answers();
  EXPECT_EQ(answers.size(), 4u);
  EXPECT_FALSE(answers.contains("item_1"));
  EXPECT_TRUE(answers.contains("item_2"));
  const JsonIn messages = conversation.messages("", true);
  EXPECT_FALSE(messages[1].contains("audio"));
  EXPECT_EQ(messages[2]["audio"]["id"], "item_2");
  EXPECT_FALSE(conversation.messages("", false)[2].contains("audio"));
}

}  // namespace
}  // namespace syrinx
