#include "text/tokens/chat_template.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "io/file.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

using nlohmann::ordered_json;

jinja::Value value_of(const ordered_json& json) {
  auto value = jinja::parse_json(json.dump());
  EXPECT_TRUE(value.ok()) << value.error().message;
  return value.take();
}

/// Compares the output for every template and conversation of a file with transformers' output.
void compare_with(const std::string& path) {
  const auto golden = ordered_json::parse(read_file(path, 64 << 20));
  int compared = 0, refused = 0;
  for (const auto& entry : golden["templates"]) {
    const auto name = entry["name"].get<std::string>();
    std::optional<jinja::Template> read;
    std::string fault;
    try {
      read.emplace(entry["template"].get<std::string>(), name);
    } catch (const LoadError& error) {
      fault = error.what();
    }
    for (const auto& one : entry["cases"]) {
      const bool renders = one.contains("text");
      if (!read) {
        if (renders) ADD_FAILURE() << fault;
        if (renders) break;
        continue;
      }
      jinja::Template::Variables variables{
          {"messages", value_of(golden["chats"][one["chat"].get<std::string>()])},
          {"tools", one["tools"] == true ? value_of(golden["tools"]) : jinja::None{}},
          {"documents", jinja::None{}},
          {"add_generation_prompt", true}};
      for (const auto& [key, token] : golden["tokens"].items())
        variables.emplace_back(key, token.get<std::string>());
      for (const auto& [key, more] : one["more"].items())
        variables.emplace_back(key, value_of(more));
      const auto got = read->render(variables, golden["now"].get<std::time_t>());
      const std::string where = name + ", " + one["chat"].get<std::string>() + " " +
                                one["more"].dump() + (one["tools"] == true ? " with tools" : "");
      if (!renders) {
        ++refused;
        EXPECT_FALSE(got.ok()) << where << ": transformers says "
                               << one["refused"].get<std::string>() << ", here it is\n"
                               << (got.ok() ? got.value() : "");
        continue;
      }
      ++compared;
      EXPECT_EQ(got.ok() ? got.value() : got.error().message, one["text"].get<std::string>())
          << where;
    }
  }
  EXPECT_GT(compared, 20);
  std::printf("%d texts and %d refusals are as transformers makes them\n", compared, refused);
}

TEST(ChatTemplate, RendersAsTransformers) {
  compare_with(SYRINX_BINARY_DIR "/parity/chat_template/golden.json");
  // Tests published templates, which are outside this repository (tests/parity/chat_template).
  if (const char* others = std::getenv("SYRINX_CHAT_GOLDENS")) compare_with(others);
}

class ChatTemplateFiles : public testing::Test {
 protected:
  std::string prompt(bool tools = false, ChatTemplate::Of of = ChatTemplate::Of::kTokenizer) const {
    const auto loaded = ChatTemplate::load(dir.path(), of);
    if (!loaded) return "none";
    const auto text = loaded->render(value_of(ordered_json::parse(R"([{"role":"user"}])")),
                                     tools ? value_of({1}) : jinja::Value(), 0);
    return text.ok() ? text.value() : text.error().param + ": " + text.error().message;
  }
  std::string fault() const {
    try {
      ChatTemplate::load(dir.path());
      return "";
    } catch (const LoadError& error) {
      return error.what();
    }
  }
  TestDir dir;
};

TEST_F(ChatTemplateFiles, AreReadInTransformersOrder) {
  EXPECT_EQ(prompt(), "none");
  dir.write("tokenizer_config.json", R"({"bos_token": "<b>"})");
  EXPECT_EQ(prompt(), "none");
  dir.write("chat_template.json", R"({"chat_template": "legacy"})");
  EXPECT_EQ(prompt(), "legacy");
  dir.write("tokenizer_config.json",
            R"({"bos_token": {"content": "<b>"}, "eos_token": "<e>", "pad_token": null,)"
            R"( "chat_template": "{{bos_token}}{{eos_token}}{{pad_token}}{{messages[0].role}}"})");
  EXPECT_EQ(prompt(), "<b><e>user");
  dir.write("chat_template.jinja", "file {{ bos_token }}\n");
  EXPECT_EQ(prompt(), "file <b>");
  const auto of_processor = [&] { return prompt(false, ChatTemplate::Of::kProcessor); };
  EXPECT_EQ(of_processor(), "legacy");
  std::filesystem::remove(dir.path("chat_template.json"));
  EXPECT_EQ(of_processor(), "file <b>");
  std::filesystem::remove(dir.path("chat_template.jinja"));
  EXPECT_EQ(of_processor(), "<b><e>user");
}

TEST_F(ChatTemplateFiles, MayHaveNames) {
  dir.write("tokenizer_config.json",
            R"({"chat_template": [{"name": "default", "template": "d{{ tools }}"},)"
            R"( {"name": "tool_use", "template": "t{{ tools }}"}]})");
  EXPECT_EQ(prompt(), "dNone");
  EXPECT_EQ(prompt(true), "t[1]");
  dir.write("tokenizer_config.json",
            R"({"chat_template": [{"name": "tool_use", "template": "t"}]})");
  EXPECT_NE(fault().find("default"), std::string::npos) << fault();
}

TEST_F(ChatTemplateFiles, FaultsNameFileLineAndParam) {
  dir.write("tokenizer_config.json", R"({"chat_template": "\n{% include 'x' %}"})");
  EXPECT_NE(fault().find("tokenizer_config.json: chat_template: line 2: {% include %}"),
            std::string::npos)
      << fault();
  dir.write("chat_template.jinja", "{{ raise_exception('not so') }}");
  EXPECT_EQ(prompt(), "messages: the chat template, line 1: not so");
}

}  // namespace
}  // namespace syrinx
