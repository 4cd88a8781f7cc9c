// For tests: the golden checkpoint and its cases.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "families/higgs/pipeline.h"
#include "families/higgs/script.h"
#include "families/higgs/voice.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx::higgs {

inline std::string golden_path(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/higgs/golden/" + name;
}

/// A voice of given frames [T, C].
inline std::shared_ptr<Voice> voice_of(std::span<const int32_t> codes, int64_t codebooks,
                                       const std::string& text = "") {
  auto voice = std::make_shared<Voice>(Voice{
      .family = kFamily, .encoder = "given", .mode = "in-context", .text = text, .seconds = 1});
  Tensor tensor({static_cast<int64_t>(codes.size()) / codebooks, codebooks}, DType::kI32);
  std::copy(codes.begin(), codes.end(), tensor.i32());
  voice->tensors.emplace("codes", std::move(tensor));
  return voice;
}

/// A request of cases.json, and what the serving code of the authors made of it.
struct Case {
  std::string name;
  SpeechRequest request;
  int steps = 0, kept_samples = 0;
  bool ended = false;
  std::shared_ptr<Safetensors> golden;
};

inline std::vector<Case> load_cases() {
  std::vector<Case> cases;
  for (const auto& json : nlohmann::json::parse(read_file(golden_path("cases.json"), 1 << 20))) {
    Case c;
    c.name = json["name"];
    c.steps = json["steps"];
    c.ended = json["ended"];
    c.kept_samples = json.value("keep_samples", 0);
    c.golden = std::make_shared<Safetensors>(golden_path(c.name + ".safetensors"));
    c.request.text = json["text"];
    c.request.temperature = 0.f;
    c.request.ignore_stop = json.value("ignore_stop", false);
    if (json.contains("reference")) {
      const View codes = c.golden->view("reference");
      c.request.voice_data =
          voice_of(ints(codes), codes.shape[1], json.value("reference_text", ""));
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace syrinx::higgs
