// Tests of the dialects as state machines: a client's messages and events of the speech on one
// side, actions on the other.
#include "server/dialects/dialects.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "server/access/key_headers.h"

namespace syrinx {
namespace {

PipelineInfo model(LateText late = LateText::kToken) {
  PipelineInfo info;
  info.family = "toy";
  info.model = "toy-1";
  info.speech.sample_rate = 24000;
  info.speech.voices = {{"low", ""}, {"high", ""}};
  info.speech.default_voice = "low";
  info.speech.late_text = late;
  info.speech.word_times = true;
  info.speech.phone_times = true;
  return info;
}

/// Returns one line for each action, in order.
std::string text_of(const Actions& actions) {
  struct {
    std::string operator()(const SendMessage& send) const {
      return send.binary ? concat("binary ", send.bytes.size()) : send.bytes;
    }
    std::string operator()(const OpenContext& open) const {
      const SpeechCall& call = open.options.call;
      return concat("open ", open.context, " ", call.request.voice.name, " ",
                    call.audio.out_rate_hz);
    }
    std::string operator()(const AddText& add) const {
      return "text " + add.context + " " + add.text;
    }
    std::string operator()(const FlushContext& flush) const { return "flush " + flush.context; }
    std::string operator()(const FinishContext& finish) const { return "finish " + finish.context; }
    std::string operator()(const CancelContext& cancel) const { return "cancel " + cancel.context; }
    std::string operator()(const CloseConnection& close) const {
      return concat("close ", close.code);
    }
    std::string operator()(const LoadModel& load) const { return "load " + load.model; }
  } visitor;
  std::string out;
  for (const Action& action : actions) out += std::visit(visitor, action) + "\n";
  return out;
}

std::string receive(Dialect& dialect, std::string_view message, bool binary = false) {
  Actions actions;
  dialect.message(message, binary, actions);
  return text_of(actions);
}

std::string happen(Dialect& dialect, SpeechEvent event) {
  Actions actions;
  dialect.event(event, actions);
  return text_of(actions);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::unique_ptr<Dialect> dialect_at(const std::string& path, const std::string& query = "",
                                    LateText late = LateText::kToken) {
  ApiError error;
  auto dialect = make_dialect({.path = path, .query = query, .id = "req_1"}, model(late), error);
  EXPECT_NE(dialect, nullptr) << error.message;
  return dialect;
}

ApiError refusal_at(const std::string& path, const std::string& query = "") {
  ApiError error;
  EXPECT_EQ(make_dialect({.path = path, .query = query, .id = "req_1"}, model(), error), nullptr);
  return error;
}

TEST(WsDialects, Paths) {
  EXPECT_EQ(refusal_at("/v1/text-to-speech//stream-input").status, 404);
  EXPECT_EQ(refusal_at("/v1/text-to-speech/a/b/stream-input").status, 404);
  EXPECT_EQ(refusal_at("/v1/nothing").status, 404);
  EXPECT_EQ(refusal_at("/v1/text-to-speech/nobody/stream-input").code, "voice_not_found");
  EXPECT_EQ(refusal_at("/v1/text-to-speech/low/stream-input", "output_format=pcm_x").param,
            "output_format");
  EXPECT_EQ(refusal_at("/v1/speak", "encoding=morse").param, "encoding");
  EXPECT_EQ(refusal_at("/v1/speak", "sample_rate=[[").param, "sample_rate");
  EXPECT_EQ(refusal_at("/v1/speak", "model=nobody").code, "voice_not_found");
}

TEST(WsDialects, NativeSpeaks) {
  const auto d = dialect_at("/v1/audio/speech/stream");
  const std::string configured =
      receive(*d, R"({"type":"session.config","voice":"HIGH","seed":7})");
  EXPECT_EQ(configured,
            R"({"type":"session.configured","model":"toy-1","format":"pcm","late_text":"token",)"
            R"("word_timestamps":false,"seed":7})"
            "\n");
  EXPECT_EQ(receive(*d, R"({"type":"input.text","text":"Hello "})"),
            "open speech high 24000\ntext speech Hello \n");
  // The configuration cannot change in the middle of an utterance.
  EXPECT_TRUE(contains(receive(*d, R"({"type":"session.config"})"), "\"error\""));
  EXPECT_EQ(receive(*d, R"({"type":"input.text","text":"you"})"), "text speech you\n");
  EXPECT_EQ(receive(*d, R"({"type":"input.done"})"), "flush speech\n");
  EXPECT_EQ(happen(*d, {.kind = SpeechEvent::kStarted, .context = "speech", .rate_hz = 24000}),
            R"({"type":"audio.start","utterance_index":0,"sentence_index":0,"format":"pcm",)"
            R"("sample_rate":24000,"channels":1})"
            "\n");
  EXPECT_EQ(happen(*d, {.kind = SpeechEvent::kAudio, .context = "speech", .bytes = "1234"}),
            "binary 4\n");
  EXPECT_EQ(happen(*d, {.kind = SpeechEvent::kSpoken, .context = "speech"}),
            R"({"type":"audio.done","utterance_index":0,"sentence_index":0,"total_bytes":4,)"
            R"("error":false})"
            "\n");
  EXPECT_EQ(happen(*d, {.kind = SpeechEvent::kFlushed, .context = "speech"}),
            R"({"type":"session.done","utterance_index":0,"total_sentences":1})"
            "\n");
  // Between utterances the voice may change: the next text is a new context.
  EXPECT_TRUE(
      contains(receive(*d, R"({"type":"session.config","voice":"low"})"), "cancel speech\n"));
  EXPECT_EQ(receive(*d, R"({"type":"input.text","text":"Bye"})"),
            "open speech low 24000\ntext speech Bye\n");
  EXPECT_EQ(receive(*d, R"({"type":"input.clear"})"),
            "cancel speech\n{\"type\":\"input.cleared\"}\n");
  EXPECT_EQ(receive(*d, R"({"type":"session.close"})"), "close 1000\n");
}

TEST(WsDialects, NativeRefuses) {
  struct Case {
    std::string message, part;
    bool closes;
  };
  const Case cases[] = {
      {"", "JSON", true},
      {"[]", "JSON", true},
      {R"({"type":"input.text","text":"x"})", "session.config", true},
      {R"({"type":"session.config","voice":"nobody"})", "voice_not_found", true},
      {R"({"type":"session.config","split_granularity":"word"})", "split_granularity", true},
      {R"({"type":"session.config","sample_rate":1})", "sample_rate", true},
  };
  for (const Case& c : cases) {
    const auto d = dialect_at("/v1/audio/speech/stream");
    const std::string answer = receive(*d, c.message);
    EXPECT_TRUE(contains(answer, c.part)) << c.message << "\n" << answer;
    EXPECT_EQ(contains(answer, "close 1008"), c.closes) << c.message;
  }
  const auto d = dialect_at("/v1/audio/speech/stream");
  EXPECT_EQ(d->idle_timeout_s(), 10);
  receive(*d, R"({"type":"session.config"})");
  EXPECT_EQ(d->idle_timeout_s(), 30);
  for (const char* message : {"nonsense", R"({"type":"input.text"})", R"({"type":"dance"})"}) {
    const std::string answer = receive(*d, message);
    EXPECT_TRUE(contains(answer, "\"error\"")) << answer;
    EXPECT_FALSE(contains(answer, "close"));
  }
  receive(*d, R"({"type":"input.text","text":"x"})");
  happen(*d, {.kind = SpeechEvent::kStarted, .context = "speech"});
  const std::string failed =
      happen(*d, {.kind = SpeechEvent::kFailed, .context = "speech", .error = unavailable("full")});
  EXPECT_TRUE(contains(failed, "\"error\":true"));
  EXPECT_TRUE(contains(failed, "server_is_overloaded"));
}

TEST(WsDialects, NativeWordsComeWithTheEndOfTheAudio) {
  const auto d = dialect_at("/v1/audio/speech/stream");
  receive(*d, R"({"type":"session.config","word_timestamps":true})");
  receive(*d, R"({"type":"input.text","text":"Hi you"})");
  happen(*d, {.kind = SpeechEvent::kStarted, .context = "speech", .rate_hz = 24000});
  EXPECT_TRUE(
      contains(happen(*d, {.kind = SpeechEvent::kAudio, .context = "speech", .bytes = "abc"}),
               R"("audio_b64":"YWJj","timestamps":null)"));
  EXPECT_EQ(happen(*d, {.kind = SpeechEvent::kWords,
                        .context = "speech",
                        .words = {{.text = "Hi", .tail = " ", .begin_s = 0.1, .end_s = 0.25}}}),
            "");
  EXPECT_TRUE(contains(happen(*d, {.kind = SpeechEvent::kSpoken, .context = "speech"}),
                       R"("timestamps":[{"word":"Hi","start_ms":100,"end_ms":250}])"));
}

TEST(WsDialects, NativePhonesComeInAudioDone) {
  const auto d = dialect_at("/v1/audio/speech/stream");
  EXPECT_TRUE(
      contains(receive(*d, R"({"type":"session.config","phone_timestamps":true})"), "configured"));
  receive(*d, R"({"type":"input.text","text":"Hi"})");
  happen(*d, {.kind = SpeechEvent::kStarted, .context = "speech", .rate_hz = 24000});
  happen(*d, {.kind = SpeechEvent::kPhones,
              .context = "speech",
              .words = {{.text = "hh", .begin_s = 0.02}, {.text = "ay1", .begin_s = 0.1}}});
  EXPECT_TRUE(
      contains(happen(*d, {.kind = SpeechEvent::kSpoken, .context = "speech"}),
               R"("phones":[{"phone":"hh","start_ms":20},{"phone":"ay1","start_ms":100}])"));
}

TEST(WsDialects, ElevenLabsSingle) {
  const auto d = dialect_at("/v1/text-to-speech/high/stream-input",
                            "model_id=eleven_turbo_v2_5&output_format=pcm_16000");
  EXPECT_EQ(receive(*d, R"({"text":" ","voice_settings":{"speed":1.1},"xi_api_key":"k"})"),
            "open  high 16000\ntext   \n");
  EXPECT_EQ(receive(*d, R"({"text":"Hello ","try_trigger_generation":true})"), "text  Hello \n");
  EXPECT_EQ(receive(*d, R"({"text":"you ","flush":true})"), "text  you \nflush \n");
  EXPECT_EQ(happen(*d, {.kind = SpeechEvent::kAudio, .context = "", .bytes = "abc"}),
            R"({"audio":"YWJj","isFinal":null,"alignment":null,"normalizedAlignment":null})"
            "\n");
  EXPECT_EQ(receive(*d, R"({"text":""})"), "finish \n");
  EXPECT_EQ(happen(*d, {.kind = SpeechEvent::kFinished, .context = ""}),
            "{\"isFinal\":true,\"audio\":null}\nclose 1000\n");
  const auto empty = dialect_at("/v1/text-to-speech/low/stream-input");
  EXPECT_EQ(receive(*empty, R"({"text":""})"), "{\"isFinal\":true,\"audio\":null}\nclose 1000\n");
  EXPECT_TRUE(contains(receive(*empty, "x"), "close 1008"));
}

TEST(WsDialects, ElevenLabsAlignmentsAddUp) {
  const auto d = dialect_at("/v1/text-to-speech/low/stream-input", "output_format=pcm_24000");
  receive(*d, R"({"text":"Hi you"})");
  const SpeechEvent first{.kind = SpeechEvent::kWords,
                          .words = {{.text = "Hi", .tail = " ", .begin_s = 0.1, .end_s = 0.4}}};
  EXPECT_TRUE(contains(happen(*d, first),
                       R"("alignment":{"chars":["H","i"," "],"charStartTimesMs":[100,200,300],)"
                       R"("charDurationsMs":[100,100,100]})"));
  const SpeechEvent second{.kind = SpeechEvent::kWords,
                           .words = {{.text = "y\xc3\xb6", .begin_s = 0.4, .end_s = 1.0}}};
  EXPECT_TRUE(contains(happen(*d, second),
                       R"("chars":["y",")"
                       "\xc3\xb6"
                       R"("],"charStartTimesMs":[0,300],"charDurationsMs":[300,300])"));
  happen(*d, {.kind = SpeechEvent::kSpoken, .audio_s = 1.5});
  const SpeechEvent next{.kind = SpeechEvent::kWords,
                         .words = {{.text = "x", .begin_s = 0.2, .end_s = 0.3}}};
  // Counted from the last word of the previous utterance, whose last 0.5 s had no words.
  EXPECT_TRUE(contains(happen(*d, next), R"("charStartTimesMs":[700])"));
}

TEST(WsDialects, ElevenLabsMulti) {
  const auto d = dialect_at("/v1/text-to-speech/low/multi-stream-input", "output_format=pcm_24000");
  EXPECT_EQ(receive(*d, R"({"text":""})"), "");  // keeps the connection alive, but opens no context
  EXPECT_EQ(receive(*d, R"({"text":" ","context_id":"a"})"), "open a low 24000\ntext a  \n");
  EXPECT_EQ(receive(*d, R"({"text":"Hi.","context_id":"a"})"), "text a Hi.\n");
  EXPECT_EQ(receive(*d, R"({"text":"","context_id":"a"})"), "");
  EXPECT_TRUE(contains(happen(*d, {.kind = SpeechEvent::kAudio, .context = "a", .bytes = "abc"}),
                       R"("contextId":"a")"));
  // Closing with text that was not flushed is an interruption.
  EXPECT_EQ(receive(*d, R"({"context_id":"a","close_context":true})"),
            "cancel a\n{\"isFinal\":true,\"contextId\":\"a\"}\n");
  // Closing after a flush is the end of a turn.
  receive(*d, R"({"text":"Hi.","context_id":"b"})");
  EXPECT_EQ(receive(*d, R"({"context_id":"b","flush":true})"), "flush b\n");
  EXPECT_EQ(receive(*d, R"({"context_id":"b","close_context":true})"), "finish b\n");
  EXPECT_EQ(happen(*d, {.kind = SpeechEvent::kFinished, .context = "b"}),
            "{\"isFinal\":true,\"contextId\":\"b\"}\n");
  for (const char* name : {"1", "2", "3", "4", "5"}) {
    receive(*d, concat(R"({"text":"x","context_id":")", name, "\"}"));
  }
  const std::string sixth = receive(*d, R"({"text":"x","context_id":"6"})");
  EXPECT_TRUE(contains(sixth, "max_contexts_exceeded"));
  EXPECT_TRUE(contains(sixth, "close 1008"));
  EXPECT_EQ(receive(*d, R"({"close_socket":true})"),
            "finish 1\nfinish 2\nfinish 3\nfinish 4\nfinish 5\n");
}

TEST(WsDialects, ElevenLabsAutoModeSpeaksEveryMessage) {
  const auto d = dialect_at("/v1/text-to-speech/low/multi-stream-input",
                            "output_format=pcm_24000&auto_mode=true", LateText::kSentence);
  EXPECT_EQ(receive(*d, R"({"text":" ","context_id":"a"})"), "open a low 24000\ntext a  \n");
  EXPECT_EQ(receive(*d, R"({"text":"Hi.","context_id":"a"})"), "text a Hi.\nflush a\n");
  EXPECT_TRUE(contains(receive(*d, R"({"context_id":"a","close_context":true})"), "cancel a"));
}

TEST(WsDialects, Cartesia) {
  const auto d = dialect_at("/tts/websocket");
  EXPECT_EQ(receive(*d, R"({"model_id":"sonic-3","transcript":"Hello, ","context_id":"c",
      "voice":{"mode":"id","id":"high"},"language":"en","continue":true,"output_format":
      {"container":"raw","encoding":"pcm_f32le","sample_rate":44100}})"),
            "open c high 44100\ntext c Hello, \n");
  EXPECT_EQ(receive(*d, R"({"transcript":"you","context_id":"c","continue":true,"flush":true})"),
            "text c you\nflush c\n");
  const SpeechEvent audio{.kind = SpeechEvent::kAudio, .context = "c", .bytes = "abc", .at_s = 0.5};
  EXPECT_EQ(happen(*d, audio),
            R"({"type":"chunk","context_id":"c","status_code":206,"done":false,"data":"YWJj",)"
            R"("step_time":500.0,"flush_id":0})"
            "\n");
  EXPECT_EQ(happen(*d, {.kind = SpeechEvent::kFlushed, .context = "c"}),
            R"({"type":"flush_done","context_id":"c","status_code":206,"done":false,)"
            R"("flush_done":true,"flush_id":1})"
            "\n");
  happen(*d, {.kind = SpeechEvent::kSpoken, .context = "c", .audio_s = 2});
  const SpeechEvent words{.kind = SpeechEvent::kWords,
                          .context = "c",
                          .words = {{.text = "x", .begin_s = 0.5, .end_s = 1}}};
  EXPECT_TRUE(contains(happen(*d, words),
                       R"("word_timestamps":{"words":["x"],"start":[2.5],"end":[3.0]})"));
  const SpeechEvent phones{.kind = SpeechEvent::kPhones,
                           .context = "c",
                           .words = {{.text = "ay1", .begin_s = 0.25, .end_s = 0.5}}};
  EXPECT_TRUE(contains(happen(*d, phones),
                       R"("phoneme_timestamps":{"phonemes":["ay1"],"start":[2.25],"end":[2.5]})"));
  EXPECT_EQ(receive(*d, R"({"transcript":"","context_id":"c","continue":false})"), "finish c\n");
  EXPECT_TRUE(contains(receive(*d, R"({"transcript":"late","context_id":"c"})"), "\"error\""));
  EXPECT_EQ(happen(*d, {.kind = SpeechEvent::kFinished, .context = "c"}),
            R"({"type":"done","context_id":"c","status_code":200,"done":true})"
            "\n");
  receive(*d, R"({"transcript":"x","context_id":"e","continue":true})");
  EXPECT_TRUE(contains(receive(*d, R"({"context_id":"e","cancel":true})"), "cancel e\n"));
  EXPECT_EQ(receive(*d, R"({"context_id":"e","cancel":true})"), "cancel e\n");
  for (const char* bad :
       {"", R"({"context_id":"f"})", R"({"transcript":"x","voice":{"mode":"id","id":"nobody"}})",
        R"({"transcript":"x","output_format":{"container":"wav"}})",
        R"({"transcript":"x","output_format":{"encoding":"mp3"}})",
        R"({"transcript":"x","model_id":"other"})"}) {
    const std::string answer = receive(*d, bad);
    EXPECT_TRUE(contains(answer, R"("type":"error")")) << bad << answer;
    EXPECT_FALSE(contains(answer, "open")) << bad;
  }
}

TEST(WsDialects, Deepgram) {
  const auto d = dialect_at("/v1/speak", "model=aura-2-thalia-en&encoding=mulaw");
  Actions hello;
  d->opened(hello);
  EXPECT_TRUE(
      contains(text_of(hello), R"("type":"Metadata","request_id":"req_1","model_name":"toy-1")"));
  EXPECT_EQ(receive(*d, R"({"type":"Speak","text":"Hi "})"), "open 0 low 8000\ntext 0 Hi \n");
  EXPECT_EQ(receive(*d, R"({"type":"Flush"})"), "flush 0\n");
  EXPECT_EQ(happen(*d, {.kind = SpeechEvent::kAudio, .context = "0", .bytes = "abc"}),
            "binary 3\n");
  EXPECT_EQ(happen(*d, {.kind = SpeechEvent::kFlushed, .context = "0"}),
            "{\"type\":\"Flushed\",\"sequence_id\":0}\n");
  EXPECT_EQ(receive(*d, R"({"type":"Clear"})"),
            "cancel 0\n{\"type\":\"Cleared\",\"sequence_id\":1}\n");
  EXPECT_EQ(receive(*d, R"({"type":"Speak","text":"Bye"})"), "open 1 low 8000\ntext 1 Bye\n");
  EXPECT_EQ(receive(*d, R"({"type":"Close"})"), "finish 1\n");
  EXPECT_EQ(happen(*d, {.kind = SpeechEvent::kFinished, .context = "1"}), "close 1000\n");
  EXPECT_TRUE(contains(receive(*d, R"({"type":"Speak"})"), "Warning"));
  EXPECT_TRUE(contains(receive(*d, "\xff\xfe"), "Warning"));
  EXPECT_TRUE(contains(receive(*d, R"({"type":"Speak"})", true), "Warning"));
}

TEST(WsFields, ReadsWhatItShould) {
  const Query query("a=1&b=%20x%zz&c&=d&a=2&e=1+1");
  EXPECT_EQ(query.find("a"), "1");
  EXPECT_EQ(query.find("b"), " x%zz");
  EXPECT_EQ(query.find("c"), "");
  EXPECT_EQ(query.find("e"), "1 1");
  EXPECT_EQ(query.find("f"), std::nullopt);
  EXPECT_FALSE(parse_object(std::string(100'000, '[')).has_value());
  EXPECT_FALSE(parse_object("{\"a\":1e999}").has_value());
  EXPECT_FALSE(parse_object("\"text\"").has_value());
  EXPECT_TRUE(parse_object("{\"a\":{\"b\":[1]}}").has_value());
}

TEST(WsAuth, FindsTheKey) {
  EXPECT_EQ(bearer_of({.authorization = "Bearer k"}), "Bearer k");
  EXPECT_EQ(bearer_of({.authorization = "Token  k"}), "Bearer k");
  EXPECT_EQ(bearer_of({.xi_api_key = " k "}), "Bearer k");
  EXPECT_EQ(bearer_of({.x_api_key = "k"}), "Bearer k");
  EXPECT_EQ(bearer_of({.subprotocols = "token, k"}), "Bearer k");
  EXPECT_EQ(bearer_of({.query = "x=1&api_key=k%2B"}), "Bearer k+");
  EXPECT_EQ(bearer_of({.query = "authorization=Bearer%20k"}), "Bearer k");
  EXPECT_EQ(bearer_of({.authorization = "Basic k"}), "");
}

}  // namespace
}  // namespace syrinx
