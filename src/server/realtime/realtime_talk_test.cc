// A session of the Realtime API with its recogniser, writer and voice, without a socket.
#include "server/realtime/realtime_talk.h"

#include <gtest/gtest.h>

#include "server/models/fake_backend_test.h"
#include "server/models/fake_writer_test.h"
#include "server/realtime/realtime_caller_test.h"

namespace syrinx {
namespace {

/// The recogniser refuses the language before the turn ends. The session reports this error once.
TEST(RealtimeTalk, ASpeakerThatIsNotUnderstoodMaySpeakOn) {
  RealtimeCaller caller(std::make_shared<FakeWriter>(), std::make_shared<FakeBackend>());
  caller.set({{"audio", {{"input", {{"transcription", {{"language", "fr"}}}}}}}});
  caller.sound(600, true);
  EXPECT_EQ(caller.count("input_audio_buffer.speech_started"), 1);
  caller.sound(600, true);
  caller.sound(700, false);
  EXPECT_EQ(caller.count("input_audio_buffer.committed"), 1);
  EXPECT_EQ(caller.count("conversation.item.input_audio_transcription.failed"), 1);
}

/// A session accepts all names of languages that the HTTP API accepts.
TEST(RealtimeTalk, LanguagesAreKnownByTheirNames) {
  for (const char* called : {"en-GB", "EN", "English"}) {
    RealtimeCaller caller(std::make_shared<FakeWriter>(), std::make_shared<FakeBackend>());
    caller.set({{"audio", {{"input", {{"transcription", {{"language", called}}}}}}}});
    caller.sound(600, true);
    caller.sound(700, false);
    EXPECT_EQ(caller.count("input_audio_buffer.committed"), 1);
    EXPECT_EQ(caller.count("conversation.item.input_audio_transcription.failed"), 0) << called;
  }
}

/// A pass takes 0.6 s and twenty speakers talk at once: turns that would wait longer than 5 s are
/// refused.
TEST(RealtimeTalk, ARecogniserThatIsBehindRefusesTurns) {
  const auto ears = std::make_shared<CueEars>();
  ears->pass_s = 0.6;
  std::vector<std::unique_ptr<RealtimeCaller>> callers;
  for (int i = 0; i < 20; ++i) {
    callers.push_back(std::make_unique<RealtimeCaller>(std::make_shared<FakeWriter>(), nullptr,
                                                       PredictWhen::kNever, 400, ears));
  }
  int refused = 0;
  for (const auto& caller : callers) {
    caller->sound(600, true);
    caller->sound(700, false);
    EXPECT_EQ(caller->count("input_audio_buffer.committed"), 1);
    if (caller->count("error") == 0) continue;
    ++refused;
    const JsonIn& error = caller->events.back()["error"];
    const std::string message = error["message"].get<std::string>();
    EXPECT_NE(message.find("is 5.4 s behind"), message.npos) << message;
    EXPECT_NE(message.find("at most 5.0 s"), message.npos) << message;
    EXPECT_EQ(caller->count("response.created"), 0);
  }
  EXPECT_EQ(ears->ended, 9);
  EXPECT_EQ(refused, 11);
  ears->ended = 0;  // the recogniser has caught up
  RealtimeCaller& last = *callers.back();
  last.sound(600, true);
  last.end_turn("hello");
  EXPECT_TRUE(last.wait([&] { return last.count("response.done") == 1; }));
  EXPECT_EQ(last.count("error"), 1);
}

/// Passes take longer than was predicted when the turn ended.
TEST(RealtimeTalk, ATurnThatWaitsTooLongAfterAllIsRefused) {
  const auto ears = std::make_shared<CueEars>();
  RealtimeCaller caller(std::make_shared<FakeWriter>(), nullptr, PredictWhen::kNever, 400, ears);
  caller.sound(600, true);
  caller.sound(700, false);
  ears->pass_s = 5;
  caller.talk->tick(0, false);
  caller.wait([&] { return true; });
  EXPECT_EQ(caller.count("error"), 0) << "the transcript is in time";
  ears->pass_s = 5.1;
  caller.talk->tick(0, false);
  EXPECT_TRUE(caller.wait([&] { return caller.count("error") == 1; }));
  EXPECT_EQ(caller.events.back()["error"]["code"], "server_is_overloaded");
  EXPECT_EQ(caller.count("response.created"), 0);
}

/// The transcript is empty, so that only the recogniser's report decides.
TEST(RealtimeTalk, ARecogniserThatHearsTheEndEndsTheTurn) {
  for (const bool done : {false, true}) {
    const auto ears = std::make_shared<CueEars>();
    RealtimeCaller caller(std::make_shared<FakeWriter>(), nullptr, PredictWhen::kNever, 400, ears);
    caller.set(JsonIn::parse(R"({"audio": {"input": {"turn_detection":
        {"type": "semantic_vad", "eagerness": "high"}}}})"));
    caller.sound(600, true);
    ears->sinks.back()->done(!done);
    ears->sinks.back()->done(done);
    caller.pump();
    caller.sound(600, false);
    EXPECT_EQ(caller.count("input_audio_buffer.speech_stopped"), done ? 1 : 0);
  }
}

TEST(RealtimeTalk, AVoiceThatCannotSpeakTheAnswerIsReported) {
  const auto writer = std::make_shared<FakeWriter>();
  writer->say({"mute"});
  RealtimeCaller caller(writer, std::make_shared<FakeBackend>());
  caller.send(user_says("Hi"));
  caller.send(respond());
  EXPECT_TRUE(caller.wait([&] { return caller.count("response.done") == 1; }));
  EXPECT_EQ(caller.count("error"), 1);
  EXPECT_EQ(caller.events.back()["response"]["status"], "completed");
}

TEST(RealtimeTalk, NothingCannotBeAnswered) {
  RealtimeCaller caller(std::make_shared<FakeWriter>(), std::make_shared<FakeBackend>());
  caller.send(respond());
  EXPECT_TRUE(caller.wait([&] { return caller.count("response.done") == 1; }));
  const JsonIn& failed = caller.events.back()["response"];
  EXPECT_EQ(failed["status_details"]["error"]["code"], "nothing_to_answer");
  caller.send({{"type", "response.create"}, {"response", {{"instructions", "Greet me."}}}});
  EXPECT_TRUE(caller.wait([&] { return caller.count("response.done") == 2; }));
  EXPECT_EQ(caller.events.back()["response"]["status"], "completed");
}

/// The number of sentences that wait for the voice has no effect on the answer.
TEST(RealtimeTalk, LongAnswersAreSpokenWhole) {
  const auto speaker = std::make_shared<FakeBackend>();
  speaker->mutable_info().speech.late_text = LateText::kNone;
  const auto writer = std::make_shared<FakeWriter>();
  std::string text;
  for (int i = 0; i < 200; ++i) text += "No. ";
  writer->say({text});
  RealtimeCaller caller(writer, speaker);
  caller.send(user_says("Well?"));
  caller.send(respond());
  EXPECT_TRUE(caller.wait([&] { return caller.count("response.done") == 1; }));
  EXPECT_EQ(caller.events.back()["response"]["status"], "completed") << caller.events.back();
}

/// The recordings of a session that wait for the recogniser may last two minutes in total.
TEST(RealtimeTalk, ManyRecordingsAreNoMoreThanOne) {
  RealtimeCaller caller(std::make_shared<FakeWriter>(), nullptr, PredictWhen::kNever);
  caller.set({{"audio", {{"input", {{"format", {{"type", "audio/pcma"}}}}}}}});
  JsonIn event = user_says("");
  event["item"]["content"] = {
      {{"type", "input_audio"}, {"audio", base64(filled_with(size_t{70} * 8000, '\x55'))}}};
  caller.send(event);
  EXPECT_FALSE(caller.talk->full());
  caller.send(event);
  EXPECT_TRUE(caller.talk->full());
}

/// An item that was removed from a prompt stays out of later prompts, but remains an item.
TEST(RealtimeTalk, TheOldestItemsLeaveAConversationThatHasOutgrownItsModel) {
  const auto writer = std::make_shared<FakeWriter>();
  writer->bound(700);
  RealtimeCaller caller(writer, nullptr, PredictWhen::kNever);
  caller.set({{"instructions", "Be brief."}, {"max_output_tokens", 100}});
  const auto ask = [&](const std::string& text) {
    const int before = caller.count("response.done");
    JsonIn item = user_says(text);
    item["item"]["id"] = text.substr(0, text.find(' '));
    caller.send(item);
    caller.send(respond());
    EXPECT_TRUE(caller.wait([&] { return caller.count("response.done") > before; }));
    return caller.events.back()["response"];
  };
  const auto read = [&](const char* text) {
    return writer->last_request().writing.chat->messages.find(text) != std::string::npos;
  };
  ask("first " + std::string(250, 'x'));
  EXPECT_TRUE(read("first"));
  ask("second " + std::string(250, 'x'));
  EXPECT_FALSE(read("first"));
  EXPECT_TRUE(read("second"));
  EXPECT_TRUE(read("Be brief."));
  caller.send({{"type", "conversation.item.delete"}, {"item_id", "second"}});
  EXPECT_EQ(ask("third").at("status"), "completed");
  EXPECT_FALSE(read("first")) << "there would be room again";
  caller.set({{"truncation", "disabled"}});
  const JsonIn failed = ask("fourth " + std::string(500, 'x'));
  EXPECT_EQ(failed["status"], "failed");
  EXPECT_EQ(failed["status_details"]["error"]["code"], "context_length_exceeded");
}

/// A turn for a model that takes audio itself. A request is started on the first part of the turn
/// and keeps running until the test ends it.
class HeardAhead : public testing::Test {
 protected:
  HeardAhead() {
    writer_->speak();
    writer_->hear_ahead(0.5);
    caller_.emplace(writer_, writer_, PredictWhen::kNever);
    caller_->send(user_says("endless"));
    caller_->sound(300, false);
    caller_->sound(900, true);
    EXPECT_TRUE(caller_->wait([&] { return writer_->asked() == 1; }));
    EXPECT_TRUE(writer_->last_request().terms.background);
  }
  const std::shared_ptr<FakeWriter> writer_ = std::make_shared<FakeWriter>();
  std::optional<RealtimeCaller> caller_;
};

TEST_F(HeardAhead, WhatTheAnswerNeedsIsHurriedAndWaitedFor) {
  caller_->sound(600, false);
  EXPECT_EQ(caller_->count("response.created"), 1);
  EXPECT_EQ(writer_->hurried(), 1);
  EXPECT_EQ(writer_->asked(), 1) << "the answer waits for what is heard";
  EXPECT_FALSE(writer_->last_request().writing.max_tokens == 0) << "it is the one that hears";
}

TEST_F(HeardAhead, WhatTheAnswerDoesNotNeedEnds) {
  caller_->set({{"instructions", "Be brief."}});
  caller_->sound(600, false);
  EXPECT_TRUE(writer_->wait_cancelled(1));
  EXPECT_EQ(writer_->hurried(), 0);
  EXPECT_TRUE(caller_->wait([&] { return writer_->asked() == 2; }))
      << "the answer waits for nothing";
  EXPECT_FALSE(writer_->last_request().terms.background);
}

TEST_F(HeardAhead, WhatBeganWithWhatHasLeftIsNotWaitedFor) {
  writer_->bound(96);
  caller_->sound(600, false);
  EXPECT_TRUE(caller_->wait([&] { return writer_->asked() == 2; }));
  EXPECT_EQ(writer_->last_request().writing.chat->messages.find("endless"), std::string::npos);
}

TEST_F(HeardAhead, AStretchMoreOfAnotherConversationBeginsAnew) {
  caller_->send({{"type", "conversation.item.create"},
                 {"previous_item_id", "root"},
                 {"item",
                  {{"type", "message"},
                   {"role", "system"},
                   {"content", {{{"type", "input_text"}, {"text", "Be kind."}}}}}}});
  caller_->sound(400, true);
  EXPECT_TRUE(writer_->wait_cancelled(1));
  EXPECT_TRUE(caller_->wait([&] { return writer_->asked() == 2; }));
  EXPECT_TRUE(writer_->last_request().terms.background);
}

}  // namespace
}  // namespace syrinx
