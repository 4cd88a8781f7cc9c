// Makes a chat that asks for the transcript of a recording, for families whose models answer chats.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/pipeline.h"

namespace syrinx {

/// Returns a chat of a system message and a user's message: the recording, followed by `question`.
/// Empty texts are left out. The answer is text, sampled greedily.
inline SpeechRequest asked_about(const Dictation& dictation, const std::string& system,
                                 const std::string& question) {
  using Json = nlohmann::json;
  Json messages = Json::array(), content = Json::array({{{"type", "audio"}}});
  if (!system.empty()) messages.push_back({{"role", "system"}, {"content", system}});
  if (!question.empty()) content.push_back({{"type", "text"}, {"text", question}});
  messages.push_back({{"role", "user"}, {"content", content}});
  SpeechRequest request;
  request.writing.chat = std::make_shared<Chat>(Chat{messages.dump(), "", {}});
  request.writing.recordings = {dictation.recording};
  request.writing.text_only = true;
  request.sampling.temperature = 0.f;
  return request;
}

}  // namespace syrinx
