// For tests: the requests of goldens in chats and recordings (cases.json), as all families that
// answer chats have them.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "codec/qwen3_audio_fixture.h"
#include "io/file.h"
#include "model/request.h"

namespace syrinx {

/// Returns a recording of the goldens; see fixture::golden_signal().
inline std::shared_ptr<const Recording> golden_recording(int64_t samples, uint32_t seed,
                                                         int rate = 16000) {
  return std::make_shared<Recording>(Recording{fixture::golden_signal(samples, seed), rate});
}

/// Returns case_of(json) of each case in the list of a cases.json.
template <typename CaseOf>
auto cases_in(const std::string& path, const CaseOf& case_of) {
  const auto all = nlohmann::ordered_json::parse(read_file(path, 1 << 20));
  std::vector<decltype(case_of(all))> cases;
  for (const auto& json : all) cases.push_back(case_of(json));
  return cases;
}

/// Returns a greedy request that answers `messages`.
inline SpeechRequest chat_of(const nlohmann::ordered_json& messages) {
  SpeechRequest request;
  request.writing.chat = std::make_shared<Chat>(Chat{messages.dump(), "", {}});
  request.sampling.temperature = 0.f;
  return request;
}

/// Returns the request of a case: its messages, and recordings with the seeds from `seed` on.
inline SpeechRequest golden_chat(const nlohmann::ordered_json& c, uint32_t seed = 7) {
  SpeechRequest request = chat_of(c["messages"]);
  request.sampling.seed = 7;
  request.writing.max_tokens = c.value("steps", 0);
  for (const int64_t samples : c.value("recordings", nlohmann::ordered_json::array()))
    request.writing.recordings.push_back(golden_recording(samples, seed++));
  return request;
}

}  // namespace syrinx
