// For tests: a golden checkpoint and its cases.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "families/voice_of_frames.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/request.h"
#include "model/step_runner.h"

namespace syrinx::moss_tts {

inline std::string golden_dir(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/moss_tts/golden/" + name;
}

/// Sets voice and context of a case in cases.json.
inline void ask(const nlohmann::json& json, const Safetensors& golden, SpeechRequest& request) {
  request.terms.max_frames = 1000;
  if (golden.find("voice")) {
    const View codes = golden.view("voice");
    request.voice.data = voice_of_frames("moss_tts", ints(codes), codes.shape[1]);
  }
  for (const auto& turn : json["context"]) {
    const std::string codes = "context_" + std::to_string(request.say.context.size());
    request.say.context.push_back({turn["voice"], turn["text"], {}});
    if (golden.find(codes)) request.say.context.back().codes = ints(golden.view(codes));
  }
}

/// Changes the i-th of many parallel requests.
template <int kCodebooks>
void vary(int i, SpeechRequest& other) {
  const std::vector<int32_t> codes(static_cast<size_t>(kCodebooks * (i + 1)), i);
  if (i % 3 == 1) other.say.context = {{"user", "fine", codes}};
  if (i % 3 == 2) {
    other.sampling.temperature = 0.3f, other.sampling.top_k = 5;
    other.voice.data = voice_of_frames("moss_tts", codes, kCodebooks);
  }
}

struct Case {
  std::string name;
  SpeechRequest request;
  Safetensors golden;
};

inline std::vector<Case> load_cases(const std::string& checkpoint) {
  std::vector<Case> cases;
  const std::string dir = golden_dir(checkpoint);
  for (const auto& json : nlohmann::json::parse(read_file(dir + "/cases.json", 1 << 20))) {
    const std::string name = json["name"];
    Case c{name, {}, Safetensors(dir + "/" + name + ".safetensors")};
    c.request.say.text = json["text"];
    c.request.sampling.temperature = 0.f;
    ask(json, c.golden, c.request);
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace syrinx::moss_tts
