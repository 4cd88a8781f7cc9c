// For tests: the golden checkpoint and its cases.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "families/fish_speech/pipeline.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx::fish_speech {

inline std::string golden_path(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/fish_speech/golden/" + name;
}

/// A request of cases.json, and what the authors' code made of it.
struct Case {
  struct Segment {
    int steps = 0;  ///< with the one that ended it
    bool ended = false;
  };
  std::string name;
  SpeechRequest request;
  std::vector<Segment> segments;
  std::shared_ptr<Safetensors> golden;

  View view(const std::string& what, size_t segment) const {
    return golden->view(what + "_" + std::to_string(segment));
  }
};

inline std::vector<Case> load_cases() {
  std::vector<Case> cases;
  for (const auto& json : nlohmann::json::parse(read_file(golden_path("cases.json"), 1 << 20))) {
    Case c;
    c.name = json["name"];
    c.golden = std::make_shared<Safetensors>(golden_path(c.name + ".safetensors"));
    for (const auto& segment : json["segments"])
      c.segments.push_back({segment["steps"], segment["ended"]});
    c.request.text = json["text"];
    for (const auto& turn : json["references"]) {
      const std::string codes = "reference_" + std::to_string(c.request.context.size());
      c.request.context.push_back({"", turn["text"], ints(c.golden->view(codes))});
    }
    c.request.temperature = 0.f;
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace syrinx::fish_speech
