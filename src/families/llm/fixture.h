// For tests of text models: the small checkpoints of tests/parity/llm and their cases.
#pragma once

#include <string>
#include <vector>

#include "families/golden_requests.h"
#include "families/llm/pipeline.h"
#include "io/file.h"
#include "io/safetensors.h"

namespace syrinx::llm {

/// Returns the folder of a small checkpoint by its type: "llama", "qwen2", "qwen3", "quantized".
inline std::string golden_dir(const std::string& type) {
  return SYRINX_BINARY_DIR "/parity/llm/" + type;
}

/// Returns the arguments that load a checkpoint in f32.
inline LoadSpec spec(const std::string& type) {
  return {golden_dir(type), "tiny", WeightType::kF32};
}

/// A request in cases.json, and the results of transformers for it.
struct Case {
  std::string name, text;
  SpeechRequest request;
  int steps = 0;
  bool ended = false;

  /// Returns the ids and logits of transformers.
  Safetensors golden(const std::string& type) const {
    return Safetensors(golden_dir(type) + "/golden/" + name + ".safetensors");
  }
};

/// Returns a case of cases.json.
inline Case case_of(const nlohmann::ordered_json& json) {
  Case c{json["name"], json["text"], {}, json["steps"], json["ended"]};
  if (json.contains("messages")) {
    c.request.writing.chat = std::make_shared<Chat>(Chat{
        json["messages"].dump(), json.contains("tools") ? json["tools"].dump() : std::string()});
  } else {
    c.request.say.text = json["prompt"];
  }
  c.request.sampling.temperature = 0.f;
  c.request.sampling.top_k = 0;
  c.request.sampling.top_p = 1.f;
  c.request.sampling.repetition_penalty = json["penalty"].get<float>();
  c.request.writing.max_tokens = 96;
  return c;
}

/// Returns all cases of a checkpoint.
inline std::vector<Case> load_cases(const std::string& type) {
  std::vector<Case> out;
  const std::string text = read_file(golden_dir(type) + "/golden/cases.json", 1 << 20);
  for (const auto& json : nlohmann::ordered_json::parse(text)) out.push_back(case_of(json));
  return out;
}

}  // namespace syrinx::llm
