// For tests: requests of the golden suite.
#pragma once

#include <nlohmann/json.hpp>

#include "io/safetensors.h"
#include "model/request.h"

namespace syrinx::voxtral_tts {

/// Sets the options of a case in cases.json.
inline void ask(const nlohmann::json& json, const Safetensors&, SpeechRequest& request) {
  request.sampling.seed = json["seed"];
  if (json.contains("guidance")) request.sampling.guidance = json["guidance"].get<float>();
  request.terms.max_frames = json["ended"] ? 0 : json["steps"].get<int>();
}

/// Changes the i-th of many parallel requests.
inline void vary(int i, SpeechRequest& other) {
  if (i % 3 == 1) other.sampling.guidance = 0.5f * static_cast<float>(i);
  if (i % 3 == 2) other.sampling.temperature = 0.7f, other.sampling.seed = 100 + i;
  other.terms.initial_chunk_frames = 1 + i % 4;
}

}  // namespace syrinx::voxtral_tts
