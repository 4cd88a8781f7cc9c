#include "families/voice_chat/chat_reader.h"

#include "base/check.h"
#include "families/voice_chat/chat_prompt.h"
#include "model/past_context.h"
#include "text/segment_queue.h"

namespace syrinx {

Error refused_chat(std::string what) {
  return {ErrorCode::kUnsupported, std::move(what), "messages"};
}
Error refused_role(const std::string& role) {
  return refused_chat("this model does not accept messages with the role '" + role + "'");
}
/// Returns the error for a chat that no model accepts.
static Error invalid_chat(std::string what) {
  return {ErrorCode::kInvalid, std::move(what), "messages"};
}
Error no_list_of_messages() { return invalid_chat("'messages' must be a list of objects"); }

Result<ChatJson> messages_of(const Chat& chat) {
  ChatJson messages = ChatJson::parse(chat.messages, nullptr, false);
  if (!messages.is_array() || messages.empty()) return no_list_of_messages();
  for (const ChatJson& message : messages) {
    if (role_of(message).empty()) return no_list_of_messages();
  }
  return messages;
}

Result<ChatJson> messages_without_tools(const Chat& chat) {
  if (chat.tools.empty() || chat.tools == "[]") return messages_of(chat);
  return Error{ErrorCode::kUnsupported, "this model cannot call tools", "tools"};
}

Result<int32_t> role_id(const ChatJson& message, int32_t system, int32_t user, int32_t assistant) {
  const std::string role = role_of(message);
  if (role == "system" || role == "developer") return system;
  if (role == "user") return user;
  if (role == "assistant") return assistant;
  return refused_role(role);
}

Result<std::vector<ChatPart>> parts_of(const ChatJson& message, std::string_view between) {
  const ChatJson content = message.value("content", ChatJson());
  if (content.is_null()) return std::vector<ChatPart>(1);
  if (content.is_string()) return std::vector<ChatPart>{{false, content.get<std::string>()}};
  if (!content.is_array()) return invalid_chat("a message's content must be a text or a list");
  std::vector<ChatPart> parts;
  for (const ChatJson& part : content) {
    if (is_recording(part)) {
      if (role_of(message) != "user")
        return invalid_chat("only a user's message may have a recording");
      parts.push_back({true, ""});
      continue;
    }
    const Result<std::string> text = text_of(part);
    if (!text.ok()) return text.error();
    if (parts.empty() || parts.back().recording) {
      parts.push_back({false, text.value()});
    } else {
      parts.back().text.append(between).append(text.value());
    }
  }
  if (parts.empty()) parts.emplace_back();
  return parts;
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
  return invalid_chat("the chat has more places for recordings than the request has recordings");
}

Status ChatReader::end() const {
  if (next_ < recordings_)
    return invalid_chat("the request has more recordings than the chat has places for them");
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
