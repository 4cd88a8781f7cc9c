// Conversations without a socket, with a fake engine.
#include "server/dialects/text_session.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "server/dialects/dialects.h"
#include "server/dialects/wyoming.h"
#include "server/models/fake_backend_test.h"

namespace syrinx {
namespace {

class WsSessionTest : public testing::Test {
 protected:
  void start(LateText late, const std::string& path = "/v1/speak", const std::string& query = "",
             double step_s = 0, SessionLimits limits = {}) {
    backend_ = std::make_shared<FakeBackend>(step_s);
    backend_->mutable_info().speech.late_text = late;
    backend_->mutable_info().speech.word_times = true;
    backend_->mutable_info().speech.context = true;
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

  /// Waits for the next frame and returns it; empty after 10 s or at the end.
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
  /// Reads frames up to one that contains `part`; returns the bytes of audio before it.
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
  EXPECT_EQ(backend_->stats().accepted, 1);  // speech begins before a flush
  send(R"({"type":"Flush"})");
  EXPECT_EQ(audio_until("Flushed"), 14 * 1920 * 2u);  // 1.05 s, rounded up to whole chunks
  EXPECT_EQ(backend_->texts(), Texts({" Hello you."}));
  say("Again.");
  send(R"({"type":"Flush"})");
  audio_until("Flushed");
  EXPECT_EQ(backend_->texts(), Texts({" Hello you.", "Again."}));
}

TEST_F(WsSessionTest, TextWithoutSpeechIsReportedAndTheStreamGoesOn) {
  for (const LateText late : {LateText::kToken, LateText::kSentence, LateText::kNone}) {
    start(late);
    audio_until("Metadata");
    say("mute");
    send(R"({"type":"Flush"})");
    say("Hello.");
    send(R"({"type":"Flush"})");
    EXPECT_TRUE(
        next().starts_with(R"({"type":"Warning","description":"the text contains nothing)"));
    EXPECT_TRUE(next().starts_with(R"({"type":"Flushed")"));
    EXPECT_EQ(audio_until("Flushed"), 8 * 1920 * 2u);
    send(R"({"type":"Close"})");
    EXPECT_EQ(next(), "");
    ASSERT_TRUE(session_->closing());
    EXPECT_EQ(session_->closing()->code, 1000);
  }
}

/// As in one request of the same text: no error, because the other sentences are spoken.
TEST_F(WsSessionTest, ASentenceWithoutSpeechIsLeftOutBetweenOthers) {
  start(LateText::kNone);
  audio_until("Metadata");
  say("Hello there. mute is this. Bye now. mute too. ");
  send(R"({"type":"Flush"})");
  std::string frame;
  while ((frame = next()) == "binary") {
  }
  EXPECT_TRUE(frame.starts_with(R"({"type":"Flushed")")) << frame;
  EXPECT_EQ(backend_->texts().size(), 4u);
}

TEST_F(WsSessionTest, AContextWithoutSpeechIsReportedAndDone) {
  start(LateText::kToken, "/tts/websocket");
  send(R"({"context_id":"a","transcript":"mute"})");
  ASSERT_TRUE(backend_->wait_idle(10));
  const SendMessage* error = session_->next(now_s());  // no further wake() will come
  ASSERT_NE(error, nullptr);
  EXPECT_TRUE(error->bytes.starts_with(
      R"({"type":"error","context_id":"a","status_code":400,"done":false)"))
      << error->bytes;
  EXPECT_TRUE(next().starts_with(R"({"type":"done")"));
}

TEST_F(WsSessionTest, TurnsOfSglangAreAConversation) {
  start(LateText::kToken, "/v1/audio/speech/realtime");
  send(R"({"type":"session.config","session":{"seed":3}})");
  next();
  const auto begin = [&](const std::string& id, const std::string& text) {
    send(R"({"type":"turn.start","turn_id":")" + id + "\"}");
    audio_until("turn.started");
    send(R"({"type":"input.text","turn_id":")" + id + R"(","seq_no":0,"text":")" + text + "\"}");
  };
  const auto end = [&](const std::string& id) {
    send(R"({"type":"input.done","turn_id":")" + id + R"(","seq_no":1})");
    const size_t bytes = audio_until("audio.done");
    EXPECT_NE(next().find(R"("committed":true)"), std::string::npos);
    return bytes;
  };
  begin("a", "Hello.");
  EXPECT_EQ(end("a"), 8 * 1920 * 2u);
  begin("b", "endless");
  audio_until("binary");
  send(R"({"type":"turn.cancel","turn_id":"b"})");
  audio_until("client_cancelled");
  EXPECT_TRUE(backend_->wait_idle(10));
  begin("c", "Bye.");
  end("c");
  const SpeechRequest last = backend_->last_request();
  ASSERT_EQ(last.say.context.size(), 1u) << "the cancelled turn is forgotten";
  EXPECT_EQ(last.say.context[0].text, "Hello.");
  EXPECT_EQ(last.say.context[0].codes,
            std::vector<int32_t>({0, 7, 1, 7, 2, 7, 3, 7, 4, 7, 5, 7, 6, 7, 7, 7}));
  begin("d", "<speak>Not SSML</speak>");
  end("d");
  EXPECT_EQ(backend_->texts().back(), "<speak>Not SSML</speak>");
  begin("e", std::string(300 << 10, 'a'));
  audio_until("text_too_long");
  audio_until(R"("committed":false)");
  EXPECT_FALSE(session_->closing());
  session_->tick(now_s(), true);
  ASSERT_TRUE(session_->closing()) << "a server that stops ends a session between two turns";
  EXPECT_EQ(session_->closing()->code, 1001);
}

constexpr const char* kNativeSocket = "/v1/audio/speech/stream";

/// Returns messages with a text for the native dialect, in pieces of seven bytes.
std::vector<std::string> text_messages(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size(); at += 7) {
    out.push_back(nlohmann::json{{"type", "input.text"}, {"text", text.substr(at, 7)}}.dump());
  }
  return out;
}

TEST_F(WsSessionTest, DocumentsOfSsmlAreUtterances) {
  for (const LateText late : {LateText::kToken, LateText::kNone}) {
    start(late, kNativeSocket);
    backend_->mutable_info().offers.add("speed", {0.5, 2});
    send(R"({"type":"session.config"})");
    const std::string document =
        "<speak>Say <sub alias='two'>2</sub> <mark name='m'/>now. "
        "<prosody rate='slow'><emphasis>So</emphasis>.</prosody></speak>";
    for (const std::string& message : text_messages("Plain one. ")) send(message);
    send(R"({"type":"input.done"})");
    for (const std::string& message : text_messages(document + " And on.")) send(message);
    send(R"({"type":"input.done"})");
    audio_until("session.done");
    std::string all;
    for (std::string frame = next(); frame.find("session.done") == frame.npos; frame = next()) {
      ASSERT_FALSE(frame.empty());
      all += frame + "\n";
    }
    EXPECT_NE(all.find("has no emphasis."), all.npos) << all;  // the warning of an ignored element
    EXPECT_NE(all.find(R"("marks":[{"name":"m","start_ms":)"), all.npos) << all;
    EXPECT_EQ(backend_->texts(), Texts({"Plain one. ", "Say two now. So.", " And on."}));
  }
}

TEST_F(WsSessionTest, DocumentsAreSaidAsTheyAsk) {
  start(LateText::kToken, kNativeSocket);
  backend_->mutable_info().offers.add("speed", {0.5, 1});
  backend_->mutable_info().speech.phones = true;
  send(R"({"type":"session.config"})");
  send(nlohmann::json{{"type", "input.text"},
                      {"text",
                       "<speak>I say <phoneme ph='tə'>x</phoneme>. "
                       "<prosody rate='slow'>So.</prosody></speak>"}}
           .dump());
  const SpeechRequest request = backend_->last_request();
  EXPECT_FALSE(request.say.open);
  ASSERT_EQ(request.say.sayings.size(), 1u);
  EXPECT_EQ(request.say.sayings[0].begin, 6);
  ASSERT_EQ(request.say.deliveries.size(), 1u);
  EXPECT_EQ(request.say.deliveries[0].rate, 0.75f);
}

TEST_F(WsSessionTest, MalformedDocumentsFail) {
  start(LateText::kToken, kNativeSocket);
  send(R"({"type":"session.config"})");
  send(R"({"type":"input.text","text":"<speak>\n<p>a</speak>"})");
  audio_until("SSML, line 2: this end tag does not");
  send(R"({"type":"input.text","text":"<speak>never closed"})");
  EXPECT_EQ(backend_->stats().accepted, 0);
  send(R"({"type":"input.done"})");
  audio_until("SSML, line 1: the document ends before its </speak>");
  audio_until("session.done");  // each input.done is answered
  // The field "ssml" works as that of POST /v1/audio/speech.
  send(R"({"type":"session.config","ssml":true})");
  send(R"({"type":"input.text","text":"Plain."})");
  send(R"({"type":"input.done"})");
  audio_until("SSML, line 1: this is not XML");
  audio_until("session.done");
  send(R"({"type":"session.config","ssml":false})");
  send(R"({"type":"input.text","text":"<speak>a</speak>"})");
  send(R"({"type":"input.done"})");
  audio_until("session.done");
  EXPECT_EQ(backend_->texts(), Texts({"<speak>a</speak>"}));
  send(R"({"type":"session.config","ssml":"yes"})");
  audio_until("'ssml' must be true or false");
}

TEST_F(WsSessionTest, StrictServersRefuseWhatADocumentCannotHave) {
  backend_ = std::make_shared<FakeBackend>();
  ApiError error;
  auto dialect =
      make_dialect({.path = kNativeSocket, .id = "x", .strict = true}, backend_->info(), error);
  session_ = std::make_unique<TextSession>(
      backend_, std::move(dialect), SessionLimits{}, [this] { wake(); }, now_s());
  send(R"({"type":"session.config"})");
  send(R"({"type":"input.text","text":"<speak><emphasis>So</emphasis></speak>"})");
  audio_until("has no emphasis.");
  EXPECT_EQ(backend_->stats().accepted, 0);
}

TEST_F(WsSessionTest, ElevenLabsTagsStandInPlainText) {
  const std::string path = "/v1/text-to-speech/low/stream-input";
  start(LateText::kToken, path, "enable_ssml_parsing=true&output_format=pcm_24000");
  send(R"({"text":"I say <phoneme alphabet='cmu-arpabet' "})");
  send(R"({"text":"ph='T AH0'>x</phoneme> now. ","flush":true})");
  EXPECT_EQ(backend_->texts(), Texts({"I say x now."}));
  start(LateText::kToken, path, "enable_ssml_parsing=false&output_format=pcm_24000");
  send(R"({"text":"<speak>x</speak> ","flush":true})");
  EXPECT_EQ(backend_->texts(), Texts({"<speak>x</speak> "}));
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
  say("...");  // a text with only marks is skipped
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
  EXPECT_NE(next(), "");  // the reply is Metadata
  EXPECT_EQ(next(), "binary");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  send(R"({"type":"Clear"})");
  EXPECT_TRUE(next().find("Cleared") != std::string::npos);
  EXPECT_EQ(session_->next(now_s()), nullptr);
  EXPECT_TRUE(backend_->wait_idle(5));
  say("new");
  send(R"({"type":"Flush"})");
  EXPECT_EQ(audio_until("Flushed"), 4 * 1920 * 2u);  // no audio of the old text
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
  session_->tick(now_s() + 100, true);  // the session does not stop while text is spoken
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

TEST_F(WsSessionTest, HalvesOfCharactersAreJoined) {
  struct {
    const char *path, *before, *message, *after;
  } doors[] = {
      {"/v1/speak", "", R"({"type":"Speak","text":"%"})", R"({"type":"Flush"})"},
      {kNativeSocket, R"({"type":"session.config"})", R"({"type":"input.text","text":"%"})",
       R"({"type":"input.done"})"},
      {"/v1/text-to-speech/low/stream-input", "", R"({"text":"%"})", R"({"text":""})"},
      {"/v1/text-to-speech/low/multi-stream-input", "", R"({"text":"%","context_id":"a"})",
       R"({"context_id":"a","close_context":true,"flush":true})"},
      {"/tts/websocket", "", R"({"transcript":"%","context_id":"a","continue":true})",
       R"({"transcript":"","context_id":"a","continue":false})"},
      {"", R"({"type":"synthesize-start","data":{}})",
       R"({"type":"synthesize-chunk","data":{"text":"%"}})", R"({"type":"synthesize-stop"})"}};
  for (const auto& door : doors) {
    if (*door.path != '\0') {
      start(LateText::kNone, door.path);
    } else {
      start(LateText::kNone);
      session_ = std::make_unique<TextSession>(
          backend_, make_wyoming_dialect(std::make_shared<ModelTable>(backend_), nullptr),
          SessionLimits{}, [this] { wake(); }, now_s());
    }
    const std::string end = *door.path == '\0' ? "\n" : "";
    if (*door.before != '\0') send(door.before + end);
    for (const char* piece : {R"(One \ud83d)", R"(\ude00 two \ud83d)", R"(three.\udc00)"}) {
      std::string message = door.message;
      send(message.replace(message.find('%'), 1, piece) + end);
    }
    if (std::string_view(door.path).ends_with("multi-stream-input")) {
      send(R"({"text":" ","context_id":"a","flush":true})");
    } else {
      send(door.after + end);
    }
    for (int i = 0; i < 500 && backend_->texts().empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_FALSE(backend_->texts().empty()) << door.path;
    std::string all;
    for (const std::string& text : backend_->texts()) all += text;
    EXPECT_TRUE(all.starts_with("One \U0001f600 two \ufffdthree.\ufffd")) << door.path << all;
    EXPECT_FALSE(session_->closing()) << door.path;
  }
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
