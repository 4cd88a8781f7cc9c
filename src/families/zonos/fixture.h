// For tests: the golden files, letters that replace phonemes, and requests of the golden suite.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "io/safetensors.h"
#include "model/request.h"

namespace syrinx::zonos {

inline std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/zonos/golden/" + name;
}

/// Replaces the phonemizer: returns the letters of the text as symbols.
inline Result<std::string> letters(std::string_view text, std::string_view) {
  return std::string(text);
}

/// Sets the options of a case in cases.json.
inline void ask(const nlohmann::json& json, const Safetensors&, SpeechRequest& request) {
  request.say.language = json["language"];
  request.voice.name = json["speaker"].is_null() ? "" : json["speaker"].get<std::string>();
  request.sampling.guidance = json["guidance"].get<float>();
  request.terms.max_frames = json["ended"] ? 1000 : json["frames"].get<int>();
  for (const auto& [name, value] : json["conditions"].items()) {
    std::string list = value.dump();
    std::erase_if(list, [](char ch) { return ch == '[' || ch == ']'; });
    request.say.instructions += concat(name, "=", list, " ");
  }
}

/// Changes the i-th of many parallel requests.
inline void vary(int i, SpeechRequest& other) {
  other.voice.name = i % 2 ? "none" : "bob";
  other.sampling.guidance = 0.5f * static_cast<float>(i);  // a scale of 1 means no companion
  other.terms.max_frames = 8 * i;
  other.say.instructions = concat("pitch_std=", 10 * i);
}

}  // namespace syrinx::zonos
