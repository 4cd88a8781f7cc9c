// For tests of sessions of the Realtime API: a session, the events sent to it, and the actions that
// it requested. Not thread-safe.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/realtime/realtime_session.h"
#include "server/request/wire.h"

namespace syrinx {

/// Returns a string of `bytes` times `value`.
inline std::string filled_with(size_t bytes, char value) { return std::string(bytes, value); }

/// A voice detector that counts every loud sample as speech.
class LoudActivity final : public VoiceActivity {
 public:
  bool speaks(std::span<const int16_t> frame) override {
    return std::any_of(frame.begin(), frame.end(),
                       [](int sample) { return std::abs(sample) > 1000; });
  }
};

/// Returns PCM of 16 bits, mono: loud or silent.
inline std::string pcm_24k(int ms, bool loud) {
  std::string out;
  for (int i = 0; i < 24 * ms; ++i) {
    const int sample = loud ? (i % 50 < 25 ? 8000 : -8000) + i % 7 : 0;
    out += static_cast<char>(sample & 255);
    out += static_cast<char>(sample >> 8 & 255);
  }
  return out;
}

/// A session and the actions that it requested.
class RealtimePeer {
 public:
  explicit RealtimePeer(const std::function<void(RealtimeFacts&)>& change = {},
                        bool transcribes = false) {
    RealtimeFacts facts;
    facts.id = "x";
    facts.model = "writer";
    facts.default_voice = "low";
    facts.open_activity = [](double) { return std::make_unique<LoudActivity>(); };
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
  /// Sends an event; returns the events that it caused.
  std::vector<JsonIn> send(const JsonIn& event) {
    const size_t before = events.size();
    raw(event.dump());
    return {events.begin() + static_cast<std::ptrdiff_t>(before), events.end()};
  }
  std::vector<JsonIn> append(const std::string& bytes) {
    return send({{"type", "input_audio_buffer.append"}, {"audio", base64(bytes)}});
  }
  std::vector<JsonIn> say(int ms, bool loud) { return append(pcm_24k(ms, loud)); }
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
  /// Speaks a turn; returns the id of its item.
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
  std::map<std::string, size_t> paused_at;  // samples that the item had when its pause began
  std::vector<TurnOver> overs;
  std::vector<std::string> pauses, ended, dropped, stopped;
  std::vector<BeginAnswer> begun;
  std::vector<JsonIn> foreseen;  // messages of the question at each Foresee
  int forgotten = 0;
  std::vector<JsonIn> ahead;  // messages of the turn at each HearAhead
  int heard_all = 0, forgotten_ahead = 0;

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
      } else if (auto* pause = std::get_if<PauseHearing>(&action)) {
        pauses.push_back(pause->pauses ? "paused" : "resumed");
        paused_at[pause->item] = samples[pause->item];
      } else if (auto* over = std::get_if<TurnOver>(&action)) {
        overs.push_back(*over);
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
      } else if (std::holds_alternative<HearAhead>(action)) {
        ahead.push_back(session->heard_so_far().body["messages"]);
      } else if (std::holds_alternative<HeardAll>(action)) {
        ++heard_all;
      } else if (std::holds_alternative<ForgetHeard>(action)) {
        ++forgotten_ahead;
      } else {
        stopped.push_back(std::get<StopAnswer>(action).response);
      }
    }
  }
};

inline std::string kinds_of(const std::vector<JsonIn>& events) {
  std::string out;
  for (const JsonIn& event : events) {
    out += (out.empty() ? "" : " ") + event["type"].get<std::string>();
    if (event["type"] == "error") out += ":" + event["error"].value("code", JsonIn()).dump();
  }
  return out;
}

inline JsonIn user_says(const std::string& text) {
  return {{"type", "conversation.item.create"},
          {"item",
           {{"type", "message"},
            {"role", "user"},
            {"content", {{{"type", "input_text"}, {"text", text}}}}}}};
}
inline JsonIn session_update(JsonIn session) {
  return {{"type", "session.update"}, {"session", std::move(session)}};
}
inline JsonIn respond() { return {{"type", "response.create"}}; }

}  // namespace syrinx
