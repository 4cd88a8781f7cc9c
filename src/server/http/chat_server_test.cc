// Chat and text completions through a real socket, with a fake engine.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "audio/recording.h"
#include "audio/wav_file.h"
#include "base/check.h"
#include "server/http/http_server.h"
#include "server/http/test_client_test.h"
#include "server/models/fake_backend_test.h"
#include "server/models/fake_writer_test.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

using Json = nlohmann::ordered_json;

class ChatServerTest : public testing::Test {
 protected:
  ChatServerTest() {
    ServerOptions options;
    options.port = 0;
    server_ = std::make_unique<HttpServer>(std::move(options));
    server_->open(writer_);
  }
  static std::string request(const std::string& path, const std::string& body) {
    return concat("POST ", path, " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json",
                  "\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
  }
  TestAnswer ask(const std::string& body, const std::string& path = "/v1/chat/completions") const {
    TestClient client(server_->port());
    client.send(request(path, body));
    return client.read();
  }
  static std::string chat(const std::string& content, const std::string& more = "") {
    return concat(R"({"model": "writer", "messages": [{"role": "user", "content": ")", content,
                  "\"}]", more, "}");
  }
  /// Returns the events of a stream; the last event, "[DONE]", becomes a text.
  static std::vector<Json> events(const std::string& body) {
    std::vector<Json> out;
    for (size_t at = 0; at < body.size();) {
      const size_t end = body.find("\n\n", at);
      EXPECT_NE(end, body.npos);
      EXPECT_EQ(body.substr(at, 6), "data: ");
      const std::string data = body.substr(at + 6, end - at - 6);
      out.push_back(data == "[DONE]" ? Json(data) : Json::parse(data));
      at = end + 2;
    }
    return out;
  }

  std::shared_ptr<FakeWriter> writer_ = std::make_shared<FakeWriter>();
  std::unique_ptr<HttpServer> server_;
};

TEST_F(ChatServerTest, TheApisDescriptionNamesEveryResponseFormat) {
  TestClient client(server_->port());
  client.get("/openapi.json");
  const Json document = Json::parse(client.read().body);
  std::string types;
  for (const Json& each :
       document["components"]["schemas"]["Chat"]["properties"]["response_format"]["anyOf"]) {
    if (!each.contains("properties")) continue;
    const Json& type = each["properties"]["type"];
    for (const Json& name : type.contains("enum") ? type["enum"] : Json{type["const"]})
      types += name.get<std::string>() + " ";
  }
  EXPECT_EQ(types, "text json_object json_schema ");
}

TEST_F(ChatServerTest, AnswersWhole) {
  const TestAnswer answer = ask(chat("Hi", R"(, "seed": 8)"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("Content-Type"), "application/json");
  EXPECT_EQ(answer.header("X-Seed"), "8");
  const Json json = Json::parse(answer.body);
  EXPECT_EQ(json["object"], "chat.completion");
  EXPECT_TRUE(json["id"].get<std::string>().starts_with("chatcmpl-"));
  EXPECT_EQ(json["model"], "writer");
  const Json& choice = json["choices"][0];
  EXPECT_EQ(choice["message"]["role"], "assistant");
  EXPECT_EQ(choice["message"]["content"], "Hello.");
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_TRUE(choice["logprobs"].is_null());
  EXPECT_EQ(json["usage"]["prompt_tokens"], 7);
  EXPECT_EQ(json["usage"]["completion_tokens"], 3);
  EXPECT_EQ(json["usage"]["total_tokens"], 10);
  EXPECT_EQ(writer_->last_request().writing.chat->messages,
            R"([{"role": "user", "content": "Hi"}])");
}

TEST_F(ChatServerTest, StreamsAsOpenAi) {
  const TestAnswer answer =
      ask(chat("Hi", R"(, "stream": true, "stream_options": {"include_usage": true})"));
  ASSERT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.whole);
  EXPECT_EQ(answer.header("Content-Type"), "text/event-stream");
  const std::vector<Json> all = events(answer.body);
  ASSERT_GE(all.size(), 5u);
  EXPECT_EQ(all[0]["object"], "chat.completion.chunk");
  EXPECT_EQ(all[0]["choices"][0]["delta"], (Json{{"role", "assistant"}, {"content", ""}}));
  EXPECT_TRUE(all[0]["usage"].is_null());
  std::string text;
  for (size_t i = 1; i + 3 < all.size(); ++i) {
    text += all[i]["choices"][0]["delta"]["content"].get<std::string>();
    EXPECT_TRUE(all[i]["choices"][0]["finish_reason"].is_null());
    EXPECT_EQ(all[i]["id"], all[0]["id"]);
  }
  EXPECT_EQ(text, "Hello.");
  const Json& last = all[all.size() - 3];
  EXPECT_EQ(last["choices"][0]["delta"], Json::object());
  EXPECT_EQ(last["choices"][0]["finish_reason"], "stop");
  const Json& usage = all[all.size() - 2];
  EXPECT_TRUE(usage["choices"].empty());
  EXPECT_EQ(usage["usage"]["total_tokens"], 10);
  EXPECT_EQ(all.back(), "[DONE]");
  const std::vector<Json> plain = events(ask(chat("Hi", R"(, "stream": true)")).body);
  EXPECT_FALSE(plain[plain.size() - 2].contains("usage"));
}

/// A model that both accepts audio and speaks.
class SpokenChatTest : public ChatServerTest {
 protected:
  SpokenChatTest() { writer_->speak(); }
  static std::string spoken(const std::string& more = "") {
    return chat("Hi", R"(, "modalities": ["text", "audio"], "audio": {"voice": "ann")" + more);
  }
};

TEST_F(SpokenChatTest, AnswersWhole) {
  const TestAnswer answer = ask(spoken(R"(, "format": "wav"})"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json json = Json::parse(answer.body);
  const Json& message = json["choices"][0]["message"];
  EXPECT_TRUE(message["content"].is_null());
  EXPECT_EQ(message["audio"]["transcript"], "Hello.");
  EXPECT_TRUE(message["audio"]["id"].get<std::string>().starts_with("audio_"));
  EXPECT_EQ(message["audio"]["expires_at"], json["created"].get<int64_t>() + 3600);
  const Wav wav =
      parse_wav(base64_decoded(message["audio"]["data"].get<std::string>()).value(), "answer.wav");
  EXPECT_EQ(wav.rate, 24000u);
  EXPECT_EQ(wav.samples.size(), 3u * FakeWriter::kSamplesAPiece) << "its head tells it";
  EXPECT_EQ(json["usage"]["completion_tokens"], 3 + 3);
  EXPECT_EQ(json["usage"]["total_tokens"], 13);
  EXPECT_EQ(json["usage"]["completion_tokens_details"]["audio_tokens"], 3);
  EXPECT_EQ(writer_->last_request().voice.name, "ann");
  EXPECT_FALSE(writer_->last_request().writing.text_only);
}

TEST_F(SpokenChatTest, StreamsAsOpenAi) {
  const std::string wish = R"(, "format": "pcm16"}, "stream": true)";
  const std::vector<Json> all = events(ask(spoken(wish)).body);
  std::string transcript, bytes;
  int ids = 0, ends = 0;
  for (const Json& event : all) {
    if (!event.is_object()) continue;
    const Json& delta = event["choices"][0]["delta"];
    EXPECT_FALSE(delta.contains("content")) << event;
    if (!delta.contains("audio")) continue;
    const Json& audio = delta["audio"];
    ids += audio.contains("id") ? 1 : 0;
    ends += audio.contains("expires_at") ? 1 : 0;
    transcript += audio.value("transcript", "");
    if (audio.contains("data")) bytes += base64_decoded(audio["data"].get<std::string>()).value();
  }
  EXPECT_EQ(transcript, "Hello.");
  EXPECT_EQ(bytes.size(), 2u * 3 * FakeWriter::kSamplesAPiece);
  EXPECT_EQ(ids, 1) << "clients join what they are told";
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(all[all.size() - 2]["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(all.back(), "[DONE]");
}

TEST_F(SpokenChatTest, AnswersAsVllmOmniWhereThatIsWanted) {
  const std::string shape = R"(}, "audio_shape": "vllm-omni")";
  const Json whole = Json::parse(ask(spoken(shape)).body);
  ASSERT_EQ(whole["choices"].size(), 2u);
  EXPECT_EQ(whole["choices"][0]["message"]["content"], "Hello.");
  EXPECT_FALSE(whole["choices"][0]["message"].contains("audio"));
  const std::string data = whole["choices"][1]["message"]["audio"]["data"];
  EXPECT_EQ(parse_wav(base64_decoded(data).value(), "answer.wav").samples.size(),
            3u * FakeWriter::kSamplesAPiece);
  std::string text;
  size_t samples = 0;
  std::vector<std::string> reasons;
  for (const Json& event : events(ask(spoken(shape + R"(, "stream": true)")).body)) {
    if (!event.is_object()) continue;
    const Json& choice = event["choices"][0];
    EXPECT_FALSE(choice["delta"].contains("audio")) << event;
    if (!choice["finish_reason"].is_null()) reasons.push_back(event["modality"]);
    const std::string content = choice["delta"].value("content", "");
    if (event["modality"] == "text") text += content;
    if (event["modality"] != "audio" || content.empty()) continue;
    const Wav wav = parse_wav(base64_decoded(content).value(), "chunk.wav");
    EXPECT_EQ(wav.rate, 24000u);
    samples += wav.samples.size();
  }
  EXPECT_EQ(text, "Hello.");
  EXPECT_EQ(samples, 3u * FakeWriter::kSamplesAPiece);
  EXPECT_EQ(reasons, std::vector<std::string>{"audio"}) << "the last of them ends";
  EXPECT_EQ(Json::parse(ask(spoken(R"(}, "audio_shape": "round")")).body)["error"]["param"],
            "audio_shape");
  EXPECT_EQ(Json::parse(ask(spoken(R"(, "format": "mp3")" + shape)).body)["error"]["param"],
            "audio.format");
}

TEST_F(SpokenChatTest, AnswersInTextUnlessItIsToBeHeard) {
  const Json json = Json::parse(ask(chat("Hi")).body);
  EXPECT_EQ(json["choices"][0]["message"]["content"], "Hello.");
  EXPECT_FALSE(json["choices"][0]["message"].contains("audio"));
  EXPECT_TRUE(writer_->last_request().writing.text_only);
  const TestAnswer none = ask(spoken(R"(, "format": "midi"})"));
  EXPECT_EQ(none.status, 400);
  EXPECT_EQ(Json::parse(none.body)["error"]["param"], "audio.format");
}

TEST_F(SpokenChatTest, HearsRecordings) {
  const std::string wav = recording_wav(std::vector<float>(8000, 0.5f), 16000);
  const auto say = [](const std::string& data) {
    return concat(R"({"model": "writer", "messages": [{"role": "user", "content": [)",
                  R"({"type": "text", "text": "What is it?"}, {"type": "input_audio", )",
                  R"("input_audio": {"format": "wav", "data": ")", data, R"("}}]}]})");
  };
  ASSERT_EQ(ask(say(base64(wav))).status, 200);
  const SpeechRequest request = writer_->last_request();
  ASSERT_EQ(request.writing.recordings.size(), 1u);
  EXPECT_EQ(request.writing.recordings[0]->sample_rate, 16000);
  EXPECT_EQ(request.writing.recordings[0]->samples, std::vector<float>(8000, 0.5f)) << "as it is";
  EXPECT_EQ(request.writing.chat->messages,
            R"([{"role": "user", "content": [{"type": "text", "text": "What is it?"}, )"
            R"({"type": "audio", "audio": ""}]}])");
  for (const std::string& data : {std::string("@@"), base64("no audio"), std::string()}) {
    const TestAnswer bad = ask(say(data));
    EXPECT_EQ(bad.status, 400) << data;
    EXPECT_EQ(Json::parse(bad.body)["error"]["param"], "messages[0].content[1].input_audio.data");
  }
  const std::string longer = recording_wav(std::vector<float>(40000, 0.5f), 16000);
  EXPECT_EQ(ask(say(base64(longer))).status, 400) << "2 s are the limit";
}

TEST_F(SpokenChatTest, LargeBodiesMayCarryRecordings) {
  // 24 s at 44.1 kHz exceed max_body_bytes, but the refusal names the recording's length.
  const std::string wav = recording_wav(std::vector<float>(24 * 44100, 0.5f), 44100);
  const TestAnswer answer =
      ask(concat(R"({"model": "writer", "messages": [{"role": "user", "content": [)",
                 R"({"type": "input_audio", "input_audio": {"data": ")", base64(wav), "\"}}]}]}"));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(Json::parse(answer.body)["error"]["param"], "messages[0].content[0].input_audio.data");
}

TEST_F(ChatServerTest, ReportsWhyItEnded) {
  writer_->say({"So"}, FinishReason::kLength);
  EXPECT_EQ(Json::parse(ask(chat("Hi")).body)["choices"][0]["finish_reason"], "length");
  writer_->say({"So"}, FinishReason::kRepetition);
  EXPECT_EQ(Json::parse(ask(chat("Hi")).body)["choices"][0]["finish_reason"], "repetition");
  writer_->say({}, FinishReason::kStop);
  EXPECT_EQ(Json::parse(ask(chat("Hi")).body)["choices"][0]["message"]["content"], "");
}

TEST_F(ChatServerTest, ScoresTokens) {
  writer_->say({"a", "\xc3", "\xa9"});
  const Json json = Json::parse(ask(chat("Hi", R"(, "logprobs": true, "top_logprobs": 1)")).body);
  const Json& content = json["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), 3u);
  EXPECT_EQ(content[0]["token"], "a");
  EXPECT_EQ(content[1]["bytes"], Json::array({0xc3}));
  EXPECT_DOUBLE_EQ(content[0]["logprob"], -0.25);
  EXPECT_EQ(content[0]["top_logprobs"][0]["token"], "a");
  const Json text =
      Json::parse(ask(R"({"prompt": "Hi", "logprobs": 1})", "/v1/completions").body)["choices"][0];
  EXPECT_EQ(text["logprobs"]["text_offset"], Json::array({0, 1, 2}));
  EXPECT_EQ(text["logprobs"]["tokens"][0], "a");
}

TEST_F(ChatServerTest, FindsCallsOfTools) {
  const std::string tools =
      R"(, "tools": [{"type": "function", "function": {"name": "get_time"}}])";
  writer_->say({"One mo", "ment.\n<tool", "_call>{\"name\": \"get_time\", ", "\"arguments\": {}}",
                "</tool_call>"});
  const Json whole = Json::parse(ask(chat("Time?", tools)).body)["choices"][0];
  EXPECT_EQ(whole["finish_reason"], "tool_calls");
  EXPECT_EQ(whole["message"]["content"], "One moment.");
  EXPECT_EQ(whole["message"]["tool_calls"][0]["type"], "function");
  EXPECT_EQ(whole["message"]["tool_calls"][0]["function"],
            (Json{{"name", "get_time"}, {"arguments", "{}"}}));
  const std::vector<Json> all = events(ask(chat("Time?", tools + R"(, "stream": true)")).body);
  std::string text;
  int calls = 0;
  for (const Json& event : all) {
    if (!event.is_object()) continue;
    const Json& delta = event["choices"][0]["delta"];
    if (delta.contains("content")) text += delta["content"].get<std::string>();
    if (!delta.contains("tool_calls")) continue;
    ++calls;
    EXPECT_EQ(delta["tool_calls"][0]["index"], 0);
    EXPECT_FALSE(delta["tool_calls"][0]["id"].get<std::string>().empty());
  }
  EXPECT_EQ(text, "One moment.");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(all[all.size() - 2]["choices"][0]["finish_reason"], "tool_calls");
  // Without tools the answer is text.
  EXPECT_EQ(Json::parse(ask(chat("Time?")).body)["choices"][0]["finish_reason"], "stop");
}

TEST_F(ChatServerTest, GoesOnWithATextWhole) {
  const Json json = Json::parse(ask(R"({"prompt": "Once"})", "/v1/completions").body);
  EXPECT_EQ(json["object"], "text_completion");
  EXPECT_EQ(json["choices"][0]["text"], "Hello.");
  const std::vector<Json> all =
      events(ask(R"({"prompt": "Once", "stream": true})", "/v1/completions").body);
  std::string text;
  for (const Json& event : all)
    if (event.is_object()) text += event["choices"][0]["text"].get<std::string>();
  EXPECT_EQ(text, "Hello.");
  EXPECT_EQ(all.back(), "[DONE]");
}

TEST_F(ChatServerTest, FailsProperly) {
  const auto expect_fault = [&](const TestAnswer& answer, int status, const char* code) {
    EXPECT_EQ(answer.status, status) << answer.body;
    const Json json = Json::parse(answer.body);
    EXPECT_EQ(json["error"]["code"], code) << answer.body;
    EXPECT_EQ(answer.body.find("secret"), std::string::npos);
  };
  expect_fault(ask(chat("busy")), 503, "server_is_overloaded");
  expect_fault(ask(chat("fail early")), 500, "internal_error");
  expect_fault(ask(chat("fail early", R"(, "stream": true)")), 500, "internal_error");
  expect_fault(ask(chat("fail late")), 500, "internal_error");
  expect_fault(ask("{"), 400, "invalid_json");
  expect_fault(ask(R"({"model": "else", "messages": []})"), 404, "model_not_found");
  expect_fault(ask(R"({"model": "writer", "messages": []})"), 400, "invalid_value");
  TestClient late(server_->port());
  late.send(request("/v1/chat/completions", chat("fail told", R"(, "stream": true)")));
  TestAnswer answer = late.read_head();
  EXPECT_EQ(answer.status, 200);
  writer_->fail_now();
  late.read_body(answer);
  EXPECT_EQ(events(answer.body).back()["error"]["code"], "internal_error");
  TestClient client(server_->port());
  client.get("/v1/chat/completions");
  EXPECT_EQ(client.read().status, 405);
}

TEST_F(ChatServerTest, ModelsThatSpeakAndModelsThatWrite) {
  const TestAnswer speech = ask(R"({"model": "writer", "input": "Hi"})", "/v1/audio/speech");
  EXPECT_EQ(speech.status, 400);
  EXPECT_EQ(Json::parse(speech.body)["error"]["code"], "unsupported_model");
  ServerOptions options;
  options.port = 0;
  HttpServer speaker(std::move(options));
  speaker.open(std::make_shared<FakeBackend>());
  TestClient client(speaker.port());
  client.send(request("/v1/chat/completions", R"({"messages": []})"));
  const TestAnswer text = client.read();
  EXPECT_EQ(text.status, 400);
  EXPECT_EQ(Json::parse(text.body)["error"]["param"], "model");
}

TEST_F(ChatServerTest, CancelsForAClientThatGoes) {
  {
    TestClient client(server_->port());
    client.send(request("/v1/chat/completions", chat("endless", R"(, "stream": true)")));
    EXPECT_EQ(client.read_head().status, 200);
    EXPECT_TRUE(client.read_more());
  }
  EXPECT_TRUE(writer_->wait_cancelled(1));
  {
    TestClient client(server_->port());
    client.send(request("/v1/chat/completions", chat("endless")));
  }
  EXPECT_TRUE(writer_->wait_cancelled(2));
}

}  // namespace
}  // namespace syrinx
