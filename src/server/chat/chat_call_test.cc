#include "server/chat/chat_call.h"

#include <gtest/gtest.h>

#include "audio/recording_files_test.h"
#include "audio/wav_file.h"
#include "base/check.h"
#include "base/fuzzing.h"
#include "server/chat/chat_tools.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

std::variant<ChatCall, ApiError> read_call(const std::string& body, ChatKind kind = ChatKind::kChat,
                                           const ChatAbility& model = {}) {
  auto parsed = ChatBody::parse(kind, body);
  if (auto* fault = std::get_if<ApiError>(&parsed)) return std::move(*fault);
  return std::get<ChatBody>(parsed).call(model);
}

ChatCall good_call(const std::string& body, ChatKind kind = ChatKind::kChat) {
  auto call = read_call(body, kind);
  if (const auto* fault = std::get_if<ApiError>(&call)) {
    ADD_FAILURE() << body << ": " << fault->message;
    return {};
  }
  return std::get<ChatCall>(std::move(call));
}

ApiError bad_call(const std::string& body, ChatKind kind = ChatKind::kChat) {
  auto call = read_call(body, kind);
  if (const auto* fault = std::get_if<ApiError>(&call)) return *fault;
  ADD_FAILURE() << body << " was accepted";
  return {};
}

std::string chat_with(const std::string& more) {
  return R"({"messages": [{"role": "user", "content": "Hi"}])" + more + "}";
}

TEST(ChatCallBody, ReadsAll) {
  const ChatCall call = good_call(chat_with(
      R"(, "stream": true, "stream_options": {"include_usage": true}, "stop": ["a", "b"],)"
      R"( "temperature": 0.5, "top_p": 0.25, "top_k": -1, "max_tokens": 5.0, "seed": 3.0,)"
      R"( "max_completion_tokens": 9, "logprobs": true, "top_logprobs": 4, "n": 1,)"
      R"( "presence_penalty": 0, "response_format": {"type": "text"}, "user": "somebody",)"
      R"( "guidance": 1.5)"));
  EXPECT_TRUE(call.stream && call.usage);
  EXPECT_EQ(call.request.writing.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(call.request.sampling.temperature, 0.5f);
  EXPECT_EQ(call.request.sampling.top_p, 0.25f);
  EXPECT_EQ(call.request.sampling.top_k, 0);
  EXPECT_EQ(call.request.writing.max_tokens, 9);
  EXPECT_EQ(call.request.writing.top_logprobs, 4);
  EXPECT_EQ(call.request.sampling.guidance, 1.5f);
  EXPECT_EQ(call.request.sampling.seed, 3u);
  EXPECT_EQ(good_call(chat_with(R"(, "seed": 18446744073709551614)")).request.sampling.seed,
            ~uint64_t{0});
  EXPECT_EQ(call.request.writing.chat->messages, R"([{"role": "user", "content": "Hi"}])");
  EXPECT_EQ(call.request.writing.chat->tools, "");
  const ChatCall plain = good_call(chat_with(R"(, "stop": "x", "seed": null)"));
  EXPECT_EQ(plain.request.writing.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(plain.request.writing.max_tokens, 0);
  EXPECT_EQ(plain.request.writing.top_logprobs, -1);
  EXPECT_FALSE(plain.request.sampling.temperature.has_value());
  EXPECT_FALSE(plain.request.sampling.guidance.has_value());
  EXPECT_FALSE(plain.request.terms.background);
  EXPECT_TRUE(good_call(chat_with(R"(, "service_tier": "flex")")).request.terms.background);
  EXPECT_EQ(bad_call(chat_with(R"(, "service_tier": "soon")")).status, 400);
}

TEST(ChatCallBody, HasTheOptionsOfChatsAlone) {
  const ChatCall call = good_call(chat_with(R"(, "exaggeration": 9, "speaker": "x", "speed": 0)"));
  EXPECT_FALSE(call.request.voice.exaggeration.has_value());
  EXPECT_EQ(call.request.voice.speed, 1);
  const ChatCall completion =
      good_call(R"({"prompt": "a", "guidance": 2, "top_k": -1})", ChatKind::kCompletion);
  EXPECT_FALSE(completion.request.sampling.guidance.has_value());
  EXPECT_EQ(completion.request.sampling.top_k, 0);
}

TEST(ChatCallBody, TakesAPrediction) {
  const auto expected = [](const std::string& prediction) {
    return good_call(chat_with(R"(, "prediction": )" + prediction)).request.writing.expected;
  };
  EXPECT_EQ(expected("null"), "");
  EXPECT_EQ(expected(R"({"type": "content", "content": "int x;"})"), "int x;");
  EXPECT_EQ(expected(R"({"type": "content", "content": [{"type": "text", "text": "a"},)"
                     R"( {"type": "text", "text": "b"}]})"),
            "a\nb");
  for (const char* bad : {R"({"type": "other", "content": "x"})", R"({"type": "content"})", "7",
                          R"({"type": "content", "content": [{"type": "image_url"}]})"}) {
    EXPECT_EQ(bad_call(chat_with(concat(R"(, "prediction": )", bad))).status, 400) << bad;
  }
}

TEST(ChatCallBody, MakesMessagesThatTemplatesExpect) {
  const ChatCall call = good_call(
      R"({"messages": [{"role": "developer", "content": [{"type": "text", "text": "a"},)"
      R"( {"type": "text", "text": "b"}]}, {"role": "assistant", "content": null, "tool_calls":)"
      R"( [{"id": "c", "type": "function", "function": {"name": "f", "arguments":)"
      R"( "{\"z\": 1, \"a\": [2]}"}}]}, {"role": "tool", "tool_call_id": "c", "content": "ü"},)"
      R"( {"role": "assistant", "content": "x", "reasoning": "r", "unknown": 1}],)"
      R"( "tools": [{"type": "function", "function": {"name": "f", "parameters": {"b": 1,)"
      R"( "a": 2}}}]})");
  EXPECT_EQ(call.request.writing.chat->messages,
            R"([{"role": "system", "content": "a\nb"}, {"role": "assistant", "content": "",)"
            R"( "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f",)"
            R"( "arguments": {"z": 1, "a": [2]}}}]}, {"role": "tool", "content": "ü",)"
            R"( "tool_call_id": "c"}, {"role": "assistant", "content": "x",)"
            R"( "reasoning_content": "r"}])");
  EXPECT_EQ(call.request.writing.chat->tools,
            R"([{"type": "function", "function": {"name": "f", "parameters": {"b": 1, "a": 2}}}])");
  EXPECT_EQ(call.tool_names, std::vector<std::string>{"f"});
  const ChatCall none = good_call(chat_with(
      R"(, "tool_choice": "none", "tools": [{"type": "function", "function": {"name": "f"}}])"));
  EXPECT_EQ(none.request.writing.chat->tools, "");
  EXPECT_TRUE(none.tool_names.empty());
}

TEST(ChatCallBody, SwitchesOfTheTemplate) {
  EXPECT_FALSE(good_call(chat_with("")).request.writing.chat->thinks.has_value());
  EXPECT_FALSE(
      good_call(chat_with(R"(, "chat_template_kwargs": {})")).request.writing.chat->thinks);
  for (const bool thinks : {false, true}) {
    const auto call = good_call(chat_with(concat(
        R"(, "chat_template_kwargs": {"enable_thinking": )", thinks ? "true" : "false", "}")));
    EXPECT_EQ(call.request.writing.chat->thinks, thinks);
  }
  for (const char* bad : {R"({"enable_thinking": "no"})", R"({"thinking_budget": 3})", "[]"}) {
    EXPECT_EQ(bad_call(chat_with(concat(R"(, "chat_template_kwargs": )", bad))).status, 400) << bad;
  }
}

TEST(ChatCallBody, RefusesByName) {
  const struct {
    const char* more;
    const char* param;
    const char* code;
  } cases[] = {
      {R"(, "n": 2)", "n", "unsupported_value"},
      {R"(, "presence_penalty": 0.5)", "presence_penalty", "unsupported_value"},
      {R"(, "frequency_penalty": -1)", "frequency_penalty", "unsupported_value"},
      {R"(, "logit_bias": {"5": 1})", "logit_bias", "unsupported_value"},
      {R"(, "response_format": {"type": "json_object"})", "response_format", "unsupported_value"},
      {R"(, "response_format": {})", "response_format.type", "invalid_value"},
      {R"(, "modalities": ["text", "audio"])", "modalities", "unsupported_value"},
      {R"(, "tool_choice": "required")", "tool_choice", "unsupported_value"},
      {R"(, "tool_choice": "always")", "tool_choice", "unsupported_value"},
      {R"(, "tool_choice": 1)", "tool_choice", "invalid_type"},
      {R"(, "tool_choice": {"type": "function"})", "tool_choice.function", "invalid_value"},
      {R"(, "tool_choice": {"type": "mcp"})", "tool_choice.type", "unsupported_value"},
      {R"(, "tool_choice": {"type": "function", "function": {"name": "f"}})", "tool_choice",
       "unsupported_value"},
      {R"(, "functions": [])", "functions", "unsupported_value"},
      {R"(, "tools": [{"type": "function"}])", "tools[0].function", "invalid_value"},
      {R"(, "tools": [{"type": "function"}], "tool_choice": "none")", "tools[0].function",
       "invalid_value"},
      {R"(, "tools": [{"type": "retrieval"}])", "tools[0].type", "unsupported_value"},
      {R"(, "tools": {})", "tools", "invalid_type"},
      {R"(, "stop": ["a", "b", "c", "d", "e"])", "stop", "invalid_value"},
      {R"(, "stop": "")", "stop", "invalid_value"},
      {R"(, "stop": [1])", "stop", "invalid_type"},
      {R"(, "temperature": 2.5)", "temperature", "invalid_value"},
      {R"(, "temperature": "warm")", "temperature", "invalid_type"},
      {R"(, "guidance": 21)", "guidance", "invalid_value"},
      {R"(, "max_tokens": 0)", "max_tokens", "invalid_value"},
      {R"(, "max_tokens": 1.5)", "max_tokens", "invalid_type"},
      {R"(, "seed": "x")", "seed", "invalid_type"},
      {R"(, "seed": 1.5)", "seed", "invalid_type"},
      {R"(, "seed": 1e30)", "seed", "invalid_value"},
      {R"(, "seed": -2)", "seed", "invalid_value"},
      {R"(, "top_logprobs": 2)", "top_logprobs", "invalid_value"},
      {R"(, "logprobs": true, "top_logprobs": 21)", "top_logprobs", "invalid_value"},
      {R"(, "stream_options": {})", "stream_options", "invalid_value"},
      {R"(, "stream": 1)", "stream", "invalid_type"},
  };
  for (const auto& c : cases) {
    const ApiError fault = bad_call(chat_with(c.more));
    EXPECT_EQ(fault.status, 400) << c.more;
    EXPECT_EQ(fault.param, c.param) << c.more << ": " << fault.message;
    EXPECT_EQ(fault.code, c.code) << c.more << ": " << fault.message;
  }
}

TEST(ChatCallBody, ReadsHowAnAnswerIsHeard) {
  const auto read = [](const std::string& more) {
    return read_call(chat_with(more), ChatKind::kChat, {.speaks = true, .hears_s = 5});
  };
  const auto call = [&](const std::string& more) { return std::get<ChatCall>(read(more)); };
  const auto param = [&](const std::string& more) { return std::get<ApiError>(read(more)).param; };
  EXPECT_FALSE(call("").speaks);
  EXPECT_TRUE(call(R"(, "modalities": ["text"])").request.writing.text_only);
  EXPECT_TRUE(call(R"(, "modalities": ["audio"])").speaks);
  const ChatCall heard =
      call(R"(, "modalities": ["text", "audio"], "audio": {"voice": "ann", "format": "opus"})");
  EXPECT_TRUE(heard.speaks && !heard.request.writing.text_only);
  EXPECT_EQ(heard.request.voice.name, "ann");
  EXPECT_EQ(heard.format, AudioFormat::kOpus);
  const std::string both = R"(, "modalities": ["text", "audio"])";
  EXPECT_EQ(call(both + R"(, "audio": {"voice": "alloy"})").request.voice.name, "")
      << "OpenAI's: the default";
  EXPECT_EQ(call(both).format, AudioFormat::kWav);
  EXPECT_EQ(call(both + R"(, "stream": true, "audio": {})").format, AudioFormat::kPcm);
  EXPECT_EQ(call(both + R"(, "audio": {"format": "pcm16"})").format, AudioFormat::kPcm);
  EXPECT_EQ(param(R"(, "modalities": ["video"])"), "modalities");
  EXPECT_EQ(param(R"(, "modalities": [])"), "modalities");
  EXPECT_EQ(param(R"(, "audio": {"voice": "ann"})"), "audio");
  EXPECT_EQ(param(both + R"(, "audio": {"format": "midi"})"), "audio.format");
}

TEST(ChatCallBody, HearsOnlyWhatUsersSayInAudio) {
  const auto param = [](const std::string& messages, double hears_s = 5) {
    const auto read = read_call(concat("{\"messages\": ", messages, "}"), ChatKind::kChat,
                                {.speaks = true, .hears_s = hears_s});
    return std::holds_alternative<ApiError>(read) ? std::get<ApiError>(read).param : "";
  };
  const auto part = [](const char* role, const std::string& what) {
    return concat(R"([{"role": ")", role, R"(", "content": [)", what, "]}]");
  };
  const std::string audio = R"({"type": "input_audio", "input_audio": {"data": "QQ=="}})";
  EXPECT_EQ(param(part("user", audio), 0), "messages[0].content[0].type");
  EXPECT_EQ(param(part("system", audio)), "messages[0].content[0].type");
  EXPECT_EQ(param(part("user", audio)), "messages[0].content[0].input_audio.data");
  EXPECT_EQ(param(part("user", R"({"type": "input_audio"})")),
            "messages[0].content[0].input_audio");
  EXPECT_EQ(param(part("user", R"({"type": "input_audio", "input_audio": {"data": "QQ==",)"
                               R"( "format": "midi"}})")),
            "messages[0].content[0].input_audio.format");
  for (const char* type : {"image_url", "video_url", "file", "input_image", "audio_url"}) {
    EXPECT_EQ(param(part("user", concat(R"({"type": ")", type, "\"}"))),
              "messages[0].content[0].type");
  }
  EXPECT_EQ(param(R"([{"role": "assistant", "audio": {"id": "audio_1"}}])"), "messages[0].audio");
  EXPECT_EQ(param(R"([{"role": "user", "content": "a"},)"
                  R"( {"role": "assistant", "audio": {"id": "audio_1"}, "content": "b"}])"),
            "");
}

TEST(ChatCallBody, HearsTheFirstChannelWhereTheModelDoes) {
  std::string data;
  for (int i = 0; i < 8000; ++i) le(data, 4000, 2), le(data, 0, 2);
  const std::string body = concat(
      R"({"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": ")",
      base64(wav(data, 1, 2)), R"("}}]}]})");
  const auto first_sample = [&](bool first_channel) {
    PipelineInfo info;
    info.hearing.seconds = 5, info.hearing.first_channel = first_channel;
    const auto read = read_call(body, ChatKind::kChat, ChatAbility::of(info));
    return std::get<ChatCall>(read).request.writing.recordings.at(0)->samples.at(0);
  };
  EXPECT_FLOAT_EQ(first_sample(true), 4000 / 32768.f);
  EXPECT_FLOAT_EQ(first_sample(false), 2000 / 32768.f);
}

TEST(ChatCallBody, AnswersAreNamedByTheirIds) {
  const auto ids = std::make_shared<const std::vector<int32_t>>(std::vector<int32_t>{5, 6});
  ChatAbility ability{.find_answer = find_among(
                          {{"audio_1", {{ids, 1.5}, "Well."}}, {"audio_2", {{}, "Only text."}}})};
  const auto read = [&](const char* audio, const char* content) {
    return read_call(concat(R"({"messages": [{"role": "assistant", "audio": {"id": ")", audio,
                            R"("}, "content": )", content, "}]}"),
                     ChatKind::kChat, ability);
  };
  const auto said = [&](const char* audio, const char* content = "null") {
    return std::get<ChatCall>(read(audio, content)).request.writing.chat->messages;
  };
  EXPECT_EQ(said("audio_1"), R"([{"role": "assistant", "content": "Well."}])");
  EXPECT_EQ(said("audio_2"), R"([{"role": "assistant", "content": "Only text."}])");
  EXPECT_EQ(said("audio_3", "\"Told.\""), R"([{"role": "assistant", "content": "Told."}])");
  EXPECT_EQ(std::get<ApiError>(read("audio_3", "null")).param, "messages[0].audio");
  ability.recalls = true;
  const auto call = std::get<ChatCall>(read("audio_1", "\"Told.\""));
  EXPECT_EQ(call.request.writing.chat->messages,
            R"([{"role": "assistant", "content": [{"type": "answer"}]}])");
  ASSERT_EQ(call.request.writing.answers.size(), 1u);
  EXPECT_EQ(call.request.writing.answers[0].ids, ids);
  EXPECT_EQ(call.request.writing.answers[0].heard_s, 1.5);
  EXPECT_EQ(said("audio_2"), R"([{"role": "assistant", "content": "Only text."}])");
  // Clients refer to answers by id. They cannot send the internal part that represents an answer.
  EXPECT_EQ(
      bad_call(R"({"messages": [{"role": "assistant", "content": [{"type": "answer"}]}]})").param,
      "messages[0].content[0].type");
}

TEST(ChatCallBody, RefusesMessagesByTheirPlace) {
  const auto param = [](const std::string& messages) {
    return bad_call(concat("{\"messages\": ", messages, "}")).param;
  };
  EXPECT_EQ(param("null"), "messages");
  EXPECT_EQ(param("[]"), "messages");
  EXPECT_EQ(param("{}"), "messages");
  EXPECT_EQ(param("[1]"), "messages[0]");
  EXPECT_EQ(param(R"([{"role": "user", "content": "a"}, {"role": "wizard", "content": "b"}])"),
            "messages[1].role");
  EXPECT_EQ(param(R"([{"role": "user"}])"), "messages[0].content");
  EXPECT_EQ(param(R"([{"role": "user", "content": 1}])"), "messages[0].content");
  const std::string image =
      R"([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}])";
  EXPECT_EQ(param(image), "messages[0].content[0].type");
  EXPECT_NE(bad_call("{\"messages\": " + image + "}").message.find("image_url"), std::string::npos);
  EXPECT_EQ(param(R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f",)"
                  R"( "arguments": "[1"}}]}])"),
            "messages[0].tool_calls[0].function.arguments");
  EXPECT_EQ(bad_call("{\"messages\": [").code, "invalid_json");
  EXPECT_EQ(bad_call("[]").code, "invalid_json");
  EXPECT_EQ(bad_call(std::string(200, '[')).code, "invalid_json");
}

TEST(ChatCallBody, HalvesOfCharactersAreReplaced) {
  EXPECT_EQ(good_call(R"({"prompt": "a\ud83d"})", ChatKind::kCompletion).request.say.text,
            "a\ufffd");
}

TEST(ChatCallBody, BoundsOfNumbersCanBeRead) {
  const auto message = [](const std::string& field) {
    return bad_call(R"({"messages": [{"role": "user", "content": "a"}], )" + field + "}").message;
  };
  EXPECT_EQ(message(R"("max_tokens": -1)"), "'max_tokens' must be at least 1.");
  EXPECT_EQ(message(R"("top_logprobs": 21, "logprobs": true)"),
            "'top_logprobs' must be between 0 and 20.");
}

TEST(ChatCallBody, ReadsCompletions) {
  const ChatCall call =
      good_call(R"({"prompt": "Once", "logprobs": 2, "echo": false})", ChatKind::kCompletion);
  EXPECT_EQ(call.request.say.text, "Once");
  EXPECT_EQ(call.request.writing.max_tokens, 16);
  EXPECT_EQ(call.request.writing.top_logprobs, 2);
  EXPECT_EQ(good_call(R"({"prompt": ["Once"]})", ChatKind::kCompletion).request.say.text, "Once");
  EXPECT_EQ(bad_call(R"({"prompt": ["a", "b"]})", ChatKind::kCompletion).param, "prompt");
  EXPECT_EQ(bad_call(R"({"prompt": [1, 2]})", ChatKind::kCompletion).param, "prompt");
  EXPECT_EQ(bad_call(R"({"prompt": [1]})", ChatKind::kCompletion).code, "invalid_type");
  EXPECT_EQ(bad_call(R"({})", ChatKind::kCompletion).param, "prompt");
  EXPECT_EQ(bad_call(R"({"prompt": "a", "echo": true})", ChatKind::kCompletion).param, "echo");
  EXPECT_EQ(bad_call(R"({"prompt": "a", "best_of": 3})", ChatKind::kCompletion).param, "best_of");
}

/// Mutations of valid bodies are either read, or refused with a status and a message.
TEST(ChatFuzz, Bodies) {
  const std::string silence = base64(recording_wav(std::vector<float>(800), 8000));
  Mutator mutator(
      {chat_with(R"(, "stream": true, "stream_options": {"include_usage": true}, "stop": ["a"])"),
       R"({"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f",)"
       R"( "arguments": "{\"a\": [1, 2]}"}}]}, {"role": "tool", "content": [{"type": "text",)"
       R"( "text": "x"}]}], "tools": [{"type": "function", "function": {"name": "f"}}]})",
       chat_with(
           R"(, "modalities": ["text", "audio"], "audio": {"format": "pcm16", "voice": "a"})"),
       R"({"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio":)"
       R"( {"format": "wav", "data": ")" +
           silence + "\"}}]}]}",
       chat_with(
           R"(, "modalities": ["audio"], "audio_shape": "vllm-omni", "tool_choice": "required")"
           R"(, "tools": [{"type": "function", "function": {"name": "f"}}])"),
       chat_with(R"(, "tool_choice": {"type": "function", "function": {"name": "f"}})"
                 R"(, "tools": [{"type": "function", "function": {"name": "f"}}])"),
       R"({"prompt": "a", "logprobs": 3, "temperature": 0.1, "n": 1, "seed": 3})"},
      json_tokens());
  const int inputs = fuzz_inputs(8000);
  int good = 0;
  for (int i = 0; i < inputs && !testing::Test::HasFailure(); ++i) {
    const std::string body = mutator.next();
    const auto call = read_call(
        body, i % 4 == 0 ? ChatKind::kCompletion : ChatKind::kChat,
        {.speaks = i % 3 == 0, .hears_s = i % 2 == 0 ? 30. : 0, .calls_tools = i % 5 < 3});
    if (const auto* fault = std::get_if<ApiError>(&call)) {
      EXPECT_EQ(fault->status, 400) << body;
      EXPECT_FALSE(fault->message.empty()) << body;
    } else {
      ++good;
    }
  }
  EXPECT_GT(good, inputs / 100);
}

/// The time grows linearly with the number of messages.
TEST(ChatCallBody, TakesManyMessages) {
  std::string body = R"({"messages": [{"role": "user", "content": ""})";
  for (int i = 1; i < 100'000; ++i) body += R"(,{"role":"user","content":""})";
  EXPECT_GT(good_call(body + "]}").request.writing.chat->messages.size(), 3'000'000u);
  EXPECT_EQ(bad_call(R"({"messages": [)" + std::string(3'000'000, '1') + "]}").status, 400);
}

// Tests of answers that must be JSON.

TEST(ChatCall, AnswersOfJsonBySchema) {
  const auto chat = [](const std::string& more) {
    return std::get<ChatBody>(ChatBody::parse(ChatKind::kChat, chat_with(more)))
        .call({.writes_json = true});
  };
  const auto schema = [&](const std::string& more) {
    return std::get<ChatCall>(chat(more)).request.writing.chat->schema;
  };
  EXPECT_EQ(schema(""), "");
  EXPECT_EQ(schema(R"(, "response_format": {"type": "text"})"), "");
  EXPECT_EQ(schema(R"(, "response_format": {"type": "json_object"})"), R"({"type": "object"})");
  EXPECT_EQ(schema(R"(, "response_format": {"type": "json_schema", "json_schema": )"
                   R"({"name": "n", "strict": true, "schema": {"b": 1, "a": 2}}})"),
            R"({"b": 1, "a": 2})");
  for (const auto& [more, param] :
       {std::pair{R"({"type": "json_schema"})", "response_format.json_schema"},
        {R"({"type": "json_schema", "json_schema": {}})", "response_format.json_schema.schema"},
        {R"({"type": "grammar"})", "response_format"},
        {R"({"type": "json_object"}, "tools": [{"function": {"name": "f"}}])",
         "response_format"}}) {
    EXPECT_EQ(std::get<ApiError>(chat(concat(R"(, "response_format": )", more))).param, param)
        << more;
  }
}

// Tests of tools that must be called.

TEST(ChatCall, ToolsThatMustBeCalled) {
  const auto chat = [](const std::string& choice, const char* tools) {
    const std::string body = R"({"messages": [{"role": "user", "content": "x"}], "tools": )" +
                             std::string(tools) + R"(, "tool_choice": )" + choice + "}";
    return std::get<ChatBody>(ChatBody::parse(ChatKind::kChat, body)).call({.calls_tools = true});
  };
  constexpr const char* kTwo =
      R"([{"type": "function", "function": {"name": "f"}}, {"function": {"name": "g"}}])";
  const auto must = [&](const std::string& choice) {
    const auto call = chat(choice, kTwo);
    return std::get<ChatCall>(call).request.writing.chat->must_call;
  };
  EXPECT_EQ(must(R"("required")"), (std::vector<std::string>{"f", "g"}));
  EXPECT_EQ(must(R"({"type": "function", "function": {"name": "g"}})"),
            std::vector<std::string>{"g"});
  EXPECT_TRUE(must(R"("auto")").empty());
  EXPECT_TRUE(must(R"("none")").empty());
  for (const auto& [choice, tools] :
       {std::pair{R"("required")", "[]"},
        {R"({"type": "function", "function": {"name": "h"}})", kTwo},
        {R"({"type": "function", "function": {"name": ""}})", kTwo}}) {
    const auto call = chat(choice, tools);
    EXPECT_EQ(std::get<ApiError>(call).param, "tool_choice") << choice;
  }
}

// Tests of tool calls that a model writes.

struct Parsed {
  std::string text;
  std::vector<ToolCall> calls;
};

Parsed parsed_calls(const std::string& text, size_t size) {
  ToolCallFinder finder({"f", "get"});
  Parsed out;
  const auto add = [&](const ToolCallFinder::Found& found) {
    out.text += found.text;
    out.calls.insert(out.calls.end(), found.calls.begin(), found.calls.end());
  };
  for (size_t at = 0; at < text.size(); at += size) add(finder.push(text.substr(at, size)));
  add(finder.finish());
  EXPECT_EQ(finder.calls(), static_cast<int>(out.calls.size()));
  return out;
}

TEST(ToolCalls, AreFoundHoweverTheTextIsCut) {
  for (const size_t size : {1, 2, 3, 7, 1000}) {
    const Parsed two = parsed_calls(
        "Let me see.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 1, \"a\": \"ü\"}}\n"
        "</tool_call>\n<tool_call>{\"name\": \"get\"}</tool_call>\n",
        size);
    EXPECT_EQ(two.text, "Let me see.") << size;
    ASSERT_EQ(two.calls.size(), 2u) << size;
    EXPECT_EQ(two.calls[0].name, "f");
    EXPECT_EQ(two.calls[0].arguments, "{\"b\": 1, \"a\": \"ü\"}");
    EXPECT_EQ(two.calls[1].arguments, "{}");

    const Parsed llama = parsed_calls("\n {\"name\": \"get\", \"parameters\": {\"x\": [1]}}", size);
    EXPECT_EQ(llama.text, "");
    ASSERT_EQ(llama.calls.size(), 1u);
    EXPECT_EQ(llama.calls[0].arguments, "{\"x\": [1]}");

    for (const char* none : {"null", "\"\"", "\" \"", "{}", "\"{}\""}) {
      const Parsed bare = parsed_calls(
          concat("<tool_call>{\"name\": \"f\", \"arguments\": ", none, "}</tool_call>"), size);
      ASSERT_EQ(bare.calls.size(), 1u) << none;
      EXPECT_EQ(bare.calls[0].arguments, "{}");
    }

    const Parsed lines = parsed_calls(
        "Wait.<tool_call>function\nf\n{\"b\": \"ü\\n\", \"a\": [1]}</tool_call>\n"
        "<tool_call>function\nget\n</tool_call>",
        size);
    EXPECT_EQ(lines.text, "Wait.") << size;
    ASSERT_EQ(lines.calls.size(), 2u) << size;
    EXPECT_EQ(lines.calls[0].name, "f");
    EXPECT_EQ(lines.calls[0].arguments, "{\"b\": \"ü\\n\", \"a\": [1]}");
    EXPECT_EQ(lines.calls[1].name, "get");
    EXPECT_EQ(lines.calls[1].arguments, "{}");

    for (const char* around : {"", "\n", "```\n", "```json\n"}) {
      const std::string fence = std::string(around).starts_with("`") ? "\n```" : "";
      const Parsed bare =
          parsed_calls(concat("Sure.\n", around, R"({"name": "f", "arguments": {"a": "}\""}})",
                              fence, "\nDone."),
                       size);
      EXPECT_EQ(bare.text, "Sure.\nDone.") << around;
      ASSERT_EQ(bare.calls.size(), 1u) << around;
      EXPECT_EQ(bare.calls[0].arguments, R"({"a": "}\""})");
    }
    const Parsed open = parsed_calls(
        "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n{\"name\": \"get\", "
        "\"arguments\": {}} and on",
        size);
    EXPECT_EQ(open.calls.size(), 2u) << "no closing tag";
    EXPECT_EQ(open.text, " and on");

    for (const char* text : {"Write {\"name\": \"f\", \"arguments\": {}} so.",
                             "```\n{\"a\": 1}\n``` and on",
                             "```json\n{\"name\": \"f\", \"arguments\": {}} or so\n```",
                             "```",
                             "no call < here <tool",
                             "<tool_call>function\nf\n{</tool_call>",
                             "<tool_call>function\nf\n[1]</tool_call>",
                             "<tool_call>function\n</tool_call>",
                             "<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>",
                             "<tool_call>{\"name\": \"f\", \"arguments\": 5}</tool_call>",
                             "<tool_call>{\"name\": \"f\", \"arguments\": \"now\"}</tool_call>",
                             "<tool_call></tool_call>",
                             "<tool_call>method\nf\n{}</tool_call>",
                             "{\"name\": \"other\", \"parameters\": {}}",
                             "{\"a\": 1}",
                             "{",
                             "<tool_call>not JSON</tool_call> and on",
                             "a \n b\n",
                             "<tool_call>{\"name\": \"f\"",
                             ""}) {
      const Parsed none = parsed_calls(text, size);
      EXPECT_EQ(none.text, text) << size;
      EXPECT_TRUE(none.calls.empty()) << text;
    }
  }
  // The end of the answer replaces a missing closing tag.
  EXPECT_EQ(parsed_calls("<tool_call>{\"name\": \"f\", \"arguments\": {}}", 4).calls.size(), 1u);
  EXPECT_EQ(parsed_calls("<tool_call>function\nf\n{}", 4).calls.size(), 1u);
  EXPECT_TRUE(parsed_calls("<tool_call>function\nf", 4).calls.empty()) << "a name that was cut";
}

/// For any text, the calls do not depend on how the text is cut, and text outside of calls is kept.
TEST(ToolCallFuzz, HoweverTheTextIsCut) {
  Mutator mutator(
      {"Let me see.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 1}}\n</tool_call>\n"
       "<tool_call>{\"name\": \"get\"}</tool_call>\n",
       "\n {\"name\": \"get\", \"parameters\": {\"x\": [1]}}", "no call < here <tool",
       "<tool_call>not JSON</tool_call> and on", "a \n b\n",
       "So.<tool_call>function\nf\n{\"b\": [1]}</tool_call><tool_call>function\nget</tool_call>",
       "Here:\n```json\n{\"name\": \"f\", \"arguments\": {\"a\": \"}\"}}\n```\nSo.",
       "<tool_call>{\"name\": \"f\", \"arguments\": {}} and on\n{\"arguments\": {}, \"name\": "
       "\"get\"}"},
      {"function\n", "```", "```json\n", "<tool_call>", "</tool_call>", "{", "}",
       "\"name\":", "\"f\"", "\"arguments\":", " ", "\n", "<", "\xff", "[", "]"});
  const int inputs = fuzz_inputs(8000);
  int called = 0;
  for (int i = 0; i < inputs && !testing::Test::HasFailure(); ++i) {
    const std::string text = mutator.next();
    const Parsed whole = parsed_calls(text, text.size() + 1);
    ToolCallFinder finder({"f", "get"});
    Parsed cut;
    const auto add = [&](const ToolCallFinder::Found& found) {
      cut.text += found.text;
      cut.calls.insert(cut.calls.end(), found.calls.begin(), found.calls.end());
    };
    for (const std::string& piece : mutator.cut(text)) add(finder.push(piece));
    add(finder.finish());
    EXPECT_EQ(cut.text, whole.text) << text;
    EXPECT_EQ(cut.calls.size(), whole.calls.size()) << text;
    if (whole.calls.empty()) {
      EXPECT_EQ(whole.text, text);
    }
    called += whole.calls.empty() ? 0 : 1;
    if (!whole.calls.empty() && i % 16 == 0) mutator.keep(text);
  }
  EXPECT_GT(called, inputs / 20);
}

TEST(ToolCalls, PlainTextDoesNotWait) {
  ToolCallFinder finder({"f"});
  EXPECT_EQ(finder.push("Hello").text, "Hello");
  EXPECT_EQ(finder.push(" there <").text, " there");
  EXPECT_EQ(finder.push("b>").text, " <b>");
  EXPECT_EQ(finder.push("\n{\"a\"").text, "\n{\"a\"") << "no call begins like that";
  ToolCallFinder none({});
  EXPECT_EQ(none.push("{<tool_call>").text, "{<tool_call>");
}

}  // namespace
}  // namespace syrinx
