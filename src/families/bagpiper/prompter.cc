#include "families/bagpiper/prompter.h"

#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "base/check.h"

namespace syrinx::bagpiper {
namespace {

using Json = nlohmann::json;

constexpr const char* kPlainScene = "A clear voice says: '";
constexpr const char* kPlainSceneEnd = "'. No background noise.";

Error wrong(const std::string& what) { return {ErrorCode::kInvalid, what, "messages"}; }

std::string member(const Json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

struct Part {
  int32_t role = 0;
  std::string text;
  int64_t rows = 0;  // above 0: number of rows of a recording
};

std::vector<int32_t> lay_out(const Tokenizer& tokenizer, std::span<const Part> parts) {
  std::vector<int32_t> ids{kBegin};
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    ids.push_back(part.role);
    ids.push_back(part.rows > 0 ? kAudio : kText);
    if (part.rows > 0) {
      ids.insert(ids.end(), static_cast<size_t>(part.rows), Prompter::kHeardRow);
    } else {  // special tokens in a client's text are read as plain text
      for (const int32_t id : tokenizer.encode(part.text, false)) {
        // ESPnet replaces the tokenizer's first id ("!") by a pad, and trained the model with it.
        ids.push_back(id == 0 ? int32_t{kPad} : ModelConfig::kFirstWord + id);
      }
    }
    const bool goes_on = i + 1 < parts.size() && parts[i + 1].role == part.role;
    ids.push_back(goes_on ? kEndPart : kEnd);
  }
  ids.push_back(kAssistant);
  ids.push_back(kText);
  return ids;
}

/// Adds the parts of a message. Neighbouring texts become one part. Removes from `rows` the numbers
/// that were used.
Status add_parts(int32_t role, const Json& value, std::span<const int64_t>& rows,
                 std::vector<Part>& parts) {
  if (value.is_null()) return parts.push_back({role, "", 0}), ok_status();
  if (value.is_string()) return parts.push_back({role, value.get<std::string>(), 0}), ok_status();
  if (!value.is_array()) return wrong("the content of a message must be a text or a list");
  const size_t begin = parts.size();
  for (const Json& each : value) {
    const std::string type = member(each, "type");
    if (type == "text" && each.contains("text") && each["text"].is_string()) {
      const std::string text = each["text"].get<std::string>();
      if (parts.size() > begin && parts.back().rows == 0) {
        parts.back().text += "\n" + text;
      } else {
        parts.push_back({role, text, 0});
      }
      continue;
    }
    if (type != "audio") {
      return Error{ErrorCode::kUnsupported, "this model accepts messages of text and recordings",
                   "messages"};
    }
    if (role != kUser) return wrong("only a user's message may have a recording");
    if (rows.empty())
      return wrong("the messages have more places for recordings than the request has recordings");
    parts.push_back({role, "", rows.front()});
    rows = rows.subspan(1);
  }
  if (parts.size() == begin) parts.push_back({role, "", 0});
  return ok_status();
}

}  // namespace

Prompter::Prompter(Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

std::string Prompter::bytes(int32_t id) const {
  const int32_t own = id - ModelConfig::kFirstWord;
  if (own < 0 || own >= tokenizer_.size() || tokenizer_.is_special(own)) return "";
  return tokenizer_.bytes(own);
}

Result<std::vector<int32_t>> Prompter::conversation(const Chat& chat,
                                                    std::span<const int64_t> rows) const {
  if (!chat.tools.empty()) {
    return Error{ErrorCode::kUnsupported, "this model cannot call tools", "tools"};
  }
  const Json messages = Json::parse(chat.messages, nullptr, false);
  if (!messages.is_array() || messages.empty()) return wrong("'messages' must be a list");
  std::vector<Part> parts;
  for (const Json& message : messages) {
    if (!message.is_object()) return wrong("'messages' must be a list of objects");
    const std::string role = member(message, "role");
    const int32_t id = role == "system" || role == "developer" ? kSystem
                       : role == "user"                        ? kUser
                       : role == "assistant"                   ? kAssistant
                                                               : -1;
    if (id < 0) return wrong("roles are system, user and assistant, not \"" + role + "\"");
    const Json none, &content = message.contains("content") ? message.at("content") : none;
    if (Status fault = add_parts(id, content, rows, parts); !fault) return fault.error();
  }
  if (!rows.empty())
    return wrong("the request has more recordings than the messages have places for them");
  return lay_out(tokenizer_, parts);
}

std::string Prompter::scene(std::string_view text, std::string_view description) {
  while (!description.empty() &&
         std::string_view(" \t\n.:;,").find(description.back()) != std::string_view::npos) {
    description.remove_suffix(1);
  }
  if (description.empty()) return kPlainScene + std::string(text) + kPlainSceneEnd;
  return std::string(description) + ": '" + std::string(text) + "'";
}

std::vector<int32_t> Prompter::reading(std::string_view text, std::string_view description) const {
  const Part part{kUser, scene(text, description), 0};
  return lay_out(tokenizer_, std::span(&part, 1));
}

}  // namespace syrinx::bagpiper
