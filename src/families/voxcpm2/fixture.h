// For tests: the golden checkpoint and its cases.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "audio/wav_file.h"
#include "families/voice_of_frames.h"
#include "families/voxcpm2/pipeline.h"
#include "families/voxcpm2/state.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx::voxcpm2 {

inline std::string parity_file(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/" + name;
}
inline std::string golden_path(const std::string& name) {
  return parity_file("voxcpm2/golden/" + name);
}

/// Returns `count` samples of ../mimi/speech.wav at 16 kHz, beginning at the offset in
/// make_golden.py.
inline Recording speech(size_t count) {
  const std::vector<float> all = read_wav(parity_file("mimi/speech.wav")).samples;
  return {{all.begin() + 8000, all.begin() + 8000 + static_cast<int64_t>(count)}, 16000};
}

/// A request of cases.json, and the results of the authors' code for it.
struct Case {
  std::string name;
  SpeechRequest request;
  size_t reference = 0, prompt = 0;  ///< numbers of samples of the recordings; 0: none
  int steps = 0;
  bool ended = false;
  std::shared_ptr<Safetensors> golden;
};

inline std::vector<Case> load_cases() {
  std::vector<Case> cases;
  for (const auto& json : nlohmann::json::parse(read_file(golden_path("cases.json"), 1 << 20))) {
    Case c;
    c.name = json["name"];
    c.golden = std::make_shared<Safetensors>(golden_path(c.name + ".safetensors"));
    c.steps = json["steps"];
    c.ended = json["ended"];
    c.request.say.text = json["text"];
    c.request.sampling.seed = json["seed"];
    if (json.contains("cfg")) c.request.sampling.guidance = json["cfg"].get<float>();
    c.reference = json.value("reference", 0);
    c.prompt = json.value("prompt", 0);
    if (json.contains("lengths")) {
      c.request.terms.ignore_stop = true;
      c.request.terms.max_frames = json["lengths"]["max_len"];
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

/// Returns the request of a case, with the voice that `encoder` makes from its recordings.
inline SpeechRequest request_of(const Case& c, const VoiceEncoder& encoder) {
  SpeechRequest request = c.request;
  if (c.reference + c.prompt == 0) return request;
  Recording recording = speech(std::max(c.reference, c.prompt));
  recording.mode = c.prompt == 0      ? "reference"
                   : c.reference == 0 ? "continuation"
                                      : "reference+continuation";
  for (const auto& json : nlohmann::json::parse(read_file(golden_path("cases.json"), 1 << 20)))
    if (json["name"] == c.name) recording.text = json.value("prompt_text", "");
  request.voice.data = encode(encoder, recording);
  return request;
}

}  // namespace syrinx::voxcpm2
