// A conversation without a socket, with a stand-in for the engine.
#include "server/dialects/text_session.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "server/dialects/dialects.h"
#include "server/models/fake_backend_test.h"

namespace syrinx {
namespace {

class WsSessionTest : public testing::Test {
 protected:
  void start(LateText late, const std::string& path = "/v1/speak", const std::string& query = "",
             double step_s = 0, SessionLimits limits = {}) {
    backend_ = std::make_shared<FakeBackend>(step_s);
    backend_->mutable_info().late_text = late;
    backend_->mutable_info().word_times = true;
    ApiError error;
    auto dialect = make_dialect({.path = path, .query = query, .id = "x"}, backend_->info(), error);
    ASSERT_NE(dialect, nullptr) << error.message;
    session_ = std::make_unique<TextSession>(
        backend_, std::move(dialect), limits, [this] { wake(); }, now_s());
  }
  ~WsSessionTest() override { session_.reset(); }

  void wake() {
    const std::lock_guard lock(mutex_);
    news_ = true;
    changed_.notify_all();
  }
  void say(const std::string& text) {
    session_->message(R"({"type":"Speak","text":")" + text + "\"}", false, now_s());
  }
  void send(const std::string& message) { session_->message(message, false, now_s()); }

  /// The next frame, waiting for it; empty after 10 s or at the end.
  std::string next() {
    const double deadline_s = now_s() + 10;
    while (now_s() < deadline_s) {
      if (const SendMessage* frame = session_->next(now_s())) {
        const std::string out = frame->binary ? "binary" : frame->bytes;
        binary_bytes_ += frame->binary ? frame->bytes.size() : 0;
        session_->written();
        return out;
      }
      if (session_->closing()) return "";
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(20), [this] { return news_; });
      news_ = false;
    }
    return "";
  }
  /// Frames up to one that holds `part`; bytes of audio before it.
  size_t audio_until(const std::string& part) {
    binary_bytes_ = 0;
    for (;;) {
      const std::string frame = next();
      if (frame.empty()) {
        ADD_FAILURE() << "no frame with " << part;
        return 0;
      }
      if (frame.find(part) != std::string::npos) return binary_bytes_;
    }
  }

  std::shared_ptr<FakeBackend> backend_;
  std::unique_ptr<TextSession> session_;
  size_t binary_bytes_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool news_ = false;
};

using Texts = std::vector<std::string>;

TEST_F(WsSessionTest, TokensGoIntoOneOpenRequest) {
  start(LateText::kToken);
  for (const char* token : {" ", "Hel", "lo ", "you."}) say(token);
  EXPECT_EQ(backend_->stats().accepted, 1);  // before any flush
  send(R"({"type":"Flush"})");
  EXPECT_EQ(audio_until("Flushed"), 14 * 1920 * 2u);  // 1.05 s in whole chunks
  EXPECT_EQ(backend_->texts(), Texts({" Hello you."}));
  say("Again.");
  send(R"({"type":"Flush"})");
  audio_until("Flushed");
  EXPECT_EQ(backend_->texts(), Texts({" Hello you.", "Again."}));
}

TEST_F(WsSessionTest, SentencesWhereTheModelTakesNoLateText) {
  start(LateText::kNone);
  say("One is here. Two is");
  EXPECT_EQ(backend_->texts(), Texts({"One is here. "}));
  say(" there. Three");
  send(R"({"type":"Flush"})");
  audio_until("Flushed");
  EXPECT_EQ(backend_->texts(), Texts({"One is here. ", "Two is there. ", "Three"}));
}

TEST_F(WsSessionTest, FlushesAreAnsweredInTurnAndEmptyOnesToo) {
  start(LateText::kToken);
  send(R"({"type":"Flush"})");
  say("abc");
  send(R"({"type":"Flush"})");
  send(R"({"type":"Flush"})");
  say("...");  // marks alone are skipped
  send(R"({"type":"Flush"})");
  EXPECT_EQ(audio_until("Flushed"), 0u);
  EXPECT_GT(audio_until("Flushed"), 0u);
  EXPECT_EQ(audio_until("Flushed"), 0u);
  EXPECT_EQ(audio_until("Flushed"), 0u);
  EXPECT_EQ(backend_->texts(), Texts({"abc"}));
  send(R"({"type":"Close"})");
  EXPECT_EQ(next(), "");
  EXPECT_EQ(session_->closing()->code, 1000);
}

TEST_F(WsSessionTest, ClearDropsAudioThatWasMade) {
  start(LateText::kToken, "/v1/speak", "", 0.001);
  say("endless");
  EXPECT_NE(next(), "");  // Metadata
  EXPECT_EQ(next(), "binary");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  send(R"({"type":"Clear"})");
  EXPECT_TRUE(next().find("Cleared") != std::string::npos);
  EXPECT_EQ(session_->next(now_s()), nullptr);
  EXPECT_TRUE(backend_->wait_idle(5));
  say("new");
  send(R"({"type":"Flush"})");
  EXPECT_EQ(audio_until("Flushed"), 4 * 1920 * 2u);  // nothing of the old text
}

TEST_F(WsSessionTest, EndOfTheSessionCancels) {
  start(LateText::kToken, "/v1/speak", "", 0.001);
  say("endless");
  EXPECT_NE(next(), "");
  session_.reset();
  EXPECT_TRUE(backend_->wait_idle(5));
}

TEST_F(WsSessionTest, FailuresEndWithAnErrorThatKeepsSecrets) {
  start(LateText::kToken);
  say("fail late");
  send(R"({"type":"Flush"})");
  std::string frame;
  while ((frame = next()).find("Error") == std::string::npos) ASSERT_NE(frame, "");
  EXPECT_EQ(frame.find("secret"), std::string::npos);
  EXPECT_EQ(session_->take_troubles(), Texts({"a secret of the inside"}));
  EXPECT_EQ(next(), "");
  EXPECT_EQ(session_->closing()->code, 1011);
}

TEST_F(WsSessionTest, BusyAndBrokenEngines) {
  for (const char* text : {"busy", "broken"}) {
    start(LateText::kNone);
    say(text);
    send(R"({"type":"Flush"})");
    EXPECT_TRUE(next().find("Metadata") != std::string::npos);
    EXPECT_TRUE(next().find("Error") != std::string::npos);
    session_.reset();
  }
}

TEST_F(WsSessionTest, TextIsBounded) {
  start(LateText::kToken, "/v1/speak", "", 0, {.max_text_bytes = 1000});
  say(std::string(1001, 'a'));
  EXPECT_TRUE(next().find("Metadata") != std::string::npos);
  EXPECT_TRUE(next().find("text_too_long") != std::string::npos);
  start(LateText::kNone, "/v1/speak", "", 1);
  for (int i = 0; i < 70; ++i) say("This is it. ");
  std::string frame = next();
  while (frame.find("Error") == std::string::npos && !frame.empty()) frame = next();
  EXPECT_TRUE(frame.find("64 sentences") != std::string::npos) << frame;
}

TEST_F(WsSessionTest, IdleAndStoppingSessionsClose) {
  start(LateText::kToken);
  EXPECT_TRUE(next().find("Metadata") != std::string::npos);
  session_->tick(now_s() + 59, false);
  EXPECT_FALSE(session_->closing());
  session_->tick(now_s() + 61, false);
  EXPECT_EQ(session_->closing()->code, 1000);
  start(LateText::kToken, "/v1/speak", "", 0.001);
  next();
  say("endless");
  session_->tick(now_s() + 100, true);  // not while something is spoken
  EXPECT_FALSE(session_->closing());
  send(R"({"type":"Clear"})");
  next();
  session_->tick(now_s(), true);
  EXPECT_EQ(session_->closing()->code, 1001);
}

TEST_F(WsSessionTest, WordsAreTimed) {
  start(LateText::kNone, "/tts/websocket");
  send(R"({"transcript":"ab cde fg","context_id":"c","add_timestamps":true})");
  std::string frame, words;
  while ((frame = next()).find("\"done\":true") == std::string::npos) {
    ASSERT_NE(frame, "");
    if (frame.find("timestamps") != std::string::npos) words += frame;
  }
  EXPECT_TRUE(words.find(R"("words":["ab","cde"],"start":[0.0,0.24],"end":[0.24,0.64])") !=
              std::string::npos)
      << words;
  EXPECT_TRUE(words.find(R"("words":["fg"],"start":[0.64],"end":[0.9)") != std::string::npos)
      << words;
}

TEST_F(WsSessionTest, ContextsTakeTurns) {
  start(LateText::kToken, "/tts/websocket", "", 0.001);
  send(R"({"transcript":"endless","context_id":"a","continue":true})");
  send(R"({"transcript":"0123456789","context_id":"b"})");
  std::string frame;
  int other = 0;
  while ((frame = next()).find("\"done\":true") == std::string::npos) {
    ASSERT_NE(frame, "");
    other += frame.find(R"("context_id":"a")") != std::string::npos;
  }
  EXPECT_TRUE(frame.find(R"("context_id":"b")") != std::string::npos);
  EXPECT_GT(other, 0);
}

TEST(WsContexts, WordsOutsideTheTextAreSkipped) {
  const WordMark marks[] = {{0, 2, 0}, {3, 99, 5}, {1, 2, 6}, {3, 4, 10}};
  const auto words = timed_words("ab c.", marks, 10, 2);
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0].text, "ab");
  EXPECT_EQ(words[0].end_s, 1.0);
  EXPECT_EQ(words[1].text, "c");
  EXPECT_EQ(words[1].tail, ".");
  EXPECT_EQ(words[1].end_s, 2.0);
}

}  // namespace
}  // namespace syrinx
