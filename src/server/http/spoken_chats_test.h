// Tests of a model that accepts audio and speaks, through the real server's sockets: by chat, by
// transcription and by the Realtime API.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "codec/qwen3_audio_fixture.h"
#include "server/http/http_server.h"
#include "server/http/test_client_test.h"
#include "server/http/ws_client_test.h"
#include "server/models/backend.h"
#include "server/request/wire.h"

namespace syrinx::spoken {

using nlohmann::ordered_json;

/// Returns noise as 16-bit samples, like the golden recordings, so that nothing is rounded.
inline std::string pcm_of(int64_t count, uint32_t seed) {
  std::string out;
  for (const float value : fixture::golden_signal(count, seed)) {
    const auto sample = static_cast<int16_t>(value * 32768.f);
    out.append(reinterpret_cast<const char*>(&sample), sizeof sample);
  }
  return out;
}

/// Returns a WAV file of 16 kHz. A second channel contains different noise of the same loudness.
inline std::string wav_of(const std::string& first, int channels = 2) {
  const auto number = [](uint32_t value, size_t bytes) {
    return std::string(reinterpret_cast<const char*>(&value), bytes);
  };
  std::string pcm;
  for (size_t i = 0; i < first.size(); i += 2) {
    pcm += first.substr(i, 2);
    if (channels == 2) pcm += first.substr(first.size() - 2 - i, 2);
  }
  const auto size = static_cast<uint32_t>(pcm.size()), frame = 2u * channels, rate = 16000u;
  return "RIFF" + number(36 + size, 4) + "WAVEfmt " + number(16, 4) + number(1, 2) +
         number(channels, 2) + number(rate, 4) + number(frame * rate, 4) + number(frame, 2) +
         number(16, 2) + "data" + number(size, 4) + pcm;
}

/// Returns the seconds of an answer's WAV file, which is sent in base64.
inline double seconds_of(const std::string& data) {
  constexpr uint32_t kWavBytes = 44;
  const auto sound = base64_decoded(data);
  if (!sound || sound->size() <= kWavBytes) return 0;
  uint32_t rate = 0;
  std::copy_n(sound->data() + 24, sizeof rate, reinterpret_cast<char*>(&rate));
  return static_cast<double>(sound->size() - kWavBytes) / 2 / rate;
}

class Server {
 public:
  explicit Server(std::shared_ptr<const Pipeline> model) : name_(model->info().model) {
    EngineOptions engine;
    engine.threads = 2;
    engine.repetition_s = 0;
    ServerOptions options;
    options.port = 0;
    http_ = std::make_unique<HttpServer>(std::move(options));
    backend_ = make_backend(std::make_unique<Engine>(std::move(model), engine));
    http_->open(backend_);
  }
  uint16_t port() const { return http_->port(); }
  /// Returns how many requests have ended.
  int64_t finished() const { return backend_->stats().finished; }
  /// Waits until further requests have ended and no request runs. Returns false after a minute.
  bool wait_for_more(int64_t finished_before) const {
    for (int i = 0; i < 12'000; ++i) {
      const EngineStats stats = backend_->stats();
      if (stats.finished > finished_before && stats.requests == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  /// Sends a chat with greedy sampling; adds `fields` to model, messages and seed.
  TestAnswer chat(const ordered_json& messages, const ordered_json& fields) {
    ordered_json body{{"model", name_}, {"messages", messages}, {"temperature", 0}, {"seed", 7}};
    body.update(fields);
    return post("/v1/chat/completions", "application/json", body.dump());
  }
  TestAnswer transcribe(const std::string& wav) {
    const auto part = [](const std::string& head, const std::string& value) {
      return "--xyz\r\nContent-Disposition: form-data; name=" + head + "\r\n\r\n" + value + "\r\n";
    };
    return post(
        "/v1/audio/transcriptions", "multipart/form-data; boundary=xyz",
        part("\"model\"", name_) + part("\"file\"; filename=\"a.wav\"", wav) + "--xyz--\r\n");
  }

 private:
  TestAnswer post(const char* path, const char* type, const std::string& body) {
    TestClient client(port());
    client.send(concat("POST ", path, " HTTP/1.1\r\nHost: localhost\r\nContent-Type: ", type,
                       "\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
    return client.read();
  }

  const std::string name_;
  std::shared_ptr<Backend> backend_;
  std::unique_ptr<HttpServer> http_;
};

/// Returns the fields that ask for a spoken answer.
inline ordered_json aloud(const std::string& voice, int tokens) {
  return {{"modalities", {"text", "audio"}},
          {"audio", {{"voice", voice}, {"format", "wav"}}},
          {"max_completion_tokens", tokens}};
}

/// Returns a user's message that consists of one recording, a WAV file.
inline ordered_json asked_aloud(const std::string& wav) {
  const ordered_json part{{"type", "input_audio"},
                          {"input_audio", {{"data", base64(wav)}, {"format", "wav"}}}};
  const ordered_json user{{"role", "user"}, {"content", ordered_json::array({part})}};
  return ordered_json::array({user});
}

/// Sends the golden cases as chats and expects the golden prompts, texts and lengths of the audio.
inline void expect_chats(Server& server, const ordered_json& cases, const std::string& voice,
                         double codes_a_second) {
  for (const auto& [name, c] : cases.items()) {
    SCOPED_TRACE(name);
    ordered_json messages = c["messages"];
    uint32_t seed = 7;
    for (ordered_json& message : messages) {
      if (!message["content"].is_array()) continue;
      const auto samples = c["recordings"][seed - 7].get<int64_t>();
      message["content"].back() = {
          {"type", "input_audio"},
          {"input_audio", {{"data", base64(wav_of(pcm_of(samples, seed++)))}, {"format", "wav"}}}};
    }
    const bool speaks = c.value("speaks", true);
    const TestAnswer answer =
        server.chat(messages, speaks ? aloud(voice, c["steps"])
                                     : ordered_json{{"max_completion_tokens", c["steps"]}});
    ASSERT_EQ(answer.status, 200) << answer.body;
    const auto json = ordered_json::parse(answer.body);
    EXPECT_EQ(json["usage"]["prompt_tokens"], c["prompt"]);
    const ordered_json& message = json["choices"][0]["message"];
    if (!speaks) {
      EXPECT_EQ(message["content"], c["text"]);
      continue;
    }
    EXPECT_EQ(message["audio"]["transcript"], c["text"]);
    EXPECT_NEAR(seconds_of(message["audio"]["data"]), c["codes"].get<double>() / codes_a_second,
                0.05);
  }
}

/// A chat names an earlier answer by its id. Expects that its prompt has the ids of the earlier
/// prompt and of the answer, and `more` other ids.
inline void expect_recall(Server& server, const std::string& voice, size_t more) {
  const auto ask = [&](const ordered_json& messages) {
    const TestAnswer answer = server.chat(messages, aloud(voice, 60));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return ordered_json::parse(answer.body);
  };
  const ordered_json user{{"role", "user"}, {"content", "Hello there?"}};
  const ordered_json first = ask(ordered_json::array({user}));
  const ordered_json& audio = first["choices"][0]["message"]["audio"];
  const ordered_json named{{"role", "assistant"}, {"audio", {{"id", audio["id"]}}}};
  const auto prompt = [](const ordered_json& json) {
    return json["usage"]["prompt_tokens"].get<size_t>();
  };
  const size_t ended =
      // The token that ends the answer counts as a token, but is not kept.
      first["choices"][0]["finish_reason"] == "stop" ? 1 : 0;
  const size_t made = first["usage"]["completion_tokens"].get<size_t>() - ended;
  const ordered_json& details = first["usage"]["completion_tokens_details"];
  EXPECT_GT(details["text_tokens"].get<size_t>(), 0u);
  EXPECT_GT(details["audio_tokens"].get<size_t>(), 0u);
  EXPECT_GT(made, 40u);
  EXPECT_EQ(prompt(ask(ordered_json::array({user, named, user}))), prompt(first) + made + more);
  const ordered_json text{{"role", "assistant"}, {"content", audio["transcript"]}};
  EXPECT_NE(prompt(ask(ordered_json::array({user, text, user}))), prompt(first) + made + more);
  const ordered_json nobody{{"role", "assistant"}, {"audio", {{"id", "audio_1"}}}};
  const TestAnswer unknown =
      server.chat(ordered_json::array({user, nobody}), ordered_json::object());
  EXPECT_EQ(unknown.status, 400) << unknown.body;
}

/// A conversation in the Realtime API with manual turns.
class Talk {
 public:
  Talk(Server& server, const std::string& model, int tokens)
      : client_(server.port(), "/v1/realtime?model=" + model) {
    EXPECT_EQ(client_.status(), 101);
    until("session.created");
    send({{"type", "session.update"},
          {"session",
           {{"type", "realtime"},
            {"max_output_tokens", tokens},
            {"audio", {{"input", {{"turn_detection", nullptr}}}}}}}});
    until("session.updated");
  }
  void send(const ordered_json& event) { client_.send_text(event.dump()); }
  std::vector<ordered_json> until(const std::string& type) {
    std::vector<ordered_json> out;
    do {
      const std::string text = client_.read_text();
      out.push_back(ordered_json::parse(text, nullptr, false));
      if (out.back().is_discarded() || out.back()["type"] == "error") {
        ADD_FAILURE() << text;
        return out;
      }
    } while (out.back()["type"] != type);
    return out;
  }
  /// The answer to a recording.
  struct Answer {
    std::string text, item;
    size_t bytes = 0, prompt_tokens = 0, heard_tokens = 0, cached_tokens = 0;
    size_t cached_heard_tokens = 0;
  };
  void be_greedy() {
    send({{"type", "session.update"}, {"session", {{"type", "realtime"}, {"temperature", 0}}}});
    until("session.updated");
  }
  void append(const std::string& pcm) {
    send({{"type", "input_audio_buffer.append"}, {"audio", base64(pcm)}});
  }
  Answer ask(const std::string& pcm) {
    append(pcm);
    send({{"type", "input_audio_buffer.commit"}});
    send({{"type", "response.create"}});
    Answer out;
    for (const ordered_json& event : until("response.done")) {
      if (event["type"] == "response.output_audio_transcript.delta")
        out.text += event["delta"].get<std::string>();
      if (event["type"] == "response.output_audio.delta")
        out.bytes += base64_decoded(event["delta"].get<std::string>())->size();
      if (event["type"] == "response.output_item.added") out.item = event["item"]["id"];
      if (event["type"] != "response.done") continue;
      const ordered_json& usage = event["response"]["usage"];
      out.prompt_tokens = usage["input_tokens"];
      out.heard_tokens = usage["input_token_details"]["audio_tokens"];
      out.cached_tokens = usage["input_token_details"]["cached_tokens"];
      out.cached_heard_tokens =
          usage["input_token_details"]["cached_tokens_details"]["audio_tokens"];
    }
    return out;
  }

 private:
  WsClient client_;
};

/// Expects three turns, each of which uses the earlier recordings and answers. The second answer is
/// used only as far as the client played it. Every answer takes 90 steps.
inline void expect_conversation(Server& server, const std::string& model, double codes_a_second) {
  Talk talk(server, model, 90);
  std::vector<Talk::Answer> answers;
  for (int turn = 0; turn < 3 && !testing::Test::HasFailure(); ++turn) {
    answers.push_back(talk.ask(pcm_of(36000, 7)));
    EXPECT_FALSE(answers.back().text.empty());
    EXPECT_GT(answers.back().bytes, 4800u) << "a tenth of a second";
    if (turn != 1) continue;
    talk.send({{"type", "conversation.item.truncate"},
               {"item_id", answers.back().item},
               {"content_index", 0},
               {"audio_end_ms", static_cast<int>(4'500 / codes_a_second)}});  // time of four codes
    talk.until("conversation.item.truncated");
  }
  ASSERT_EQ(answers.size(), 3u);
  // The second prompt also has the first answer's 90 steps, which do not belong to the turn.
  const size_t turn = answers[1].prompt_tokens - answers[0].prompt_tokens - 90;
  EXPECT_GT(answers[1].prompt_tokens, answers[0].prompt_tokens + 90);
  EXPECT_LT(turn, 90u);
  EXPECT_GT(answers[2].prompt_tokens, answers[1].prompt_tokens + turn);
  EXPECT_LT(answers[2].prompt_tokens, answers[1].prompt_tokens + turn + 60) << "not all 90";
  // Earlier recordings are not encoded again, and earlier prompts are still cached.
  EXPECT_GT(answers[0].heard_tokens, 10u);
  EXPECT_EQ(answers[1].heard_tokens, 2 * answers[0].heard_tokens);
  EXPECT_GE(answers[1].cached_tokens, answers[0].prompt_tokens);
  EXPECT_GE(answers[2].cached_tokens, answers[1].prompt_tokens);
}

/// Expects that a question is processed in parts of `codes` codes while it arrives, and that the
/// answer finds these parts in the cache. The answer equals that of `fresh`, the same model, which
/// receives the whole question at once.
inline void expect_hearing_ahead(Server& server, Server& fresh, const std::string& model,
                                 size_t codes) {
  const std::string pcm = pcm_of(72000, 11);
  Talk at_once(fresh, model, 20), talk(server, model, 20);
  for (Talk* each : {&at_once, &talk}) each->be_greedy();
  const Talk::Answer whole = at_once.ask(pcm);
  const int64_t before = server.finished();
  talk.append(pcm.substr(0, 120000));  // 2.5 s of audio
  ASSERT_TRUE(server.wait_for_more(before)) << "nothing is heard ahead";
  const Talk::Answer answer = talk.ask(pcm.substr(120000));
  EXPECT_GE(answer.cached_heard_tokens, codes);
  EXPECT_EQ(answer.text, whole.text);
  EXPECT_EQ(answer.bytes, whole.bytes);
  EXPECT_EQ(answer.heard_tokens, whole.heard_tokens);
}

}  // namespace syrinx::spoken
