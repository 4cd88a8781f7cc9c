#include "families/bagpiper/prompter.h"

#include "families/voice_chat/chat_reader.h"

namespace syrinx::bagpiper {
namespace {

constexpr const char* kPlainScene = "A clear voice says: '";
constexpr const char* kPlainSceneEnd = "'. No background noise.";

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

}  // namespace

Prompter::Prompter(Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

std::string Prompter::bytes(int32_t id) const {
  const int32_t own = id - ModelConfig::kFirstWord;
  if (own < 0 || own >= tokenizer_.size() || tokenizer_.is_special(own)) return "";
  return tokenizer_.bytes(own);
}

Result<std::vector<int32_t>> Prompter::conversation(const Chat& chat,
                                                    std::span<const int64_t> rows) const {
  const Result<ChatJson> messages = messages_without_tools(chat);
  if (!messages) return messages.error();
  ChatReader reader(rows.size(), {});
  std::vector<Part> parts;
  for (const ChatJson& message : messages.value()) {
    const Result<int32_t> role = role_id(message, kSystem, kUser, kAssistant);
    if (!role) return role.error();
    const Result<std::vector<ChatPart>> said = parts_of(message, "\n");
    if (!said) return said.error();
    for (const ChatPart& part : said.value()) {
      parts.push_back({role.value(), part.text, 0});
      if (!part.recording) continue;
      const Result<size_t> recording = reader.recording();
      if (!recording) return recording.error();
      parts.back().rows = rows[recording.value()];
    }
  }
  if (const Status fault = reader.end(); !fault) return fault.error();
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
