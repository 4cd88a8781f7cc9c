// Tests wren, the built-in text model, as shipped: its checkpoint loads, its chat template reads
// user input, and its answers to plain questions are exact. golden/wren.tsv has the questions of
// training/wren/asked.tsv that it answers by the largest margins. (training/wren/evaluate.py prints
// the shares of right answers to questions that are not in the training data.) Each line is a
// conversation: questions and answers alternate.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/testing/scripted_machine.h"
#include "io/file.h"
#include "runtime/runtime.h"

namespace syrinx {
namespace {

using Json = nlohmann::json;

constexpr const char* kNow = "Now: Monday 23 November 2026 14:05";
constexpr const char* kTimers =
    R"([{"type": "function", "function": {"name": "set_timer", "parameters": {}}},
        {"type": "function", "function": {"name": "cancel_timer", "parameters": {}}}])";

std::shared_ptr<const Pipeline> wren() {
  LoadOptions options;
  options.model = "wren";
  options.device = "cpu";
  options.voices_dir = SYRINX_SOURCE_DIR "/voices";
  return load_pipeline(options);
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) parts.push_back(part);
  return parts;
}

Json clock_messages() { return Json::array({{{"role", "system"}, {"content", kNow}}}); }

class WrenTest : public testing::Test {
 protected:
  WrenTest() { machine_.add(model_); }

  SpeechRequest request(const Json& messages, const char* tools = "") const {
    SpeechRequest request;
    request.writing.chat = std::make_shared<Chat>(Chat{messages.dump(), tools});
    request.writing.max_tokens = 96;
    return request;
  }
  /// Returns the answer. The model itself must end it.
  std::string answer(const Json& messages, const char* tools = "") {
    const auto client = machine_.submit(request(messages, tools));
    if (!client) return "refused: " + machine_.refusal.message;
    machine_.run_to_end();
    EXPECT_TRUE(client->done);
    EXPECT_EQ(client->outcome.reason, FinishReason::kStop) << client->written;
    return client->written;
  }
  std::vector<int32_t> prompt(const Json& messages) const {
    auto opened = model_->open(request(messages));
    EXPECT_TRUE(opened.ok());
    const auto ids = opened.value().sequence().prompt_ids();
    return {ids.begin(), ids.end()};
  }

  const std::shared_ptr<const Pipeline> model_ = wren();
  ScriptedMachine machine_{{.options = {}, .batch_s = [](const Batch&) { return 0.001; }}};
};

TEST_F(WrenTest, IsASmallTextModel) {
  const PipelineInfo& info = model_->info();
  EXPECT_EQ(info.family, "llm");
  EXPECT_EQ(info.model, "wren");
  EXPECT_TRUE(info.writes);
  EXPECT_FALSE(info.speaks);
  size_t bytes = 0;
  for (const char* file : {"model.safetensors", "tokenizer.json", "chat_template.jinja"}) {
    bytes += read_file(join_path(SYRINX_SOURCE_DIR "/voices/wren", file), 2 << 20).size();
  }
  EXPECT_LT(bytes, size_t{1800} << 10);
}

TEST_F(WrenTest, AnswersWhatItHasLearned) {
  const std::string lines = read_file(SYRINX_SOURCE_DIR "/src/runtime/golden/wren.tsv", 1 << 16);
  int asked = 0;
  for (const std::string& line : split(lines, '\n')) {
    const std::vector<std::string> turns = split(line, '\t');
    Json messages = clock_messages();
    for (size_t i = 0; i + 1 < turns.size(); i += 2) {
      const bool timer = turns[i + 1].starts_with("<tool_call>");
      messages.push_back({{"role", "user"}, {"content", turns[i]}});
      const std::string said = answer(messages, timer ? kTimers : "");
      EXPECT_EQ(said, turns[i + 1]) << turns[i];
      messages.push_back({{"role", "assistant"}, {"content", said}});
      ++asked;
    }
  }
  EXPECT_GE(asked, 12);
}

TEST_F(WrenTest, ReadsWhatIsTypedAsWhatIsHeard) {
  const auto asks = [&](const Json& content) {
    Json messages = clock_messages();
    messages.push_back({{"role", "user"}, {"content", content}});
    return prompt(messages);
  };
  const auto heard = asks("what is the time");
  EXPECT_EQ(asks("What is the time?"), heard);
  EXPECT_EQ(asks("  What is,\n the TIME?! "), heard);
  EXPECT_EQ(asks(Json::array({{{"type", "text"}, {"text", "What is the time?"}}})), heard);
  EXPECT_NE(asks("what is the tide"), heard);
  EXPECT_EQ(asks("What is 3.5 + 1?"), asks("what is 3.5 + 1"));
  EXPECT_NE(asks("What is 3.5 + 1?"), asks("what is 35 + 1"));
  // A user's text "<|User|>" becomes several tokens, not one special token.
  EXPECT_GT(asks("<|User|>").size(), asks("a").size() + 3);
  // A text that is too long must be refused.
  EXPECT_EQ(asks(std::string(161, 'x')), asks(std::string(1000, 'y')));
  EXPECT_NE(asks(std::string(160, 'x')), asks(std::string(160, 'y')));
}

TEST_F(WrenTest, TakesTheTimeFromTheCallerAndForgetsOldTurns) {
  Json messages = clock_messages();
  const auto hello = [&] {
    messages.push_back({{"role", "user"}, {"content", "hello"}});
    messages.push_back({{"role", "assistant"}, {"content", "Hello!"}});
  };
  const size_t alone = [&] {
    Json other = messages;
    // the instruction has no effect; the prompt is about as long as the original
    other[0]["content"] = "Be rude.";
    other.push_back({{"role", "user"}, {"content", "hello"}});
    return prompt(other).size();
  }();
  std::vector<size_t> sizes;
  for (int turn = 0; turn < 6; ++turn) {
    hello();
    Json asked = messages;
    asked.erase(asked.size() - 1);
    sizes.push_back(prompt(asked).size());
  }
  EXPECT_NEAR(static_cast<double>(sizes[0]), static_cast<double>(alone), 6);
  EXPECT_LT(sizes[0], sizes[1]);
  EXPECT_EQ(sizes[4], sizes[5]);
}

}  // namespace
}  // namespace syrinx
