// For tests: the golden checkpoints and their cases.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "audio/wav_file.h"
#include "families/pocket_tts/pipeline.h"
#include "families/pocket_tts/state.h"
#include "families/voice_of_frames.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx::pocket_tts {

inline std::string golden_path(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/pocket_tts/golden/" + name;
}

inline nlohmann::json cases_of(const std::string& checkpoint) {
  return nlohmann::json::parse(read_file(golden_path(checkpoint + "/cases.json"), 1 << 20));
}

/// Returns the recording of the golden voice.
inline Recording speech() {
  const std::vector<float> all = read_wav(SYRINX_BINARY_DIR "/parity/mimi/speech.wav").samples;
  return {{all.begin() + 8000, all.begin() + 8000 + 21000}, 24000};
}

inline SpeechRequest request_of(const nlohmann::json& json) {
  SpeechRequest request;
  request.say.text = json["text"];
  request.sampling.seed = json["seed"];
  request.voice.name = json.value("voice", "default");
  if (json.contains("temperature")) request.sampling.temperature = json["temperature"].get<float>();
  return request;
}

}  // namespace syrinx::pocket_tts
