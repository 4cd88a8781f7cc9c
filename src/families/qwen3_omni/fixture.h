// For tests: the requests of the goldens.
#pragma once

#include "families/golden_requests.h"

namespace syrinx::qwen3_omni {

/// Returns the request of a golden case.
inline SpeechRequest request_of(const nlohmann::ordered_json& c) {
  SpeechRequest request = golden_chat(c, c["recordings"].size() == 1 ? 7 : 8);
  request.voice.name = c["speaker"];
  request.writing.max_tokens = 9;
  request.terms.max_frames = 11;  // transformers makes no frame from the last of its 12 steps
  return request;
}

}  // namespace syrinx::qwen3_omni
