// Tests turns of a conversation on a small text model of tests/parity and the built-in voice.
#include "predict/turn.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <random>
#include <thread>

#include "engine/machine.h"
#include "runtime/small_load.h"

namespace syrinx {
namespace {

class Listener : public Audience {
 public:
  void text(std::string_view piece) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(over_);
    text_ += piece;
  }
  void audio(std::span<const float> samples) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(over_);
    samples_.insert(samples_.end(), samples.begin(), samples.end());
  }
  void draft(std::string_view text) override {
    const std::lock_guard lock(mutex_);
    draft_ = text;
    changed_.notify_all();
  }
  void done(const Error& error, const TurnCounts& counts) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(over_) << "done() came twice";
    over_ = true;
    error_ = error;
    counts_ = counts;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return over_; }));
  }
  void wait_for_draft(size_t bytes) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(60), [&] { return draft_.size() >= bytes; }));
  }

  std::string text_, draft_;
  std::vector<float> samples_;
  Error error_;
  TurnCounts counts_;
  std::mutex mutex_;
  bool over_ = false;

 private:
  std::condition_variable changed_;
};

/// Passes requests on, and notes the text with which each began, and which were raised.
class NotedService : public Service {
 public:
  explicit NotedService(Service& service) : service_(service) {}
  const PipelineInfo& info() const override { return service_.info(); }
  Result<RequestId> submit(const SpeechRequest& request, std::shared_ptr<Sink> sink) override {
    begun_.push_back(request.say.text);
    return service_.submit(request, std::move(sink));
  }
  void cancel(RequestId id) override { service_.cancel(id); }
  void append_text(RequestId id, std::string text, bool last) override {
    service_.append_text(id, std::move(text), last);
  }
  void raise_priority(RequestId id) override {
    ++raised_;
    service_.raise_priority(id);
  }
  std::vector<std::string> begun_;
  int raised_ = 0;

 private:
  Service& service_;
};

class TurnTest : public testing::Test {
 protected:
  static TurnOptions options(bool predict) {
    TurnOptions out;
    out.answer.sampling.temperature = 0.f;
    out.answer.writing.max_tokens = 60;
    out.voice.sampling.seed = 5;
    out.predict = predict;
    out.sentence.max_chars = 24;  // this model never ends a sentence
    return out;
  }
  static Chat said(const std::string& text) {
    std::string quoted;
    for (const char c : text) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    return {"[{\"role\": \"user\", \"content\": \"" + quoted + "\"}]", ""};
  }
  std::shared_ptr<Listener> answer(const std::string& question) {
    const auto ear = std::make_shared<Listener>();
    Turn::begin(*writer_, *speaker_, options(false), ear)->ask(said(question));
    ear->wait();
    return ear;
  }
  /// Waits until these engines have no requests. Returns false after 30 s.
  static bool wait_idle(std::initializer_list<const Engine*> engines) {
    const auto idle = [](const Engine* engine) { return engine->stats().requests == 0; };
    for (int i = 0; i < 6000 && !std::ranges::all_of(engines, idle); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return std::ranges::all_of(engines, idle);
  }
  static void TearDownTestSuite() { writer_.reset(), speaker_.reset(), machine_.reset(); }
  static void SetUpTestSuite() {
    machine_ = std::make_shared<Machine>(small_load("finch").engine);
    speaker_ = load_engine(small_load("finch"), machine_);
    writer_ = load_engine(small_load(SYRINX_BINARY_DIR "/parity/llm/qwen3"), machine_);
  }

  static inline std::shared_ptr<Machine> machine_;
  static inline std::unique_ptr<Engine> writer_, speaker_;
};

TEST_F(TurnTest, AnswersAsIfNothingHadBeenPredicted) {
  std::mt19937 dice(3);
  int ready = 0, right = 0;
  const std::string question = "What is the time, and how long is a minute?";
  const auto plain = answer(question);
  EXPECT_TRUE(plain->error_.message.empty()) << plain->error_.message;
  EXPECT_GT(plain->samples_.size(), 1000u);
  for (int i = 0; i < 60; ++i) {
    const auto ear = std::make_shared<Listener>();
    const auto turn = Turn::begin(*writer_, *speaker_, options(true), ear);
    for (int piece = 0; piece < 1 + i % 4; ++piece) {
      std::string known = question.substr(0, dice() % (question.size() + 1));
      // simulates a character recognised wrongly
      if (i % 3 == 1 && !known.empty()) known[dice() % known.size()] = 'x';
      turn->hear(said(known));
      if (i % 5 == 0) ear->wait_for_draft(1 + dice() % 8);
    }
    if (i % 2 == 0) {
      turn->hear(said(question));
      ear->wait_for_draft(plain->text_.size() / 3);
    }
    turn->ask(said(question));
    ear->wait();
    EXPECT_TRUE(ear->error_.message.empty()) << ear->error_.message;
    EXPECT_EQ(ear->text_, plain->text_) << "input " << i;
    EXPECT_EQ(ear->samples_, plain->samples_) << "input " << i;
    EXPECT_EQ(ear->counts_.spoken_ahead,
              ear->counts_.spoken_in_vain + (ear->counts_.ready ? 1 : 0));
    ready += ear->counts_.ready ? 1 : 0;
    right += ear->counts_.accepted;
    EXPECT_EQ(ear->counts_.drafted, ear->counts_.accepted + ear->counts_.wasted);
  }
  EXPECT_GT(ready, 10);
  EXPECT_GT(right, 0);
}

/// A draft for the whole question becomes the answer, whether it is still being written or whole.
TEST_F(TurnTest, ADraftForTheWholeQuestionNeedsNoOtherRequest) {
  const std::string question = "What is the time?";
  for (const bool whole : {false, true}) {
    TurnOptions asked = options(true);
    asked.prediction.drafts = {.first = 100, .most = 100};
    // This model never ends a text, so a stop string ends it.
    const std::string text = answer(question)->text_;
    if (whole) asked.answer.writing.stop = {text.substr(text.size() / 2)};
    asked.predict = false;
    const auto plain = std::make_shared<Listener>();
    Turn::begin(*writer_, *speaker_, asked, plain)->ask(said(question));
    plain->wait();
    asked.predict = true;
    NotedService writer(*writer_), speaker(*speaker_);
    const auto ear = std::make_shared<Listener>();
    const auto turn = Turn::begin(writer, speaker, asked, ear);
    turn->hear(said(question));
    ear->wait_for_draft(text.size() / 4);
    if (whole) {
      ASSERT_TRUE(wait_idle({writer_.get()}));
    }
    turn->ask(said(question));
    ear->wait();
    EXPECT_EQ(writer.begun_.size(), 1u);
    EXPECT_EQ(writer.raised_, whole ? 0 : 1);
    EXPECT_EQ(speaker.begun_.size(), 1u);
    EXPECT_TRUE(ear->counts_.ready);
    EXPECT_EQ(ear->text_, plain->text_);
    EXPECT_EQ(ear->samples_, plain->samples_);
    EXPECT_EQ(ear->counts_.drafted, ear->counts_.accepted);
  }
}

/// A draft with a hint is not an answer to the question.
TEST_F(TurnTest, ADraftWithAHintIsOnlyAGuess) {
  const std::string question = "What is the time?";
  TurnOptions asked = options(true);
  asked.prediction.hint = " (more may follow)";
  NotedService writer(*writer_);
  const auto ear = std::make_shared<Listener>();
  const auto turn = Turn::begin(writer, *speaker_, asked, ear);
  turn->hear(said(question));
  ear->wait_for_draft(4);
  turn->ask(said(question));
  ear->wait();
  EXPECT_EQ(writer.begun_.size(), 2u);
  EXPECT_EQ(ear->text_, answer(question)->text_);
}

/// A question that may be whole does not wait until a running draft has progressed.
TEST_F(TurnTest, APauseBeginsADraftAtOnce) {
  TurnOptions asked = options(true);
  asked.prediction.drafts = {.first = 100, .more = 100, .most = 100};
  asked.sentence.max_chars = 100'000;
  NotedService writer(*writer_);
  const auto ear = std::make_shared<Listener>();
  const auto turn = Turn::begin(writer, *speaker_, asked, ear);
  turn->hear(said("What is"));
  turn->hear(said("What is the"));
  EXPECT_EQ(writer.begun_.size(), 1u);
  turn->hear(said("What is the time?"), true);
  EXPECT_EQ(writer.begun_.size(), 2u);
  turn->ask(said("What is the time?"));
  ear->wait();
  EXPECT_EQ(writer.begun_.size(), 2u);
  EXPECT_EQ(ear->text_, answer("What is the time?")->text_);
}

TEST_F(TurnTest, LeavesNothingBehind) {
  for (int i = 0; i < 40; ++i) {
    const auto ear = std::make_shared<Listener>();
    const auto turn = Turn::begin(*writer_, *speaker_, options(true), ear);
    turn->hear(said("Hello, who is"));
    if (i % 2 == 0) ear->wait_for_draft(4);
    if (i % 3 == 0) turn->ask(said("Hello, who is there?"));
    if (i % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(i / 2));
    turn->cancel();
    ear->wait();
    turn->hear(said("Is anybody"));
    turn->ask(said("Is anybody there?"));  // too late, so without effect
    if (i % 3 != 0) {
      EXPECT_EQ(ear->error_.code, ErrorCode::kCancelled);
    }
  }
  EXPECT_TRUE(wait_idle({writer_.get(), speaker_.get()}));
  for (const Engine* engine : {writer_.get(), speaker_.get()}) {
    EXPECT_EQ(engine->stats().pages_free, engine->stats().pages);
  }
}

/// The first draft is short, later drafts may add a few tokens, and no draft exceeds the limit.
TEST_F(TurnTest, DraftsGrowFromRoundToRound) {
  const std::string question = "What is the time, and how long is a minute?";
  TurnOptions asked = options(true);
  asked.prediction.drafts = {.first = 6, .more = 3, .most = 12};
  const auto ear = std::make_shared<Listener>();
  const auto turn = Turn::begin(*writer_, *speaker_, asked, ear);
  for (int round = 0; round < 4; ++round) {
    turn->hear(said(question));
    ASSERT_TRUE(wait_idle({writer_.get()}));
  }
  turn->ask(said(question));
  ear->wait();
  EXPECT_EQ(ear->counts_.drafts, 4);
  EXPECT_GE(ear->counts_.drafted, 9);  // tokens without text are not reported
  EXPECT_LE(ear->counts_.drafted, 6 + 4 + 2);
  EXPECT_EQ(ear->counts_.accepted, ear->counts_.drafted);
  EXPECT_EQ(ear->counts_.wasted, 0);
}

/// A question that does not end gets drafts until too many tokens are wasted.
TEST_F(TurnTest, AQuestionThatNeverEndsIsGivenUp) {
  TurnOptions asked = options(true);
  asked.prediction.drafts = {.first = 6, .more = 2, .most = 12, .most_wasted = 40};
  const auto ear = std::make_shared<Listener>();
  const auto turn = Turn::begin(*writer_, *speaker_, asked, ear);
  std::mt19937 dice(5);
  const auto known = [&dice] {
    std::string out;
    while (out.size() < 40) out += static_cast<char>('a' + dice() % 26);
    return out;
  };
  for (int update = 0; update < 1000; ++update) turn->hear(said(known()));
  for (int round = 0; round < 40; ++round) {
    turn->hear(said(known()));
    ASSERT_TRUE(wait_idle({writer_.get()}));
  }
  turn->ask(said("What is the time?"));
  turn->hear(said("What is the time, now?"));  // too late, so without effect
  ear->wait();
  EXPECT_GE(ear->counts_.wasted, 40);
  EXPECT_LE(ear->counts_.wasted, 40 + 2 * 12);
  EXPECT_LT(ear->counts_.drafts, 40);
  EXPECT_EQ(ear->text_, answer("What is the time?")->text_);
}

TEST_F(TurnTest, AnEmptyQuestionIsDraftedForLikeAnyOther) {
  TurnOptions asked = options(true);
  asked.answer.writing.max_tokens = 9;
  const auto ear = std::make_shared<Listener>(), plain = std::make_shared<Listener>();
  const auto turn = Turn::begin(*writer_, *speaker_, asked, ear);
  turn->hear(said(""));
  ear->wait_for_draft(4);
  turn->ask(said(""));
  ear->wait();
  asked.predict = false;
  Turn::begin(*writer_, *speaker_, asked, plain)->ask(said(""));
  plain->wait();
  EXPECT_EQ(ear->text_, plain->text_);
}

TEST_F(TurnTest, WithoutPredictionOnlyAnswers) {
  const auto ear = std::make_shared<Listener>();
  const auto turn = Turn::begin(*writer_, *speaker_, options(false), ear);
  turn->hear(said("Hello, who is"));
  EXPECT_EQ(writer_->stats().requests, 0);
  turn->ask(said("Hello, who is there?"));
  turn->ask(said("What is the time?"));  // only the first call has an effect
  ear->wait();
  EXPECT_EQ(ear->counts_.drafts, 0);
  EXPECT_EQ(ear->text_, answer("Hello, who is there?")->text_);
}

TEST_F(TurnTest, AVoiceThatTakesWordsBeginsWithTheFirstOnes) {
  const std::string question = "What is the time?";
  ASSERT_EQ(speaker_->info().speech.late_text, LateText::kToken);
  NotedService speaker(*speaker_);
  TurnOptions asked = options(false);
  asked.sentence.max_chars = 100'000;  // the first sentence ends with the answer
  const auto ear = std::make_shared<Listener>();
  Turn::begin(*writer_, speaker, asked, ear)->ask(said(question));
  ear->wait();
  ASSERT_EQ(speaker.begun_.size(), 1u);
  EXPECT_LT(speaker.begun_[0].size(), ear->text_.size() / 2);
  EXPECT_TRUE(ear->text_.starts_with(speaker.begun_[0]));
  EXPECT_GT(ear->samples_.size(), 1000u);
}

TEST_F(TurnTest, AnAnswerWithoutWordsIsNotSpoken) {
  const std::string question = "What is the time?";
  TurnOptions asked = options(true);
  asked.answer.writing.stop = {answer(question)->text_.substr(0, 1)};
  const auto ear = std::make_shared<Listener>();
  const auto turn = Turn::begin(*writer_, *speaker_, asked, ear);
  turn->hear(said(question));
  turn->ask(said(question));
  ear->wait();
  EXPECT_TRUE(ear->error_.message.empty()) << ear->error_.message;
  EXPECT_EQ(ear->text_, "");
  EXPECT_TRUE(ear->samples_.empty());
}

/// If the speech service refuses a request, at once or when it opens the request, an answer fails,
/// but a draft does not.
TEST_F(TurnTest, ASpeakerThatRefusesIsHeardOf) {
  const std::string question = "What is the time?";
  for (const char* param : {"voice", "speed"}) {
    TurnOptions asked = options(true);
    if (std::string(param) == "voice") asked.voice.voice.name = "nobody";
    if (std::string(param) == "speed") asked.voice.voice.speed = 9;
    const auto ear = std::make_shared<Listener>();
    const auto turn = Turn::begin(*writer_, *speaker_, asked, ear);
    turn->hear(said(question));
    ASSERT_TRUE(wait_idle({writer_.get()}));
    {
      const std::lock_guard lock(ear->mutex_);
      EXPECT_FALSE(ear->over_) << param;
    }
    turn->ask(said(question));
    ear->wait();
    EXPECT_EQ(ear->error_.param, param);
    EXPECT_FALSE(ear->counts_.ready);
    EXPECT_TRUE(wait_idle({writer_.get(), speaker_.get()}));
  }
}

TEST_F(TurnTest, SaysWhatIsWrong) {
  const auto ear = std::make_shared<Listener>();
  EXPECT_THROW(Turn::begin(*speaker_, *speaker_, options(true), ear), LoadError);
  EXPECT_THROW(Turn::begin(*writer_, *writer_, options(true), ear), LoadError);
  Turn::begin(*writer_, *speaker_, options(true), ear)->ask({"[7]", ""});
  ear->wait();
  EXPECT_NE(ear->error_.message.find("messages"), std::string::npos) << ear->error_.message;
  EXPECT_EQ(ear->error_.code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace syrinx
