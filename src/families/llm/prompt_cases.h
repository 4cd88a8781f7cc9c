// For tests: prompts of whole conversations compared with the ids of the authors' code
// (tests/parity, prompts.json).
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "io/file.h"
#include "model/pipeline.h"

namespace syrinx::llm {

/// Checks that the messages, tools and earlier answers of every case in the file yield the case's
/// ids. `request` has all other inputs.
inline void expect_prompts(const Pipeline& model, const std::string& file, SpeechRequest request) {
  const auto cases = nlohmann::ordered_json::parse(read_file(file, 1 << 20));
  ASSERT_FALSE(cases.empty());
  for (const auto& [name, c] : cases.items()) {
    SCOPED_TRACE(name);
    request.writing.chat = std::make_shared<Chat>(Chat{c["messages"].dump(), c.value("tools", "")});
    request.writing.text_only = !c.value("speaks", true);
    request.writing.answers.clear();
    for (const auto& each : c.value("answers", nlohmann::ordered_json::array())) {
      EarlierAnswer answer{std::make_shared<const std::vector<int32_t>>(each["ids"])};
      if (each.contains("heard_s")) answer.heard_s = each["heard_s"].get<double>();
      request.writing.answers.push_back(std::move(answer));
    }
    const auto opened = model.open(request);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    const auto ids = opened.value().sequence().prompt_ids();
    EXPECT_EQ(std::vector(ids.begin(), ids.end()), c["ids"].get<std::vector<int32_t>>());
  }
}

}  // namespace syrinx::llm
