// For tests: the requests of the goldens.
#pragma once

#include "families/golden_requests.h"
#include "model/pipeline.h"

namespace syrinx::qwen3_asr {

/// Returns the request of a golden case.
inline SpeechRequest request_of(const Pipeline& model, const nlohmann::ordered_json& c) {
  SpeechRequest request = model
                              .dictation({.recording = golden_recording(c["samples"], c["seed"]),
                                          .language = c["language"],
                                          .prompt = c["context"]})
                              .take();
  request.writing.max_tokens = c["steps"];
  return request;
}

}  // namespace syrinx::qwen3_asr
