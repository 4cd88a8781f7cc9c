// For tests: the golden checkpoints and their cases.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "families/kyutai_tts/pipeline.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx::kyutai_tts {

inline std::string golden_path(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/kyutai_tts/golden/" + name;
}

inline nlohmann::json cases_of(const std::string& checkpoint) {
  return nlohmann::json::parse(
      read_file(golden_path(checkpoint + "/cases.json"), 1 << 20))["cases"];
}

inline SpeechRequest request_of(const nlohmann::json& json) {
  SpeechRequest request;
  request.say.text = json["text"];
  request.voice.name = json["voice"];
  request.sampling.temperature = 0.f;
  request.sampling.guidance = json["guidance"].get<float>();
  return request;
}

}  // namespace syrinx::kyutai_tts
