// Tests of the dialects as state machines: a client's messages and events of the speech on one
// side, actions on the other.
#include "server/dialects/dialects.h"

#include <gtest/gtest.h>

#include <algorithm>

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
  EXPECT_EQ(refusal_at("/v1/text-to-speech/unknown/stream-input").code, "voice_not_found");
  EXPECT_EQ(refusal_at("/v1/text-to-speech/low/stream-input", "output_format=pcm_x").param,
            "output_format");
  EXPECT_EQ(refusal_at("/v1/speak", "encoding=morse").param, "encoding");
  EXPECT_EQ(refusal_at("/v1/speak", "sample_rate=[[").param, "sample_rate");
  EXPECT_EQ(refusal_at("/v1/speak", "model=unknown").code, "voice_not_found");
  EXPECT_EQ(refusal_at("/v1/speak", "model=unknown").param, "model");
  EXPECT_EQ(refusal_at("/v1/text-to-speech/unknown/stream-input").param, "voice_id");
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
  for (int i = 0; i < 2; ++i) {
    receive(*d, R"({"type":"input.text","text":"x"})");
    receive(*d, R"({"type":"input.done"})");
  }
  const std::string failed =
      happen(*d, {.kind = SpeechEvent::kFailed, .context = "speech", .error = unavailable("full")});
  EXPECT_TRUE(contains(failed, "\"error\":true"));
  EXPECT_TRUE(contains(failed, "server_is_overloaded"));
  // Each input.done is answered, after a failure too.
  EXPECT_TRUE(failed.ends_with(R"({"type":"session.done","utterance_index":0,"total_sentences":0})"
                               "\n"
                               R"({"type":"session.done","utterance_index":1,"total_sentences":0})"
                               "\n"))
      << failed;
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
  const std::string refused =
      receive(*dialect_at("/v1/text-to-speech/low/stream-input"), R"({"text":5})");
  EXPECT_TRUE(contains(refused, "'text' must be a string.") && contains(refused, "close 1008"));
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
        R"({"transcript":"x","model_id":"other"})",
        R"({"transcript":"x","generation_config":{"speed":99}})"}) {
    const std::string answer = receive(*d, bad);
    EXPECT_EQ(contains(answer, "'generation_config.speed' must"), contains(bad, "speed"));
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

// ---------------------------------------------------------------------------- SGLang's turns

constexpr const char* kTurns = "/v1/audio/speech/realtime";

std::unique_ptr<Dialect> turns_of(PipelineInfo info, const std::string& config = "{}") {
  ApiError error;
  info.speech.context = true;
  auto dialect = make_dialect({.path = kTurns, .query = "", .id = "req_1"}, info, error);
  EXPECT_NE(dialect, nullptr) << error.message;
  EXPECT_TRUE(contains(receive(*dialect, R"({"type":"session.config","session":)" + config + "}"),
                       R"("type":"session.configured","session_id":"req_1")"));
  return dialect;
}

/// Returns the request of the context that a turn.start opens.
SpeechRequest opened_by(Dialect& dialect, const std::string& id) {
  Actions actions;
  dialect.message(R"({"type":"turn.start","turn_id":")" + id + "\"}", false, actions);
  for (const Action& action : actions) {
    const auto* open = std::get_if<OpenContext>(&action);
    if (open != nullptr) return open->options.call.request;
  }
  ADD_FAILURE() << "no context: " << text_of(actions);
  return {};
}

/// Speaks a whole turn whose request has these codes.
void speak_turn(Dialect& dialect, const std::string& id, const std::string& text,
                std::vector<int32_t> codes) {
  receive(dialect,
          R"({"type":"input.text","turn_id":")" + id + R"(","seq_no":0,"text":")" + text + "\"}");
  receive(dialect, R"({"type":"input.done","turn_id":")" + id + R"(","seq_no":1})");
  happen(dialect, {.kind = SpeechEvent::kStarted, .context = id, .rate_hz = 24000});
  happen(dialect, {.kind = SpeechEvent::kAudio, .context = id, .bytes = "1234"});
  happen(dialect,
         {.kind = SpeechEvent::kSpoken, .context = id, .text = text, .codes = std::move(codes)});
  EXPECT_TRUE(contains(happen(dialect, {.kind = SpeechEvent::kFinished, .context = id}),
                       R"("committed":true,"reason":"stop")"));
}

TEST(WsDialects, SglangSpeaksATurn) {
  const auto d = dialect_at(kTurns);
  EXPECT_EQ(receive(*d, R"({"type":"session.config","session":{"model":"toy-1","voice":"default",
                           "response_format":"pcm","sample_rate":16000,"seed":7,"top_k":30}})"),
            R"({"type":"session.configured","session_id":"req_1","response_format":"pcm",)"
            R"("sample_rate":16000,"stream_audio":true,"input_modes":["text"],)"
            R"("max_active_turns":1,"seed":7})"
            "\n");
  EXPECT_EQ(receive(*d, R"({"type":"turn.start","turn_id":"a"})"),
            "open a  16000\n"
            R"({"type":"turn.started","session_id":"req_1","turn_id":"a","request_id":"req_1:a",)"
            R"("next_seq_no":0})"
            "\n");
  const std::string text = R"({"type":"input.text","turn_id":"a","seq_no":0,"text":"Hi "})";
  const std::string ack =
      R"({"type":"input.ack","turn_id":"a","accepted_seq_no":0,"next_seq_no":1})"
      "\n";
  EXPECT_EQ(receive(*d, text), ack + "text a Hi \n");
  EXPECT_EQ(receive(*d, text), ack) << "a repeated message adds no text";
  const std::string done = R"({"type":"input.done","turn_id":"a","seq_no":1})";
  EXPECT_EQ(receive(*d, done),
            R"({"type":"input.ack","turn_id":"a","accepted_seq_no":1,"next_seq_no":2})"
            "\nfinish a\n");
  EXPECT_FALSE(contains(receive(*d, done), "finish"));
  EXPECT_EQ(happen(*d, {.kind = SpeechEvent::kStarted, .context = "a", .rate_hz = 16000}),
            R"({"type":"audio.start","id":"req_1:a","turn_id":"a","format":"pcm",)"
            R"("sample_rate":16000})"
            "\n");
  EXPECT_EQ(happen(*d, {.kind = SpeechEvent::kAudio, .context = "a", .bytes = "1234"}),
            "binary 4\n");
  EXPECT_EQ(
      happen(*d, {.kind = SpeechEvent::kSpoken, .context = "a", .reason = FinishReason::kLength}),
      "");
  EXPECT_EQ(happen(*d, {.kind = SpeechEvent::kFinished, .context = "a"}),
            R"({"type":"audio.done","id":"req_1:a","turn_id":"a","total_chunks":1,)"
            R"("total_bytes":4,"error":false})"
            "\n"
            R"({"type":"turn.done","session_id":"req_1","turn_id":"a","request_id":"req_1:a",)"
            R"("committed":true,"reason":"length"})"
            "\n");
  EXPECT_TRUE(contains(receive(*d, R"({"type":"turn.start","turn_id":"b"})"), "open b"));
  EXPECT_EQ(receive(*d, R"({"type":"session.close"})"),
            "cancel b\n"
            R"({"type":"audio.done","id":"req_1:b","turn_id":"b","total_chunks":0,)"
            R"("total_bytes":0,"error":false})"
            "\n"
            R"({"type":"turn.done","session_id":"req_1","turn_id":"b","request_id":"req_1:b",)"
            R"("committed":false,"reason":"session_closed"})"
            "\n"
            R"({"type":"session.closed","session_id":"req_1"})"
            "\nclose 1000\n");
}

TEST(WsDialects, SglangKeepsItsTurns) {
  const auto d = turns_of(model());
  const SpeechRequest first = opened_by(*d, "a");
  EXPECT_TRUE(first.say.context.empty());
  EXPECT_NE(first.say.kept, nullptr);
  speak_turn(*d, "a", "Hello.", {1, 2});
  const SpeechRequest second = opened_by(*d, "b");
  ASSERT_EQ(second.say.context.size(), 1u);
  EXPECT_EQ(second.say.context[0].text, "Hello.");
  EXPECT_EQ(second.say.context[0].codes, std::vector<int32_t>({1, 2}));
  EXPECT_EQ(second.say.kept, first.say.kept);
  EXPECT_EQ(second.sampling.seed, first.sampling.seed);
  // A turn that is cancelled before its first text changes nothing, a later one ends the stream.
  receive(*d, R"({"type":"turn.cancel","turn_id":"b"})");
  EXPECT_EQ(opened_by(*d, "c").say.kept, first.say.kept);
  receive(*d, R"({"type":"input.text","turn_id":"c","seq_no":0,"text":"No"})");
  EXPECT_TRUE(contains(receive(*d, R"({"type":"turn.cancel","turn_id":"c"})"),
                       R"("committed":false,"reason":"client_cancelled")"));
  EXPECT_EQ(happen(*d, {.kind = SpeechEvent::kAudio, .context = "c", .bytes = "late"}), "");
  const SpeechRequest later = opened_by(*d, "d");
  EXPECT_EQ(later.say.context.size(), 1u);
  EXPECT_NE(later.say.kept, first.say.kept);
  speak_turn(*d, "d", "Bye.", {3});
  EXPECT_EQ(opened_by(*d, "e").say.context.size(), 2u);
  receive(*d, R"({"type":"input.text","turn_id":"e","seq_no":0,"text":"x"})");
  const std::string failed =
      happen(*d, {.kind = SpeechEvent::kFailed, .context = "e", .error = unavailable("full")});
  EXPECT_TRUE(contains(failed, R"({"type":"error","message":"full")")) << failed;
  EXPECT_TRUE(contains(failed, R"("error":true)")) << failed;
  EXPECT_TRUE(contains(failed, R"("committed":false,"reason":"error")")) << failed;
  EXPECT_NE(opened_by(*d, "f").say.kept, later.say.kept);
  // A model that sends no codes has no earlier turns.
  speak_turn(*d, "f", "So.", {});
  EXPECT_EQ(opened_by(*d, "g").say.context.size(), 2u);
}

TEST(WsDialects, SglangRefusesWhatIsOutOfOrder) {
  for (const char* bad : {"", "[]", R"({"type":"turn.start","turn_id":"a"})",
                          R"({"type":"session.config","session":[]})",
                          R"({"type":"session.config","session":{"voice":"nobody"}})"}) {
    const auto d = dialect_at(kTurns);
    const std::string answer = receive(*d, bad);
    EXPECT_TRUE(contains(answer, R"({"type":"error")")) << bad << answer;
    EXPECT_TRUE(contains(answer, "close 1008")) << bad << answer;
  }
  const auto d = turns_of(model());
  const auto refuses = [&](const std::string& message, const std::string& part) {
    const std::string answer = receive(*d, message);
    EXPECT_TRUE(answer.starts_with(R"({"type":"error")")) << message << answer;
    EXPECT_TRUE(contains(answer, part)) << message << answer;
    EXPECT_EQ(std::count(answer.begin(), answer.end(), '\n'), 1) << answer;
  };
  refuses("\xff", "JSON object");
  refuses(R"({"type":"session.config"})", "Unknown message type");
  refuses(R"({"type":"input.clear"})", "Unknown message type");
  refuses(R"({"type":"input.text","turn_id":"a","seq_no":0,"text":"x"})", "turn.start");
  refuses(R"({"type":"turn.cancel","turn_id":"a"})", "turn.start");
  refuses(R"({"type":"turn.start"})", R"("param":"turn_id")");
  refuses(R"({"type":"turn.start","turn_id":"  "})", R"("param":"turn_id")");
  refuses(R"({"type":"turn.start","turn_id":")" + std::string(201, 'x') + "\"}", "200 bytes");
  for (const char* user : {"7", "{}", R"({"text":"x"})", R"({"text":"x","audio":7})",
                           R"({"text":"","audio":"UklGRg=="})"}) {
    refuses(concat(R"({"type":"turn.start","turn_id":"u","user":)", user, "}"), "\"message\"");
  }
  receive(*d, R"({"type":"turn.start","turn_id":"a"})");
  refuses(R"({"type":"turn.start","turn_id":"b"})", "has not ended");
  refuses(R"({"type":"input.text","turn_id":"b","seq_no":0,"text":"x"})", "present turn is 'a'");
  refuses(R"({"type":"input.text","turn_id":"a","seq_no":1,"text":"x"})", "must be 0, not 1");
  for (const char* seq : {"-1", "0.5", "\"0\"", "null", "1e30"}) {
    refuses(concat(R"({"type":"input.text","turn_id":"a","text":"x","seq_no":)", seq, "}"),
            "seq_no");
  }
  refuses(R"({"type":"input.text","turn_id":"a","seq_no":0,"text":""})", R"("param":"text")");
  refuses(R"({"type":"input.tokens","turn_id":"a","seq_no":0,"token_ids":[1]})",
          "unsupported_value");
  refuses(R"({"type":"input.done","turn_id":"a","seq_no":0})", "must follow an input.text");
  receive(*d, R"({"type":"input.text","turn_id":"a","seq_no":0,"text":"x"})");
  refuses(R"({"type":"input.text","turn_id":"a","seq_no":0,"text":"y"})", "other content");
  receive(*d, R"({"type":"input.done","turn_id":"a","seq_no":1})");
  refuses(R"({"type":"input.text","turn_id":"a","seq_no":2,"text":"x"})", "input.done");
  const std::string silent = happen(*d, {.kind = SpeechEvent::kFinished, .context = "a"});
  EXPECT_TRUE(contains(silent, "no words")) << silent;
  EXPECT_TRUE(contains(silent, R"("committed":false)")) << silent;
  refuses(R"({"type":"turn.start","turn_id":"a"})", "must be new");
  EXPECT_TRUE(contains(receive(*d, R"({"type":"turn.start","turn_id":"z"})", true), "text frame"));
}

TEST(WsDialects, TextWithoutSpeechDoesNotCloseTheConnection) {
  const SpeechEvent mute = {.kind = SpeechEvent::kUnspoken,
                            .context = "c",
                            .error = bad_field("input", "nothing to speak")};
  for (const std::string& path : std::vector<std::string>{
           "/v1/audio/speech/stream", kTurns, "/v1/speak", "/tts/websocket",
           "/v1/text-to-speech/low/stream-input", "/v1/text-to-speech/low/multi-stream-input"}) {
    const auto d = dialect_at(path);
    receive(*d, R"({"type":"session.config"})");
    receive(*d,
            R"({"type":"turn.start","turn_id":"c","context_id":"c","transcript":"x","text":"x"})");
    std::string said = happen(*d, mute);
    EXPECT_FALSE(contains(said, "close 10")) << path << said;
    // A turn reports all errors at its end.
    if (path == kTurns) said += happen(*d, {SpeechEvent::kFinished, "c"});
    EXPECT_TRUE(contains(said, "nothing to speak")) << path << said;
    EXPECT_TRUE(contains(said, "invalid_value")) << path << said;
  }
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
