// For tests: a golden checkpoint and its cases.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "families/csm/pipeline.h"
#include "families/csm/script.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx::csm {

inline std::string golden_dir(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/csm/golden/" + name;
}

/// A request of cases.json, and what the authors' code made of it.
struct Case {
  std::string name;
  SpeechRequest request;
  int steps = 0;  ///< with the end frame, if there is one
  bool ended = false;
  std::shared_ptr<Safetensors> golden;
};

inline std::vector<Case> load_cases(const std::string& dir) {
  std::vector<Case> cases;
  for (const auto& json : nlohmann::json::parse(read_file(dir + "/cases.json", 1 << 20))) {
    Case c;
    c.name = json["name"];
    c.steps = json["steps"];
    c.ended = json["ended"];
    c.golden = std::make_shared<Safetensors>(dir + "/" + c.name + ".safetensors");
    c.request.text = json["text"];
    c.request.voice = json["voice"];
    for (const auto& turn : json["context"]) {
      const std::string codes = "context_" + std::to_string(c.request.context.size());
      c.request.context.push_back({turn["voice"], turn["text"], ints(c.golden->view(codes))});
    }
    c.request.temperature = 0.f;
    c.request.max_frames = 1000;
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace syrinx::csm
