// For tests: a golden checkpoint and its cases.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "families/qwen3_tts/pipeline.h"
#include "families/qwen3_tts/state.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx::qwen3_tts {

inline std::string golden_dir(const std::string& name) {
  return std::string(SYRINX_SOURCE_DIR) + "/tests/parity/qwen3_tts/golden/" + name;
}

/// A request of cases.json.
struct Case {
  std::string name;
  SpeechRequest request;
  int steps = 0;
  bool ended = false;
};

inline std::vector<Case> load_cases(const std::string& dir) {
  std::vector<Case> cases;
  for (const auto& json : nlohmann::json::parse(read_file(dir + "/cases.json", 1 << 20))) {
    Case c;
    c.name = json["name"];
    c.steps = json["steps"];
    c.ended = json["ended"];
    c.request.text = json["text"];
    const std::string speaker = json["speaker"];
    c.request.voice = speaker.empty() ? "none" : speaker;
    c.request.language = json["language"];
    c.request.instructions = json.value("instruct", "");
    c.request.text_in_prompt = json["text_mode"] == "whole";
    c.request.repetition_penalty = json.value("repetition_penalty", 1.f);
    c.request.temperature = 0.f;
    c.request.max_frames = 1000;
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace syrinx::qwen3_tts
