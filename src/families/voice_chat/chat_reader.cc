#include "families/voice_chat/chat_reader.h"

#include "base/check.h"
#include "families/voice_chat/chat_prompt.h"
#include "model/past_context.h"
#include "text/segment_queue.h"

namespace syrinx {

Error refused_chat(std::string what) {
  return {ErrorCode::kUnsupported, std::move(what), "messages"};
}
Error no_list_of_messages() {
  return {ErrorCode::kInvalid, "'messages' must be a list of objects", "messages"};
}

Result<ChatJson> messages_of(const Chat& chat) {
  ChatJson messages = ChatJson::parse(chat.messages, nullptr, false);
  if (!messages.is_array() || messages.empty()) return no_list_of_messages();
  for (const ChatJson& message : messages) {
    if (role_of(message).empty()) return no_list_of_messages();
  }
  return messages;
}

std::string role_of(const ChatJson& message) {
  const bool told = message.is_object() && message.contains("role") && message["role"].is_string();
  return told ? message["role"].get<std::string>() : "";
}

bool is_recording(const ChatJson& part) {
  return part.is_object() && part.value("type", ChatJson()) == "audio";
}

bool is_answer(const ChatJson& content) {
  return content.is_array() && content.size() == 1 && content[0].is_object() &&
         content[0].value("type", ChatJson()) == "answer";
}

Result<std::string> text_of(const ChatJson& content) {
  if (content.is_null()) return std::string();
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) {
    if (content.is_object() && content.contains("text") && content["text"].is_string()) {
      return content["text"].get<std::string>();
    }
    return refused_chat("this model accepts only text, and recordings of users");
  }
  std::string out;
  for (const ChatJson& part : content) {
    const Result<std::string> text = text_of(part);
    if (!text.ok()) return text.error();
    out += text.value();
  }
  return out;
}

Result<size_t> ChatReader::recording() {
  if (next_ < recordings_) return next_++;
  return refused_chat("the chat has more places for recordings than the request has recordings");
}

Status ChatReader::end() const {
  if (next_ < recordings_)
    return refused_chat("the request has more recordings than the chat has places for them");
  if (!answers_.empty())
    return refused_chat("the request has more answers than the chat has places for them");
  return ok_status();
}

Result<std::vector<std::vector<float>>> recordings_at(const SpeechRequest& request, int rate,
                                                      Resampling how) {
  std::vector<std::vector<float>> out;
  for (const auto& each : request.writing.recordings) {
    out.push_back(resampled(each->samples, each->sample_rate, rate, how));
    if (!out.back().empty()) continue;
    return Error{ErrorCode::kInvalid, concat("recording ", out.size(), " is empty"), "messages"};
  }
  return out;
}

Result<ChatPrompt> checked(ChatPrompt prompt, int64_t most, const char* param) {
  if (std::ssize(prompt.ids) <= most) return prompt;
  return past_context(most + 1, std::ssize(prompt.ids), param);
}

Status check_aloud(std::span<const int32_t> said, int64_t most) {
  if (said.empty()) return nothing_to_say();
  if (std::ssize(said) <= most) return ok_status();
  return Error{ErrorCode::kInvalid,
               concat("the text has ", said.size(), " tokens; this model reads at most ", most,
                      " aloud at once"),
               "input"};
}

}  // namespace syrinx
