// The session of the Realtime API as the state machine that it is: no sockets, no engine.
#include "server/realtime/realtime_session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "base/fuzzing.h"
#include "ears/recogniser.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

/// Not for the compiler to work out.
std::string filled_with(size_t bytes, char value) { return std::string(bytes, value); }

/// A voice is what is louder than nothing.
class LoudActivity final : public VoiceActivity {
 public:
  bool speaks(std::span<const int16_t> frame) override {
    return std::any_of(frame.begin(), frame.end(),
                       [](int sample) { return std::abs(sample) > 1000; });
  }
};

/// A session and what it asked for.
class Peer {
 public:
  explicit Peer(const std::function<void(RealtimeFacts&)>& change = {}, bool transcribes = false) {
    RealtimeFacts facts;
    facts.id = "x";
    facts.model = "writer";
    facts.default_voice = "low";
    facts.open_activity = [](int) { return std::make_unique<LoudActivity>(); };
    facts.refuse_voice = [](const std::string& voice) -> std::optional<ApiError> {
      if (voice != "nobody") return {};
      return ApiError{.message = "no such voice", .param = "voice", .code = "voice_not_found"};
    };
    if (change) change(facts);
    session.emplace(std::move(facts), transcribes);
    RealtimeActions out;
    session->opened(out);
    collect(out);
  }

  void raw(const std::string& text, bool binary = false) {
    RealtimeActions out;
    bool more = session->take(read_realtime_event(text, binary), out);
    while (more) more = session->hear_more(out);
    collect(out);
  }
  /// Events that came of it.
  std::vector<JsonIn> send(const JsonIn& event) {
    const size_t before = events.size();
    raw(event.dump());
    return {events.begin() + static_cast<std::ptrdiff_t>(before), events.end()};
  }
  std::vector<JsonIn> append(const std::string& bytes) {
    return send({{"type", "input_audio_buffer.append"}, {"audio", base64(bytes)}});
  }
  /// PCM at 24 kHz, loud or silent.
  std::vector<JsonIn> say(int ms, bool loud) {
    std::string bytes;
    for (int i = 0; i < 24 * ms; ++i) {
      const int sample = loud ? (i % 50 < 25 ? 8000 : -8000) + i % 7 : 0;
      bytes += static_cast<char>(sample & 255);
      bytes += static_cast<char>(sample >> 8 & 255);
    }
    return append(bytes);
  }
  std::vector<JsonIn> hear(const std::string& item, const HearingNews& news) {
    return run([&](RealtimeActions& out) { session->heard(item, news, out); });
  }
  std::vector<JsonIn> hear_all(const std::string& item, const std::string& text) {
    return hear(item, {.text = text, .usage = {{"type", "duration"}, {"seconds", 1}}});
  }
  std::vector<JsonIn> answer(const AnswerNews& news) {
    return run([&](RealtimeActions& out) { session->answered(begun.back().response, news, out); });
  }
  std::vector<JsonIn> end(FinishReason reason = FinishReason::kStop) {
    Outcome outcome;
    outcome.reason = reason;
    outcome.prompt_tokens = 7, outcome.completion_tokens = 3, outcome.cached_tokens = 2;
    return answer({.outcome = outcome});
  }
  /// Speaks a turn; its item.
  std::string turn() {
    say(300, false);
    say(600, true);
    say(700, false);
    return opened.back().item;
  }

  std::optional<RealtimeSession> session;
  std::vector<JsonIn> events;
  std::vector<OpenHearing> opened;
  std::map<std::string, size_t> samples;
  std::vector<std::string> ended, dropped, stopped;
  std::vector<BeginAnswer> begun;
  std::vector<JsonIn> foreseen;  // messages
  int forgotten = 0;

 private:
  template <typename F>
  std::vector<JsonIn> run(const F& task) {
    const size_t before = events.size();
    RealtimeActions out;
    task(out);
    collect(out);
    return {events.begin() + static_cast<std::ptrdiff_t>(before), events.end()};
  }
  void collect(RealtimeActions& out) {
    for (RealtimeAction& action : out) {
      if (auto* send = std::get_if<SendEvent>(&action)) {
        events.push_back(JsonIn::parse(send->json));
        EXPECT_FALSE(events.back().value("event_id", "").empty());
      } else if (auto* open = std::get_if<OpenHearing>(&action)) {
        opened.push_back(*open);
      } else if (auto* more = std::get_if<HearSamples>(&action)) {
        samples[more->item] += more->samples.size();
      } else if (auto* end = std::get_if<EndHearing>(&action)) {
        ended.push_back(end->item);
      } else if (auto* drop = std::get_if<DropHearing>(&action)) {
        dropped.push_back(drop->item);
      } else if (auto* begin = std::get_if<BeginAnswer>(&action)) {
        begun.push_back(*begin);
      } else if (std::holds_alternative<Foresee>(action)) {
        foreseen.push_back(session->foreseen().body["messages"]);
      } else if (std::holds_alternative<ForgetForeseen>(action)) {
        ++forgotten;
      } else {
        stopped.push_back(std::get<StopAnswer>(action).response);
      }
    }
  }
};

std::string kinds(const std::vector<JsonIn>& events) {
  std::string out;
  for (const JsonIn& event : events) {
    out += (out.empty() ? "" : " ") + event["type"].get<std::string>();
    if (event["type"] == "error") out += ":" + event["error"].value("code", JsonIn()).dump();
  }
  return out;
}

JsonIn user_says(const std::string& text) {
  return {{"type", "conversation.item.create"},
          {"item",
           {{"type", "message"},
            {"role", "user"},
            {"content", {{{"type", "input_text"}, {"text", text}}}}}}};
}
JsonIn set(JsonIn session) { return {{"type", "session.update"}, {"session", std::move(session)}}; }
const JsonIn kRespond = {{"type", "response.create"}};

TEST(RealtimeSession, BeginsWithItsConfiguration) {
  Peer peer;
  ASSERT_EQ(kinds(peer.events), "session.created");
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
  Peer peer;
  const auto told = [&](JsonIn session) {
    const auto events = peer.send(set(std::move(session)));
    EXPECT_EQ(kinds(events), "session.updated");
    return events.at(0)["session"];
  };
  JsonIn now = told({{"type", "realtime"},
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
  now = told({{"type", "realtime"}, {"tracing", nullptr}});  // nothing else changes
  EXPECT_EQ(now["instructions"], "Be brief.");
  EXPECT_EQ(now["max_output_tokens"], 50);
  EXPECT_EQ(now["audio"]["output"]["speed"], 1.25);
  EXPECT_EQ(now["audio"]["input"]["transcription"]["model"], "whisper-1");
  now = told({{"instructions", nullptr},
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
  now = told({{"audio", {{"input", {{"turn_detection", {{"type", "semantic_vad"}}}}}}}});
  EXPECT_EQ(now["audio"]["input"]["turn_detection"]["eagerness"], "auto");
}

TEST(RealtimeSession, WrongUpdatesChangeNothing) {
  Peer peer;
  const auto refused = [&](JsonIn session, const char* code, const char* param) {
    const auto events = peer.send(
        {{"type", "session.update"}, {"event_id", "mine"}, {"session", std::move(session)}});
    EXPECT_EQ(kinds(events), std::string("error:\"") + code + "\"");
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
  refused({{"type", "else"}}, "invalid_value", "session.type");
  EXPECT_EQ(kinds(peer.send({{"type", "session.update"}})), "error:\"missing_required_parameter\"");
  EXPECT_EQ(peer.send(set(JsonIn::object())).at(0)["session"]["instructions"], "");
}

TEST(RealtimeSession, ATurnByAudioInTheDocumentedOrder) {
  Peer peer;
  peer.send(set({{"audio", {{"input", {{"transcription", {{"model", "whisper-1"}}}}}}}}));
  peer.say(1000, false);
  std::vector<JsonIn> events = peer.say(600, true);
  ASSERT_EQ(kinds(events), "input_audio_buffer.speech_started");
  const std::string item = events[0]["item_id"];
  EXPECT_NEAR(events[0]["audio_start_ms"].get<int>(), 700, 20);
  ASSERT_EQ(peer.opened.size(), 1u);
  EXPECT_EQ(peer.opened[0].item, item);
  EXPECT_EQ(peer.opened[0].wish.model, "whisper-1");
  peer.hear(item, {.segments = {" hello"}});  // told once the item is there
  events = peer.say(600, false);
  EXPECT_EQ(kinds(events),
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
  // Prefix, speech and pause, all of it and no more.
  EXPECT_NEAR(static_cast<double>(peer.samples[item]) / kHearingRate, 0.3 + 0.6 + 0.51, 0.03);
  EXPECT_EQ(peer.ended, std::vector{item});
  EXPECT_TRUE(peer.begun.empty());
  events = peer.hear(item, {.segments = {" there"},
                            .text = "hello there",
                            .usage = {{"type", "duration"}, {"seconds", 1.5}}});
  EXPECT_EQ(kinds(events),
            "conversation.item.input_audio_transcription.delta "
            "conversation.item.input_audio_transcription.completed response.created");
  EXPECT_EQ(events[0]["delta"], " there");
  EXPECT_EQ(events[1]["transcript"], "hello there");
  EXPECT_EQ(events[1]["usage"]["type"], "duration");
  ASSERT_EQ(peer.begun.size(), 1u);
  EXPECT_EQ(peer.begun[0].body["messages"],
            JsonIn::parse(R"([{"role": "user", "content": "hello there"}])"));
  // The answer.
  events = peer.answer({.text = "Good"});
  EXPECT_EQ(kinds(events),
            "response.output_item.added conversation.item.added response.content_part.added "
            "response.output_audio_transcript.delta");
  EXPECT_EQ(events[0]["item"]["status"], "in_progress");
  EXPECT_EQ(events[0]["item"]["content"], JsonIn::array());
  EXPECT_EQ(events[1]["previous_item_id"], item);
  EXPECT_EQ(events[2]["part"]["type"], "audio");
  events = peer.answer({.text = " day.", .audio = filled_with(4800, 'a')});
  EXPECT_EQ(kinds(events), "response.output_audio_transcript.delta response.output_audio.delta");
  EXPECT_EQ(base64_decoded(events[1]["delta"].get<std::string>()), filled_with(4800, 'a'));
  events = peer.end();
  EXPECT_EQ(kinds(events),
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
  Peer peer([](RealtimeFacts& facts) { facts.may_predict = facts.predicts = true; });
  peer.send(set({{"instructions", "Be brief."}}));
  peer.say(600, true);
  const std::string item = peer.opened.at(0).item;
  peer.hear(item, {.partial = ""});
  EXPECT_TRUE(peer.foreseen.empty());
  peer.hear(item, {.partial = "what is"});
  peer.hear(item, {.partial = "what is"});  // nothing new
  ASSERT_EQ(peer.foreseen.size(), 1u);
  EXPECT_EQ(peer.foreseen[0], JsonIn::parse(R"([{"role": "system", "content": "Be brief."},
                                                {"role": "user", "content": "what is"}])"));
  peer.hear(item, {.segments = {" what is the"}, .partial = "thyme"});
  EXPECT_EQ(peer.foreseen.back()[1]["content"], "what is the thyme");
  peer.say(700, false);  // now it is an item whose transcript is on its way
  peer.say(600, true);   // and somebody goes on
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
  // A cough, and a buffer that is cleared.
  peer.say(600, true);
  peer.hear(peer.opened.back().item, {.partial = "hm"});
  peer.say(700, false);
  peer.hear_all(peer.opened.back().item, "");
  EXPECT_EQ(peer.forgotten, 1);
  peer.say(600, true);
  peer.hear(peer.opened.back().item, {.partial = "oh"});
  peer.send({{"type", "input_audio_buffer.clear"}});
  EXPECT_EQ(peer.forgotten, 2);
  // Nobody answers by himself, or what is asked for is something else.
  const size_t before = peer.foreseen.size();
  peer.send(set(JsonIn::parse(R"({"audio": {"input": {"turn_detection":
      {"type": "server_vad", "create_response": false}}}})")));
  peer.say(600, true);
  peer.hear(peer.opened.back().item, {.partial = "hello"});
  EXPECT_EQ(peer.foreseen.size(), before);
  peer.send({{"type", "response.create"}, {"response", {{"input", JsonIn::array()}}}});
  EXPECT_FALSE(peer.begun.back().foreseen);
}

TEST(RealtimeSession, SilenceAndNoiseAnswerNobody) {
  Peer peer;
  const std::string item = peer.turn();
  EXPECT_EQ(kinds(peer.hear_all(item, "")), "");
  EXPECT_TRUE(peer.begun.empty());
  EXPECT_TRUE(peer.session->quiet());
}

TEST(RealtimeSession, SpeakingInterruptsTheAnswer) {
  Peer peer;
  peer.hear_all(peer.turn(), "tell me all");
  const std::string first = peer.begun.back().response;
  peer.answer({.text = "Once upon", .audio = filled_with(48000, 'a')});
  const auto events = peer.say(300, true);
  EXPECT_EQ(kinds(events),
            "input_audio_buffer.speech_started response.output_audio.done "
            "response.output_audio_transcript.done response.content_part.done "
            "response.output_item.done conversation.item.done response.done");
  EXPECT_EQ(events.back()["response"]["status"], "cancelled");
  EXPECT_EQ(events.back()["response"]["status_details"]["reason"], "turn_detected");
  EXPECT_EQ(events[4]["item"]["status"], "incomplete");
  EXPECT_EQ(peer.stopped, std::vector{first});
  EXPECT_EQ(kinds(peer.answer({.text = "late"})), "");  // nobody hears of it
  // Two utterances in a row are answered once, when both are known.
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
  Peer peer;
  peer.send(set(JsonIn::parse(R"({"audio": {"input": {"turn_detection":
      {"type": "server_vad", "interrupt_response": false}}}})")));
  peer.hear_all(peer.turn(), "one");
  peer.answer({.text = "First."});
  const std::string second = peer.turn();
  EXPECT_TRUE(peer.stopped.empty());
  peer.hear_all(second, "two");
  EXPECT_EQ(peer.begun.size(), 1u);
  EXPECT_EQ(kinds({peer.end().back()}), "response.created");  // now it is the second one's turn
  ASSERT_EQ(peer.begun.size(), 2u);
  EXPECT_EQ(peer.begun[1].body["messages"].size(), 3u);
  // Nor are there answers that nobody wants.
  Peer quiet;
  quiet.send(set(JsonIn::parse(R"({"audio": {"input": {"turn_detection":
      {"type": "server_vad", "create_response": false}}}})")));
  EXPECT_EQ(kinds(quiet.hear_all(quiet.turn(), "one")), "");
}

TEST(RealtimeSession, SemanticTurnsEndByWhatWasSaid) {
  Peer peer;
  peer.send(set(JsonIn::parse(R"({"audio": {"input": {"turn_detection":
      {"type": "semantic_vad", "eagerness": "high"}}}})")));
  peer.say(600, true);
  const std::string item = peer.opened.at(0).item;
  peer.hear(item, {.partial = "I would like to go to the"});
  EXPECT_EQ(kinds(peer.say(900, false)), "");
  peer.hear(item, {.segments = {" I would like to go to the zoo."}});
  EXPECT_TRUE(kinds(peer.say(20, false)).starts_with("input_audio_buffer.speech_stopped"));
  // Whoever says nothing that can be understood is waited for, and not for ever.
  peer.say(600, true);
  EXPECT_EQ(kinds(peer.say(1900, false)), "");
  EXPECT_TRUE(kinds(peer.say(200, false)).starts_with("input_audio_buffer.speech_stopped"));
}

TEST(RealtimeSession, APitchThatFellEndsATurnSooner) {
  const auto ends_after = [](double last_hz) {
    Peer peer;
    peer.send(set(JsonIn::parse(R"({"audio": {"input": {"turn_detection":
        {"type": "semantic_vad", "eagerness": "high"}}}})")));
    std::string bytes;
    double phase = 0;
    for (int i = 0; i < 24 * 1200; ++i) {
      phase += (i < 24 * 900 ? 150 : last_hz) / 24000;
      const int sample = phase - std::floor(phase) < 0.5 ? 8000 : -8000;
      bytes += static_cast<char>(sample & 255);
      bytes += static_cast<char>(sample >> 8 & 255);
    }
    peer.append(bytes);
    peer.hear(peer.opened.at(0).item, {.partial = "I am going home"});
    int pause = 0;
    while (pause < 3000 && !kinds(peer.say(20, false)).starts_with("input_audio_buffer.sp")) {
      pause += 20;
    }
    return pause;
  };
  EXPECT_LT(ends_after(120), 400);
  EXPECT_GT(ends_after(150), 500);
  EXPECT_GT(ends_after(180), 500);
}

TEST(RealtimeSession, ManualMode) {
  Peer peer;
  peer.send(set(JsonIn::parse(R"({"audio": {"input": {"turn_detection": null}}})")));
  EXPECT_EQ(kinds(peer.send({{"type", "input_audio_buffer.commit"}})),
            "error:\"input_audio_buffer_commit_empty\"");
  peer.say(50, true);
  EXPECT_EQ(kinds(peer.send({{"type", "input_audio_buffer.commit"}})),
            "error:\"input_audio_buffer_commit_empty\"");
  EXPECT_EQ(kinds(peer.say(1000, true)), "");
  EXPECT_EQ(kinds(peer.send({{"type", "input_audio_buffer.clear"}})), "input_audio_buffer.cleared");
  peer.say(500, true);
  EXPECT_EQ(kinds(peer.send({{"type", "input_audio_buffer.commit"}})),
            "input_audio_buffer.committed conversation.item.added conversation.item.done");
  const std::string item = peer.opened.at(0).item;
  EXPECT_NEAR(static_cast<double>(peer.samples[item]) / kHearingRate, 0.5, 0.01);
  // A response that is asked for waits for the transcript.
  EXPECT_EQ(kinds(peer.send(kRespond)), "response.created");
  EXPECT_TRUE(peer.begun.empty());
  EXPECT_EQ(kinds(peer.hear_all(item, "hello")), "");
  ASSERT_EQ(peer.begun.size(), 1u);
  EXPECT_EQ(peer.begun[0].body["messages"][0]["content"], "hello");
}

TEST(RealtimeSession, TextInAndTextOut) {
  Peer peer;
  peer.send(set({{"output_modalities", {"text"}}, {"instructions", "Be brief."}}));
  const auto created = peer.send(user_says("Hi"));
  EXPECT_EQ(kinds(created), "conversation.item.added conversation.item.done");
  EXPECT_EQ(created[0]["item"]["content"][0]["text"], "Hi");
  auto events = peer.send(
      {{"type", "response.create"}, {"response", {{"metadata", {{"client_event_id", "7"}}}}}});
  ASSERT_EQ(kinds(events), "response.created");
  EXPECT_EQ(events[0]["response"]["metadata"]["client_event_id"], "7");
  EXPECT_EQ(events[0]["response"]["status"], "in_progress");
  EXPECT_EQ(peer.begun.at(0).body["messages"][0]["content"], "Be brief.");
  events = peer.answer({.text = "Yo."});
  EXPECT_EQ(kinds(events),
            "response.output_item.added conversation.item.added response.content_part.added "
            "response.output_text.delta");
  events = peer.end(FinishReason::kLength);
  EXPECT_EQ(kinds(events),
            "response.output_text.done response.content_part.done response.output_item.done "
            "conversation.item.done response.done");
  EXPECT_EQ(events.back()["response"]["status"], "incomplete");
  EXPECT_EQ(events.back()["response"]["status_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(events.back()["response"]["metadata"]["client_event_id"], "7");
}

TEST(RealtimeSession, OneResponseAtATimeAndOthersBeside) {
  Peer peer;
  peer.send(user_says("Hi"));
  EXPECT_EQ(kinds(peer.send({{"type", "response.cancel"}})),
            "error:\"response_cancel_not_active\"");
  EXPECT_TRUE(
      peer.events.back()["error"]["message"].get<std::string>().starts_with("Cancellation failed"));
  peer.send(kRespond);
  EXPECT_EQ(kinds(peer.send(kRespond)), "error:\"conversation_already_has_active_response\"");
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
  ASSERT_EQ(kinds(events), "response.created");
  EXPECT_TRUE(events[0]["response"]["conversation_id"].is_null());
  EXPECT_EQ(peer.begun.back().body["messages"],
            JsonIn::parse(R"([{"role": "system", "content": "Classify."},
                            {"role": "user", "content": "I am glad"}])"));
  events = peer.answer({.text = "happy"});
  EXPECT_EQ(kinds(events),
            "response.output_item.added response.content_part.added response.output_text.delta");
  events = peer.end();
  EXPECT_EQ(kinds(events),
            "response.output_text.done response.content_part.done response.output_item.done "
            "response.done");
  EXPECT_EQ(events.back()["response"]["output"][0]["content"][0]["text"], "happy");
  EXPECT_EQ(events.back()["response"]["metadata"]["topic"], "mood");
  // Many of them are too many.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(kinds(peer.send(beside)), "response.created");
  EXPECT_EQ(kinds(peer.send(beside)), "error:\"too_many_responses\"");
  events = peer.send({{"type", "response.cancel"}, {"response_id", main}});
  EXPECT_EQ(kinds(events), "response.done");
  EXPECT_EQ(events[0]["response"]["status_details"]["reason"], "client_cancelled");
  EXPECT_EQ(peer.stopped, std::vector{main});
}

TEST(RealtimeSession, ItemsAreAddedFetchedAndDeleted) {
  Peer peer;
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
  EXPECT_EQ(kinds(add("a", nullptr)), "error:\"item_create_duplicate_item_id\"");
  EXPECT_EQ(kinds(add("d", "nowhere")), "error:\"item_create_invalid_previous_item_id\"");
  const auto on = [&](const char* what, const char* id) {
    return peer.send({{"type", std::string("conversation.item.") + what}, {"item_id", id}});
  };
  EXPECT_EQ(on("retrieve", "ab").at(0)["item"]["content"][0]["text"], "ab");
  EXPECT_EQ(kinds(on("retrieve", "zz")), "error:\"item_retrieve_invalid_item_id\"");
  EXPECT_EQ(kinds(on("delete", "ab")), "conversation.item.deleted");
  EXPECT_EQ(kinds(on("delete", "ab")), "error:\"item_delete_invalid_item_id\"");
  peer.send(kRespond);
  const JsonIn messages = peer.begun.at(0).body["messages"];
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0]["content"], "a");
  EXPECT_EQ(messages[2]["content"], "c");
  const auto refused = [&](const char* item) {
    return kinds(peer.send({{"type", "conversation.item.create"}, {"item", JsonIn::parse(item)}}));
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

TEST(RealtimeSession, SaidItemsAreTranscribedAndFetchedWithTheirAudio) {
  Peer peer;
  JsonIn event = user_says("");
  event["item"]["content"] = {
      {{"type", "input_audio"}, {"audio", base64(filled_with(48000, '\1'))}}};
  const auto events = peer.send(event);
  EXPECT_EQ(kinds(events), "conversation.item.added conversation.item.done");
  const std::string id = events[0]["item"]["id"];
  EXPECT_FALSE(events[0]["item"]["content"][0].contains("audio"));
  EXPECT_EQ(peer.samples[id], 16000u);
  EXPECT_EQ(peer.ended, std::vector{id});
  peer.send(kRespond);
  EXPECT_TRUE(peer.begun.empty());
  peer.hear_all(id, "a recording");
  EXPECT_EQ(peer.begun.at(0).body["messages"][0]["content"], "a recording");
  const JsonIn item =
      peer.send({{"type", "conversation.item.retrieve"}, {"item_id", id}}).at(0)["item"];
  const auto audio = base64_decoded(item["content"][0]["audio"].get<std::string>());
  ASSERT_TRUE(audio);
  EXPECT_EQ(audio->size(), 48000u);
}

TEST(RealtimeSession, ToolsArePassedThrough) {
  Peer peer;
  peer.send(set(JsonIn::parse(R"({"tools": [{"type": "function", "name": "weather",
      "description": "of a town", "parameters": {"type": "object"}}]})")));
  peer.send(user_says("Weather?"));
  peer.send(kRespond);
  EXPECT_EQ(peer.begun.at(0).body["tools"], JsonIn::parse(R"([{"type": "function", "function":
      {"name": "weather", "description": "of a town", "parameters": {"type": "object"}}}])"));
  peer.answer({.text = "Let me see.", .calls = {{"weather", R"({"town":"Ulm"})"}}});
  const auto events = peer.end();
  EXPECT_EQ(kinds(events),
            "response.output_audio.done response.output_audio_transcript.done "
            "response.content_part.done response.output_item.done conversation.item.done "
            "response.output_item.added conversation.item.added "
            "response.function_call_arguments.delta response.function_call_arguments.done "
            "response.output_item.done conversation.item.done response.done");
  const JsonIn done = events[8];
  EXPECT_EQ(done["name"], "weather");
  EXPECT_EQ(done["arguments"], R"({"town":"Ulm"})");
  EXPECT_EQ(done["output_index"], 1);
  EXPECT_EQ(events.back()["response"]["output"].size(), 2u);
  peer.send(
      {{"type", "conversation.item.create"},
       {"item",
        {{"type", "function_call_output"}, {"call_id", done["call_id"]}, {"output", "rain"}}}});
  peer.send(kRespond);
  const JsonIn messages = peer.begun.back().body["messages"];
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[1]["content"], "Let me see.");
  EXPECT_EQ(messages[1]["tool_calls"][0]["function"]["name"], "weather");
  EXPECT_EQ(messages[1]["tool_calls"][0]["id"], done["call_id"]);
  EXPECT_EQ(messages[2],
            (JsonIn{{"role", "tool"}, {"tool_call_id", done["call_id"]}, {"content", "rain"}}));
}

TEST(RealtimeSession, WhatWasNotHeardLeavesTheContext) {
  Peer peer;
  peer.send(user_says("Count."));
  peer.send(kRespond);
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
  EXPECT_EQ(kinds(truncate("zz", 0, 10)), "error:\"item_truncate_invalid_item_id\"");
  EXPECT_EQ(kinds(truncate(id, 1, 10)), "error:\"invalid_value\"");
  EXPECT_EQ(kinds(truncate(id, 0, 9000)), "error:\"invalid_value\"");
  EXPECT_EQ(kinds(truncate(peer.events[1]["item"]["id"], 0, 10)), "error:\"invalid_value\"");
  const auto events = truncate(id, 0, 2500);
  ASSERT_EQ(kinds(events), "conversation.item.truncated");
  EXPECT_EQ(events[0]["audio_end_ms"], 2500);
  const JsonIn item =
      peer.send({{"type", "conversation.item.retrieve"}, {"item_id", id}}).at(0)["item"];
  EXPECT_EQ(item["content"][0]["transcript"], "One, two, three");
  EXPECT_EQ(base64_decoded(item["content"][0]["audio"].get<std::string>())->size(), 2500u * 48);
  peer.send(kRespond);
  EXPECT_EQ(peer.begun.back().body["messages"].back()["content"], "One, two, three");
  // Of a voice that does not know its words: by its share, at a blank.
  ItemPart part{
      .kind = ItemPart::kOutputAudio, .text = "aaaa bbbb cccc dddd", .audio_s = 4, .whole = true};
  EXPECT_TRUE(truncate_part(part, 1.5));
  EXPECT_EQ(part.text, "aaaa");
  EXPECT_TRUE(truncate_part(part, 0));
  EXPECT_EQ(part.text, "");
  // Of an answer that was cut off before all of it was made, not more than can have been said.
  ItemPart begun{.kind = ItemPart::kOutputAudio, .text = std::string(1000, 'a'), .audio_s = 1};
  EXPECT_TRUE(truncate_part(begun, 1));
  EXPECT_EQ(begun.text, std::string(15, 'a'));
}

TEST(RealtimeSession, AnswersAreToldAsTheyWereMade) {
  Peer peer([](RealtimeFacts& facts) { facts.hears = true; });
  peer.send(user_says("Hi"));
  peer.send(kRespond);
  peer.answer({.text = "One two", .audio = std::string(48000, 'a'), .ids = {1, 2, 3}});
  peer.answer({.text = " three.", .audio = std::string(48000, 'a'), .ids = {4}});
  peer.answer({.calls = {{"f", "{}"}}});
  peer.end();
  peer.send(user_says("And?"));
  peer.send(kRespond);
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
  peer.send(kRespond);
  EXPECT_EQ(peer.begun.back().answers.at(item).made.heard_s, 0.8);
  // What is written has no such ids, and neither has what a client tells again.
  peer.end();
  peer.send({{"type", "conversation.item.delete"}, {"item_id", item}});
  peer.send({{"type", "response.create"}, {"response", {{"output_modalities", {"text"}}}}});
  peer.answer({.text = "Four.", .ids = {5}});
  peer.end();
  peer.send(kRespond);
  EXPECT_TRUE(peer.begun.back().answers.empty());
}

TEST(RealtimeSession, IdsOfAnswersAreBounded) {
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

TEST(RealtimeSession, TruncatedWhileItIsSpoken) {
  Peer peer;
  peer.send(user_says("Count."));
  peer.send(kRespond);
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

TEST(RealtimeSession, VoicesAreFixedOnceTheyAreHeard) {
  Peer peer;
  const JsonIn other = set({{"audio", {{"output", {{"voice", "high"}}}}}});
  EXPECT_EQ(kinds(peer.send(other)), "session.updated");
  peer.send(user_says("Hi"));
  peer.send(kRespond);
  EXPECT_EQ(peer.begun.at(0).config.voice, "high");
  peer.answer({.text = "Hi", .audio = "aa"});
  EXPECT_EQ(kinds(peer.send(other)), "session.updated");  // no change
  EXPECT_EQ(kinds(peer.send(set({{"audio", {{"output", {{"voice", "low"}}}}}}))),
            "error:\"cannot_update_voice\"");
}

TEST(RealtimeSession, FailuresAreTold) {
  Peer peer;
  peer.send(user_says("Hi"));
  peer.send(kRespond);
  peer.answer({.text = "We"});
  const auto events =
      peer.answer({.error = ApiError{.status = 503, .message = "busy", .code = "overloaded"}});
  EXPECT_EQ(kinds(events),
            "response.output_audio.done response.output_audio_transcript.done "
            "response.content_part.done response.output_item.done conversation.item.done "
            "response.done");
  const JsonIn response = events.back()["response"];
  EXPECT_EQ(response["status"], "failed");
  EXPECT_EQ(response["status_details"]["error"]["message"], "busy");
  EXPECT_EQ(response["status_details"]["error"]["type"], "server_error");
  // Recognisers fail, too.
  peer.send(set(JsonIn::parse(R"({"audio": {"input": {"transcription": {}}}})")));
  const auto failed =
      peer.hear(peer.turn(), {.error = ApiError{.message = "deaf", .code = "unsupported"}});
  EXPECT_EQ(kinds(failed), "conversation.item.input_audio_transcription.failed");
  EXPECT_EQ(failed[0]["error"]["message"], "deaf");
}

TEST(RealtimeSession, NobodyToAnswer) {
  Peer peer([](RealtimeFacts& facts) { facts.no_answer = "No text model is loaded."; });
  peer.send(user_says("Hi"));
  EXPECT_EQ(kinds(peer.send(kRespond)), "error:\"no_text_model\"");
  EXPECT_EQ(kinds(peer.hear_all(peer.turn(), "hello")), "error:\"no_text_model\"");
  EXPECT_EQ(kinds(peer.hear_all(peer.turn(), "hello")), "");  // told once
}

TEST(RealtimeSession, TranscriptionSessions) {
  Peer peer({}, true);
  const JsonIn session = peer.events[0]["session"];
  EXPECT_EQ(session["type"], "transcription");
  EXPECT_EQ(session["object"], "realtime.transcription_session");
  EXPECT_FALSE(session.contains("instructions"));
  const std::string item = peer.turn();
  const auto events = peer.hear(
      item, {.segments = {" one two"}, .text = "one two", .usage = {{"type", "duration"}}});
  EXPECT_EQ(kinds(events),
            "conversation.item.input_audio_transcription.delta "
            "conversation.item.input_audio_transcription.completed");
  EXPECT_TRUE(peer.begun.empty());
  EXPECT_EQ(kinds(peer.send(kRespond)), "error:\"invalid_value\"");
  EXPECT_TRUE(peer.session->quiet());
}

TEST(RealtimeSession, AModelThatHearsWaitsForNoTranscript) {
  Peer peer([](RealtimeFacts& facts) { facts.hears = true; });
  peer.say(300, false);
  peer.say(600, true);
  peer.say(700, false);
  EXPECT_TRUE(peer.opened.empty());
  ASSERT_EQ(peer.begun.size(), 1u);
  const JsonIn part = peer.begun[0].body["messages"][0]["content"][0];
  EXPECT_EQ(part["type"], "input_audio");
  const auto wav = base64_decoded(part["input_audio"]["data"].get<std::string>());
  ASSERT_TRUE(wav);
  EXPECT_NEAR(static_cast<double>(wav->size()), 44 + 2 * kHearingRate * 1.41, 1500);
}

TEST(RealtimeSession, WrongEventsAreNoHarm) {
  Peer peer;
  const auto code = [&](const std::string& text, bool binary = false) {
    peer.raw(text, binary);
    return kinds({peer.events.back()});
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
  EXPECT_EQ(kinds(peer.append("abc")), "error:\"invalid_value\"");  // an odd count
  EXPECT_EQ(kinds(peer.append(filled_with(kMaxAppendBytes + 2, 'a'))), "error:\"invalid_value\"");
  EXPECT_TRUE(peer.session->quiet());
}

TEST(RealtimeSession, LongSilenceCostsNothing) {
  for (const bool manual : {false, true}) {
    Peer peer;
    if (manual) {
      peer.send(set(JsonIn::parse(R"({"audio": {"input": {"format": {"type": "audio/pcmu"},
                                                          "turn_detection": null}}})")));
    }
    const std::string minute = filled_with(size_t{60} * (manual ? 8000 : 48000), '\0');
    for (int i = 0; i < (manual ? 6 : 1); ++i) peer.append(minute);
    EXPECT_LT(peer.session->kept_bytes(), manual ? 24'000'000u : 1'000'000u);
    EXPECT_EQ(peer.events.size(), manual ? 2u : 1u);
  }
}

TEST(RealtimeSession, EndlessTalkEndsInTurns) {
  Peer peer;
  peer.send(set(JsonIn::parse(R"({"audio": {"input": {"format": {"type": "audio/pcmu"}}}})")));
  std::string minute = filled_with(size_t{60} * 8000, '\x80');  // the loudest, up and down
  for (size_t i = 0; i < minute.size(); i += 3) minute[i] = '\0';
  for (int i = 0; i < 6; ++i) peer.append(minute);
  EXPECT_EQ(peer.ended.size(), 1u);
  EXPECT_NEAR(static_cast<double>(peer.samples[peer.ended.at(0)]) / kHearingRate, 300, 1);
}

TEST(RealtimeSession, G711BothWays) {
  const std::vector<float> ramp = [] {
    std::vector<float> out;
    for (int i = -300; i <= 300; ++i) out.push_back(static_cast<float>(i) / 310.f);
    return out;
  }();
  for (const char* name : {"audio/pcmu", "audio/pcma", "audio/pcm"}) {
    const RealtimeFormat format = *realtime_format(name);
    std::string bytes;
    append_samples(ramp, format.coding, bytes);
    const std::vector<float> back = samples_of(bytes, format);
    ASSERT_EQ(back.size(), ramp.size()) << name;
    for (size_t i = 0; i < ramp.size(); ++i) {
      EXPECT_NEAR(back[i], ramp[i], 0.001 + 0.04 * std::abs(ramp[i])) << name << " " << i;
    }
    std::string again;
    append_samples(back, format.coding, again);
    // Each code is its own; 16 bits lose their last one at the loud end.
    EXPECT_TRUE(format.coding == SampleCoding::kS16 || again == bytes) << name;
  }
  EXPECT_FALSE(realtime_format("audio/opus"));
  Peer peer;
  peer.send(set(JsonIn::parse(R"({"audio": {"input": {"format": {"type": "audio/pcmu"},
                                                    "turn_detection": null}}})")));
  std::string second;
  append_samples(std::vector<float>(8000, 0.3f), SampleCoding::kMulaw, second);
  peer.append(second);
  peer.send({{"type", "input_audio_buffer.commit"}});
  EXPECT_NEAR(static_cast<double>(peer.samples[peer.opened.at(0).item]), 16000, 100);
}

TEST(RealtimeSession, HowAudioIsCutChangesNothing) {
  const auto run = [](uint32_t seed) {
    Peer peer;
    std::string bytes;
    for (int i = 0; i < 24 * 2600; ++i) {
      const bool loud = i > 24 * 500 && i < 24 * 1300;
      const int sample = loud ? (i % 50 < 25 ? 8000 : -8000) + i % 7 : 0;
      bytes += static_cast<char>(sample & 255);
      bytes += static_cast<char>(sample >> 8 & 255);
    }
    std::mt19937 random(seed);
    for (size_t at = 0; at < bytes.size();) {
      const size_t count = seed == 0 ? bytes.size() : 2 * (1 + random() % 3000);
      peer.append(bytes.substr(at, count));
      at += count;
    }
    std::string out;
    for (const JsonIn& event : peer.events) {
      out += event["type"].get<std::string>() + " " +
             event.value("audio_start_ms", JsonIn()).dump() +
             event.value("audio_end_ms", JsonIn()).dump() + "\n";
    }
    return out + std::to_string(peer.samples.begin()->second);
  };
  const std::string whole = run(0);
  EXPECT_NE(whole.find("committed"), whole.npos);
  EXPECT_EQ(run(1), whole);
  EXPECT_EQ(run(2), whole);
}

/// What the fuzz tests make their events of; those of the beta as well.
const std::vector<std::string>& event_seeds() {
  static const std::vector<std::string> all = {
      R"({"type":"session.update","session":{"audio":{"input":{"turn_detection":null}}}})",
      R"({"type":"session.update","session":{"audio":{"input":{"turn_detection":{"type":"server_vad","silence_duration_ms":100}}}}})",
      R"({"type":"session.update","session":{"audio":{"input":{"turn_detection":{"type":"semantic_vad"},"format":{"type":"audio/pcma"},"transcription":{"model":"x"}}}}})",
      R"({"type":"session.update","session":{"audio":{"input":{"format":null},"output":{"format":{"type":"audio/pcmu"}}},"output_modalities":["text"]}})",
      R"({"type":"session.update","session":{"output_modalities":["audio"],"type":"realtime"}})",
      R"({"type":"input_audio_buffer.commit"})",
      R"({"type":"input_audio_buffer.clear"})",
      R"({"type":"conversation.item.create","item":{"id":"a","type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}})",
      R"({"type":"conversation.item.create","previous_item_id":"root","item":{"type":"message","role":"assistant","content":[{"type":"output_audio","transcript":"hi"}]}})",
      R"({"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_audio","audio":"AAAAAAAAAAAAAAAA"}]}})",
      R"({"type":"conversation.item.create","item":{"type":"function_call","call_id":"c","name":"f"}})",
      R"({"type":"conversation.item.create","item":{"type":"function_call_output","call_id":"c","output":"1"}})",
      R"({"type":"conversation.item.delete","item_id":"a"})",
      R"({"type":"conversation.item.retrieve","item_id":"a"})",
      R"({"type":"conversation.item.truncate","item_id":"item_x_9","content_index":0,"audio_end_ms":5})",
      R"({"type":"response.create"})",
      R"({"type":"response.create","response":{"conversation":"none","input":[{"type":"item_reference","id":"a"}]}})",
      R"({"type":"response.create","response":{"conversation":"none","output_modalities":["text"]}})",
      R"({"type":"response.cancel"})",
      R"({"type":"input_text_buffer.append","text":"What is"})",
      R"({"type":"input_text_buffer.replace","text":"What is the time?","event_id":"e"})",
      R"({"type":"input_text_buffer.commit"})",
      R"({"type":"input_text_buffer.clear"})",
      R"({"type":"input_audio_buffer.append","audio":"AAAAAAAAAAAAAAAA","event_id":"e"})",
      R"({"type":"session.update","session":{"type":"realtime","predict":{"rule":"top_k","k":3,"draft_tokens":30,"hint":"x"}}})",
      R"({"type":"session.update","session":{"instructions":"Be brief.","tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object"}}],"tool_choice":"none","max_output_tokens":40,"temperature":0.8}})",
      R"({"type":"session.update","session":{"modalities":["text"],"voice":"low","input_audio_format":"g711_ulaw","turn_detection":{"type":"server_vad","threshold":0.2,"prefix_padding_ms":10}}})",
      R"({"type":"transcription_session.update","session":{"input_audio_transcription":{"model":"x","language":"en"}}})",
      R"({"type":"response.create","response":{"instructions":"x","metadata":{"a":"b"},"max_output_tokens":"inf","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}})",
      R"({"type":"output_audio_buffer.clear"})"};
  return all;
}
const std::vector<std::string>& event_tokens() {
  static const std::vector<std::string> all = {"null",
                                               "true",
                                               "{}",
                                               "[]",
                                               "\"\"",
                                               "-1",
                                               "0",
                                               "1e999",
                                               "99999999999",
                                               "\\ud800",
                                               "\\u0000",
                                               ",",
                                               ":",
                                               "{",
                                               "}",
                                               "[",
                                               "]",
                                               "\"",
                                               "\xff",
                                               "\"type\":",
                                               "\"session\":",
                                               "\"item_id\":",
                                               "\"item_x_3\"",
                                               "\"resp_x_4\"",
                                               "\"inf\"",
                                               "\"audio\":",
                                               "semantic_vad",
                                               "server_vad",
                                               "audio/pcma",
                                               "item_reference"};
  return all;
}

/// Events of any content, in any order, and news of answers and transcripts that may be over:
/// nothing throws, every event out is JSON, nothing grows, and in the end all is quiet.
TEST(RealtimeFuzz, Events) {
  Mutator mutator(event_seeds(), event_tokens());
  const auto roll = [&](size_t most) { return static_cast<size_t>(mutator.below(most)); };
  const int inputs = fuzz_inputs(6000);
  for (int input = 0; input < inputs && !testing::Test::HasFailure();) {
    Peer peer(
        [&](RealtimeFacts& facts) {
          facts.beta = roll(4) == 0;
          facts.hears = roll(4) == 0;
          facts.speaks = roll(4) > 0;
          facts.may_predict = roll(2) == 0;
          facts.predicts = roll(2) == 0;
          if (roll(8) == 0) facts.no_answer = "Nobody answers here.";
        },
        roll(8) == 0);
    for (int step = 0; step < 120; ++step, ++input) {
      const size_t what = roll(12);
      if (what < 2) {
        std::string bytes(2 * roll(roll(4) == 0 ? 4000 : 400), '\0');
        if (roll(2) == 0) {
          for (char& byte : bytes) byte = static_cast<char>(roll(256));
        }
        peer.append(bytes);
      } else if (what < 4 && !peer.opened.empty()) {
        const std::string& item = peer.opened[roll(peer.opened.size())].item;
        if (roll(2) == 0) {
          peer.hear(item, {.segments = {" some"}, .partial = "thing"});
        } else {
          peer.hear_all(item, roll(3) == 0 ? "" : "some thing");
        }
      } else if (what < 6 && !peer.begun.empty()) {
        if (roll(3) > 0) {
          peer.answer({.text = roll(2) == 0 ? "word " : "",
                       .audio = std::string(roll(2) * 200, 'a'),
                       .ids = std::vector<int32_t>(roll(3), 7),
                       .words = {{"word", 0.1 * static_cast<double>(step)}}});
        } else if (roll(4) == 0) {
          peer.answer({.error = ApiError{.message = "bad"}});
        } else {
          peer.answer({.calls = {{"f", "{}"}}});
          peer.end();
        }
      } else {
        peer.raw(mutator.next(), roll(50) == 0);
      }
    }
    EXPECT_LT(peer.session->kept_bytes(), size_t{4} << 20);
    for (int i = 0; i < 100 && !peer.session->quiet(); ++i) {
      peer.send({{"type", "input_audio_buffer.clear"}});
      for (const OpenHearing& each : std::vector(peer.opened)) peer.hear_all(each.item, "");
      for (const BeginAnswer& each : std::vector(peer.begun)) {
        peer.send({{"type", "response.cancel"}, {"response_id", each.response}});
      }
      peer.send({{"type", "response.cancel"}});
    }
    EXPECT_TRUE(peer.session->quiet()) << input;
  }
}

/// Audio of any size and alignment, in every format, as base64 whole or damaged, with a detector
/// and without: what is whole is heard to the last sample, what is not is one error that names the
/// event, and nothing of it is heard.
TEST(RealtimeFuzz, AudioOfAnySizeAndAlignment) {
  const std::vector<std::pair<std::string, int>> formats = {
      // bytes of a sample
      {R"({"type":"audio/pcm","rate":24000})", 2},
      {R"({"type":"audio/pcmu"})", 1},
      {R"({"type":"audio/pcma"})", 1}};
  const std::vector<std::string> detectors = {
      "null", R"({"type":"server_vad","silence_duration_ms":100})", R"({"type":"semantic_vad"})"};
  const std::vector<std::string> damage = {"=", "==", "*", "\n", "-_", "A", "\"", "\xc3\xa9"};
  Mutator mutator({""}, {""});
  const auto roll = [&](size_t most) { return static_cast<size_t>(mutator.below(most)); };
  const int inputs = fuzz_inputs(6000);
  int heard = 0, refused = 0;
  for (int input = 0; input < inputs && !testing::Test::HasFailure();) {
    Peer peer([](RealtimeFacts& facts) { facts.hears = true; });  // no hearing is waited for
    const auto& [format, width] = mutator.pick(formats);
    const std::string& detector = mutator.pick(detectors);
    peer.raw(R"({"type":"session.update","session":{"audio":{"input":{"format":)" + format +
             R"(,"turn_detection":)" + detector + "}}}}");
    ASSERT_EQ(peer.events.back()["type"], "session.updated");
    int64_t bytes_heard = 0;  // since the buffer was emptied
    for (int step = 0; step < 60; ++step, ++input) {
      std::string bytes(roll(roll(10) == 0 ? 3000 : 300), '\0');
      if (const size_t kind = roll(3); kind > 0) {
        for (char& byte : bytes) byte = static_cast<char>(kind == 1 ? roll(256) : 0x70);
      }
      std::string text = base64(bytes);
      if (roll(6) == 0) {
        const size_t at = roll(text.size() + 1);
        roll(2) == 0 ? text.insert(at, mutator.pick(damage)) : text.erase(at, 1 + roll(5));
      }
      const auto left = base64_decoded(text);
      const bool whole = left && left->size() % static_cast<size_t>(width) == 0;
      int errors = 0;
      for (const JsonIn& event : peer.send(
               {{"type", "input_audio_buffer.append"}, {"event_id", "mine"}, {"audio", text}})) {
        if (event["type"] != "error") continue;
        ++errors;
        EXPECT_EQ(event["error"]["event_id"], "mine");
      }
      EXPECT_EQ(errors, whole ? 0 : 1) << bytes.size() << " bytes: " << text;
      (whole ? heard : refused)++;
      if (whole) bytes_heard += std::ssize(*left);
    }
    if (detector != "null") continue;
    // All of it is in the buffer: 24 kHz or 8 kHz as 16 kHz, less what the resampler holds back.
    peer.events.clear();
    peer.raw(R"({"type":"input_audio_buffer.commit"})");
    const double samples = static_cast<double>(bytes_heard / width) * (width == 2 ? 2. / 3 : 2);
    if (samples < 1700) continue;
    ASSERT_EQ(peer.events.at(0)["type"], "input_audio_buffer.committed");
    const std::string item = peer.events[0]["item_id"];
    peer.events.clear();
    peer.send({{"type", "conversation.item.retrieve"}, {"item_id", item}});
    const auto audio =
        base64_decoded(peer.events.at(0)["item"]["content"][0]["audio"].get<std::string>());
    ASSERT_TRUE(audio.has_value());
    EXPECT_EQ(audio->size() % static_cast<size_t>(width), 0u);
    EXPECT_NEAR(static_cast<double>(audio->size()), static_cast<double>(bytes_heard),
                200.0 * width);
  }
  EXPECT_GT(heard, inputs / 3);
  EXPECT_GT(refused, inputs / 50);
}

}  // namespace
}  // namespace syrinx
