// Answers that a session prepares during the question. The session has a recogniser, a writer and a
// voice, but no socket. The test sets the transcript and its time.
#include "server/realtime/foresight.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/machine.h"
#include "runtime/small_load.h"
#include "server/models/fake_backend_test.h"
#include "server/models/fake_writer_test.h"
#include "server/realtime/realtime_caller_test.h"

namespace syrinx {
namespace {

/// A writer that judges a draft when the test calls judge().
class CueJudge final : public FakeWriter {
 public:
  Result<RequestId> submit(const SpeechRequest& request, std::shared_ptr<Sink> sink) override {
    if (request.writing.max_tokens != 1)
      return ++drafts, FakeWriter::submit(request, std::move(sink));
    asked.push_back(std::move(sink));
    return kJudgements + asked.size();
  }
  void cancel(RequestId id) override {
    if (id < kJudgements) FakeWriter::cancel(id);
  }
  void judge(const std::string& word) {
    const ScoredToken token{{word, 0.f}, {}};
    for (const auto& sink : asked) sink->text(word, std::span(&token, 1)), sink->finished({});
  }
  int drafts = 0;
  std::vector<std::shared_ptr<Sink>> asked;

 private:
  static constexpr RequestId kJudgements = 1 << 20;
};

class ForesightTest : public testing::Test {
 protected:
  ForesightTest() { speaker_->mutable_info().speech.late_text = LateText::kToken; }
  size_t bytes_of(
      const std::string& text) const {  // 0.1 s of audio for each byte of text, in chunks of 80 ms
    return static_cast<size_t>(std::ceil(static_cast<double>(text.size()) / 0.8)) * 1920 * 2;
  }
  std::shared_ptr<FakeBackend> speaker_ = std::make_shared<FakeBackend>();
  std::shared_ptr<FakeWriter> writer_ = std::make_shared<FakeWriter>();
};

TEST_F(ForesightTest, TheFirstSentenceIsHeldBackUntilItIsAccepted) {
  writer_->say({"Good", " day.", " How", " are you?"});
  RealtimeCaller caller(writer_, speaker_);
  EXPECT_EQ(caller.events.at(0)["session"]["predict"],
            JsonIn::parse(R"({"rule": "greedy", "draft_tokens": 30})"));
  caller.sound(600, true);
  caller.seems("hello");
  ASSERT_TRUE(caller.wait([&] { return speaker_->texts().size() == 1; }));
  EXPECT_TRUE(speaker_->last_request().terms.background);
  EXPECT_TRUE(writer_->last_request().terms.background);
  EXPECT_EQ(writer_->last_request().writing.max_tokens, 30);
  EXPECT_EQ(JsonIn::parse(writer_->last_request().writing.chat->messages),
            JsonIn::parse(R"([{"role": "user", "content": "hello"}])"));
  const uint64_t seed = writer_->last_request().sampling.seed;
  ASSERT_TRUE(caller.wait([&] { return speaker_->steps() > 3 && writer_->ended() == 1; }));
  caller.pump();  // reads the rest of the draft; the voice has already begun
  EXPECT_EQ(caller.count("response.created"), 0);
  EXPECT_EQ(caller.count("response.output_audio.delta"), 0);
  caller.end_turn("hello there");
  EXPECT_EQ(caller.answer(), "Good day. How are you?");
  EXPECT_EQ(caller.audio_bytes(), bytes_of("Good day. How are you?"));
  EXPECT_EQ(speaker_->texts(), std::vector<std::string>{"Good day. How are you?"});
  EXPECT_FALSE(writer_->last_request().terms.background);
  EXPECT_EQ(writer_->last_request().writing.expected, "Good day. How are you?");
  EXPECT_EQ(writer_->last_request().sampling.seed, seed);
  EXPECT_EQ(writer_->last_request().writing.max_tokens, 0);
  caller.talk.reset();
  EXPECT_EQ(caller.sums->turns.value(), 1);
  EXPECT_EQ(caller.sums->ready.value(), 1);
  EXPECT_EQ(caller.sums->drafted.value(), 4);
  EXPECT_EQ(caller.sums->accepted.value(), 4);
  EXPECT_EQ(caller.sums->wasted.value(), 0);
  EXPECT_EQ(caller.sums->spoken_ahead.value(), 1);
  EXPECT_EQ(caller.sums->spoken_in_vain.value(), 0);
}

TEST_F(ForesightTest, AWrongGuessIsNeverHeard) {
  writer_->say({"No", " idea.", " Sorry."});
  RealtimeCaller caller(writer_, speaker_);
  caller.sound(600, true);
  caller.seems("who is");
  ASSERT_TRUE(caller.wait([&] { return speaker_->texts().size() == 1; }));
  writer_->say({"No", " idea", " at all."});
  caller.end_turn("who is it");
  EXPECT_EQ(caller.answer(), "No idea at all.");
  EXPECT_EQ(caller.audio_bytes(), bytes_of("No idea at all."));
  EXPECT_EQ(speaker_->texts().back(), "No idea at all.");
  EXPECT_TRUE(speaker_->wait_idle(10));
  caller.talk.reset();
  EXPECT_EQ(caller.sums->ready.value(), 0);
  EXPECT_EQ(caller.sums->spoken_in_vain.value(), 1);
  EXPECT_EQ(caller.sums->drafted.value(),
            caller.sums->accepted.value() + caller.sums->wasted.value());
  EXPECT_EQ(caller.sums->saved_s.value(), 0);
}

/// If the answer differs from the held sentence, it is spoken as soon as the difference shows, not
/// only when the answer is complete.
TEST_F(ForesightTest, AWrongGuessHoldsNothingUp) {
  writer_->say({"No", " idea.", " Sorry."});
  RealtimeCaller caller(writer_, speaker_);
  caller.sound(600, true);
  caller.seems("who is");
  ASSERT_TRUE(caller.wait([&] { return speaker_->texts().size() == 1; }));
  writer_->say({"Yes", ", I", " do."});
  caller.end_turn("endless");
  EXPECT_TRUE(caller.wait([&] { return caller.count("response.output_audio.delta") > 0; }));
  EXPECT_EQ(caller.count("response.done"), 0);
  caller.send({{"type", "response.cancel"}});
  EXPECT_EQ(caller.count("response.done"), 1);
}

TEST_F(ForesightTest, WhatIsTypedAndTakenBackLeavesNothing) {
  RealtimeCaller caller(writer_, speaker_);
  caller.type("append", "hello");
  ASSERT_TRUE(caller.wait([&] { return speaker_->texts().size() == 1; }));
  caller.type("replace", " ");
  EXPECT_TRUE(speaker_->wait_idle(10));
  EXPECT_EQ(caller.sums->spoken_in_vain.value(), 1);
  EXPECT_EQ(caller.sums->turns.value(), 1) << "a turn that nobody finished";
}

TEST_F(ForesightTest, ADraftThatIsNotNeededIsStopped) {
  RealtimeCaller caller(writer_, speaker_);
  caller.type("append", "endless");
  ASSERT_TRUE(caller.wait([&] { return writer_->last_request().terms.background; }));
  caller.talk.reset();
  EXPECT_TRUE(writer_->wait_cancelled(1));
  EXPECT_EQ(caller.sums->drafts.value(), 1);
  EXPECT_EQ(caller.sums->wasted.value(), caller.sums->drafted.value());
}

TEST_F(ForesightTest, ACoughAndASessionWithoutPredictionLeaveNothing) {
  RealtimeCaller caller(writer_, speaker_);
  caller.sound(600, true);
  caller.seems("hm");
  ASSERT_TRUE(caller.wait([&] { return speaker_->texts().size() == 1; }));
  caller.end_turn("");
  EXPECT_TRUE(speaker_->wait_idle(10));
  EXPECT_EQ(caller.sums->spoken_in_vain.value(), 1);
  EXPECT_EQ(caller.count("response.created"), 0);
  caller.set({{"predict", false}});
  EXPECT_EQ(caller.events.back()["session"]["predict"], false);
  caller.sound(600, true);
  caller.seems("hello");
  caller.end_turn("hello");
  caller.answer();
  EXPECT_EQ(caller.sums->turns.value(), 1);
  caller.set({{"predict", nullptr}});
  EXPECT_EQ(caller.events.back()["session"]["predict"]["rule"], "greedy");
  caller.set({{"predict", "often"}});
  EXPECT_EQ(caller.events.back()["error"]["param"], "session.predict");

  RealtimeCaller asked(writer_, speaker_, PredictWhen::kAsked);
  EXPECT_EQ(asked.events.at(0)["session"]["predict"], false);
  asked.set({{"predict", true}});
  EXPECT_EQ(asked.events.back()["session"]["predict"]["rule"], "greedy");
  RealtimeCaller never(writer_, speaker_, PredictWhen::kNever);
  EXPECT_FALSE(never.events.at(0)["session"].contains("predict"));
  never.set({{"predict", true}});
  EXPECT_EQ(never.events.back()["error"]["code"], "unsupported_value");
}

TEST_F(ForesightTest, ADraftThatIsRefusedIsNoError) {
  RealtimeCaller caller(writer_, speaker_);
  writer_->say({"busy"});  // the speaker refuses this text
  caller.sound(600, true);
  caller.seems("hello");
  ASSERT_TRUE(caller.wait([&] { return caller.sums->spoken_in_vain.value() > 0; }));
  caller.seems("busy");  // the writer refuses this request
  caller.seems("fail late");
  writer_->say({"Yes."});
  caller.end_turn("hello");
  EXPECT_EQ(caller.answer(), "Yes.");
  EXPECT_EQ(caller.count("error"), 0);
}

TEST_F(ForesightTest, AThousandUpdatesAreDraftedForInTurn) {
  writer_->say({"Yes", "."});
  RealtimeCaller caller(writer_, speaker_);
  caller.sound(600, true);
  for (int i = 0; i < 1000; ++i) caller.seems("word " + std::to_string(i));
  caller.end_turn("that is all");
  EXPECT_EQ(caller.answer(), "Yes.");
  caller.seems("more");  // the turn has ended, so this text is too late
  EXPECT_EQ(caller.count("response.created"), 1);
  caller.talk.reset();
  EXPECT_LE(caller.sums->drafts.value(), 1001);
  EXPECT_EQ(caller.sums->drafted.value(),
            caller.sums->accepted.value() + caller.sums->wasted.value());
  EXPECT_LE(caller.sums->wasted.value(), DraftRules{}.most_wasted + 2);
}

TEST_F(ForesightTest, ASessionSaysHow) {
  RealtimeCaller caller(writer_, speaker_, PredictWhen::kAsked);
  const JsonIn how = {{"rule", "top_k"}, {"k", 5}, {"draft_tokens", 12}, {"hint", "Cut off."}};
  caller.set({{"predict", how}});
  EXPECT_EQ(caller.events.back()["session"]["predict"], how);
  writer_->say({"Good", " day.", " How", " are you?"});
  caller.type("append", "hello");
  ASSERT_TRUE(caller.wait([&] { return speaker_->texts().size() == 1 && writer_->ended() == 1; }));
  caller.pump();  // reads the rest of the draft; the voice has already begun
  EXPECT_EQ(writer_->last_request().writing.max_tokens, 12);
  EXPECT_EQ(writer_->last_request().writing.expected_among, 5);
  EXPECT_EQ(JsonIn::parse(writer_->last_request().writing.chat->messages),
            JsonIn::parse(R"([{"role": "user", "content": "hello\nCut off."}])"));
  caller.ask_typed();
  EXPECT_EQ(caller.answer(), "Good day. How are you?");
  EXPECT_EQ(JsonIn::parse(writer_->last_request().writing.chat->messages),
            JsonIn::parse(R"([{"role": "user", "content": "hello"}])"));
  EXPECT_EQ(writer_->last_request().writing.expected, "Good day. How are you?");
  const auto fault = [&](JsonIn wrong) {
    caller.set({{"predict", std::move(wrong)}});
    return caller.events.back()["error"]["param"];
  };
  EXPECT_EQ(fault({{"rule", "best"}}), "session.predict.rule");
  EXPECT_EQ(fault({{"k", 0}}), "session.predict.k");
  EXPECT_EQ(fault({{"k", 101}}), "session.predict.k");
  EXPECT_EQ(fault({{"draft_tokens", 1e9}}), "session.predict.draft_tokens");
  EXPECT_EQ(fault({{"hint", std::string(3000, 'a')}}), "session.predict.hint");
  EXPECT_EQ(fault("often"), "session.predict");
}

/// The model judges its draft before it answers. The fake model answers neither yes nor no.
TEST_F(ForesightTest, ADraftIsJudgedFirst) {
  writer_->say({"Good", " day.", " How", " are you?"});
  RealtimeCaller caller(writer_, speaker_);
  caller.set({{"predict", {{"rule", "reflection"}}}});
  caller.type("append", "hello");
  ASSERT_TRUE(caller.wait([&] { return speaker_->texts().size() == 1; }));
  caller.type("append", " there");
  EXPECT_TRUE(caller.wait([&] { return caller.sums->reflections.value() > 0; }));
  caller.ask_typed();
  EXPECT_EQ(caller.answer(), "Good day. How are you?");
  EXPECT_EQ(writer_->last_request().writing.expected_settled, 0u);
  caller.talk.reset();
  EXPECT_GE(caller.sums->reflections.value(), 2);
  EXPECT_EQ(caller.sums->ready.value(), 1);
}

/// The next draft continues the approved sentences, so it waits for the judgement.
TEST_F(ForesightTest, ADraftWaitsForTheJudgementOfTheOneBefore) {
  const auto judge = std::make_shared<CueJudge>();
  judge->say({"Good", " day.", " How", " are you?"});
  RealtimeCaller caller(judge, speaker_);
  caller.set({{"predict", {{"rule", "reflection"}}}});
  caller.type("append", "hello");
  ASSERT_TRUE(caller.wait([&] { return speaker_->texts().size() == 1; }));
  caller.type("append", " there");
  ASSERT_TRUE(caller.wait([&] { return judge->asked.size() == 2; })) << "two sentences";
  EXPECT_EQ(judge->drafts, 1);
  judge->judge("yes");
  ASSERT_TRUE(caller.wait([&] { return judge->drafts == 2; }));
  EXPECT_EQ(judge->last_request().writing.expected, "Good day. How are you?");
  EXPECT_EQ(judge->last_request().writing.expected_settled,
            judge->last_request().writing.expected.size());
  caller.talk.reset();
}

TEST_F(ForesightTest, WhatIsTypedIsAnsweredAhead) {
  writer_->say({"Good", " day.", " How", " are you?"});
  RealtimeCaller caller(writer_, speaker_);
  caller.type("append", "hel");
  caller.type("append", "p");
  caller.type("replace", "hello");
  ASSERT_TRUE(caller.wait([&] { return speaker_->texts().size() == 1 && speaker_->steps() > 3; }));
  EXPECT_EQ(caller.events.size(), 2u) << "nothing leaves before the question has ended";
  caller.send({{"type", "input_text_buffer.commit"}});
  EXPECT_EQ(caller.count("input_text_buffer.committed"), 1);
  EXPECT_EQ(caller.count("conversation.item.added"), 1);
  EXPECT_EQ(caller.count("conversation.item.done"), 1);
  EXPECT_EQ(caller.count("response.created"), 0);
  caller.send({{"type", "response.create"}});
  EXPECT_EQ(caller.answer(), "Good day. How are you?");
  EXPECT_EQ(caller.audio_bytes(), bytes_of("Good day. How are you?"));
  EXPECT_EQ(speaker_->texts(), std::vector<std::string>{"Good day. How are you?"});
  caller.talk.reset();
  EXPECT_EQ(caller.sums->turns.value(), 1);
  EXPECT_EQ(caller.sums->ready.value(), 1);
}

TEST_F(ForesightTest, WhatIsTypedAmissIsReportedOrBounded) {
  writer_->say({"Yes", "."});
  RealtimeCaller caller(writer_, speaker_);
  const auto code = [&] { return caller.events.back()["error"]["code"]; };
  caller.send({{"type", "input_text_buffer.commit"}});
  EXPECT_EQ(code(), "input_text_buffer_commit_empty");
  caller.type("append", " \n");
  caller.send({{"type", "input_text_buffer.commit"}});
  EXPECT_EQ(code(), "input_text_buffer_commit_empty");
  caller.send({{"type", "input_text_buffer.append"}, {"text", 7}});
  EXPECT_EQ(caller.events.back()["error"]["param"], "text");
  caller.send({{"type", "input_text_buffer.append"}});
  EXPECT_EQ(caller.events.back()["error"]["param"], "text");
  caller.type("append", std::string(60'000, 'a'));
  caller.type("append", std::string(6'000, 'a'));
  EXPECT_EQ(code(), "input_text_buffer_too_long");
  caller.send({{"type", "input_text_buffer.clear"}});
  EXPECT_EQ(caller.events.back()["type"], "input_text_buffer.cleared");
  EXPECT_TRUE(speaker_->wait_idle(10));
  // The client types a thousand updates, asks, and types again during the answer. These later
  // updates belong to the next question.
  for (int i = 0; i < 1000; ++i) caller.type("replace", "word " + std::to_string(i));
  caller.ask_typed();
  caller.type("append", "and");
  EXPECT_EQ(caller.answer(), "Yes.");
  EXPECT_LE(caller.sums->wasted.value(), DraftRules{}.most_wasted + 2);
  ASSERT_TRUE(caller.wait([&] { return writer_->last_request().terms.background; }))
      << "what was typed meanwhile is drafted for now";
  const JsonIn messages = JsonIn::parse(writer_->last_request().writing.chat->messages);
  EXPECT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0]["content"], "word 999");
  EXPECT_EQ(messages[2]["content"], "and");
  caller.talk.reset();  // cancels speech that was made ahead
  EXPECT_TRUE(speaker_->wait_idle(10));
}

/// A text model and a voice on one machine.
class ForesightEngineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    machine_ = std::make_shared<Machine>(small_load("finch").engine);
    speaker_ = make_backend(load_engine(small_load("finch"), machine_));
    writer_ =
        make_backend(load_engine(small_load(SYRINX_BINARY_DIR "/parity/llm/qwen3"), machine_));
  }
  static void TearDownTestSuite() { writer_.reset(), speaker_.reset(), machine_.reset(); }
  static bool free_of(const Backend& backend) {
    const EngineStats stats = backend.stats();
    return stats.requests == 0 && stats.pages_free == stats.pages;
  }
  static void be_brief(RealtimeCaller& caller) {
    caller.set({{"temperature", 0}, {"max_output_tokens", 24}});
  }
  static std::string answer(PredictWhen predict, const std::vector<std::string>& partials,
                            const std::string& question) {
    RealtimeCaller caller(writer_, speaker_, predict,
                          16);  // the model's texts have no end of a sentence
    be_brief(caller);
    caller.sound(600, true);
    for (const std::string& partial : partials) {
      caller.seems(partial);
      caller.wait([&] { return writer_->stats().requests == 0; });
    }
    caller.end_turn(question);
    EXPECT_TRUE(caller.wait([&] { return caller.count("response.done") > 0; }));
    std::string text;
    for (const JsonIn& event : caller.events) {
      if (event["type"] == "response.output_audio_transcript.delta") {
        text += event["delta"].get<std::string>();
      }
    }
    EXPECT_GT(caller.audio_bytes(), 0u);
    return text;
  }

  static inline std::shared_ptr<Machine> machine_;
  static inline std::shared_ptr<Backend> writer_, speaker_;
};

TEST_F(ForesightEngineTest, TheAnswerIsTheSameAsWithout) {
  const std::string question = "What is the time?";
  const std::string plain = answer(PredictWhen::kNever, {}, question);
  EXPECT_FALSE(plain.empty());
  EXPECT_EQ(answer(PredictWhen::kUnlessNot, {"What", "What is the"}, question), plain);
  EXPECT_EQ(answer(PredictWhen::kUnlessNot, {"What is a dime", "What", question}, question), plain);
}

TEST_F(ForesightEngineTest, AClientThatLeavesInTheMiddleLeavesNothingBehind) {
  for (int spoken = 0; spoken < 2; ++spoken) {
    RealtimeCaller caller(writer_, speaker_, PredictWhen::kUnlessNot, 16);
    be_brief(caller);
    caller.sound(600, true);
    caller.seems("What is the time?");
    ASSERT_TRUE(caller.wait([&] { return caller.sums->spoken_ahead.value() >= spoken; }));
    caller.talk.reset();
    EXPECT_TRUE(caller.wait([&] { return free_of(*writer_) && free_of(*speaker_); }));
    EXPECT_EQ(caller.sums->spoken_in_vain.value(), caller.sums->spoken_ahead.value());
    EXPECT_EQ(caller.sums->wasted.value(), caller.sums->drafted.value());
  }
}

}  // namespace
}  // namespace syrinx
