#include "families/step_audio2/prompter.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"

namespace syrinx::step_audio2 {
namespace {

using nlohmann::json;

constexpr size_t kMostAloud = 512;  // ids of a text that is read aloud

Error refused(std::string what) { return {ErrorCode::kUnsupported, std::move(what), "messages"}; }
Error no_list() {
  return {ErrorCode::kInvalid, "'messages' must be a list of objects", "messages"};
}

bool is_recording(const json& part) {
  return part.is_object() && part.value("type", json()) == "audio";
}

/// The text of one part, or of a content that is none.
Result<std::string> text_of(const json& part) {
  if (part.is_null()) return std::string();
  if (part.is_string()) return part.get<std::string>();
  if (!part.is_object() || !part.contains("text") || !part["text"].is_string())
    return refused("this model takes text and recordings of users only");
  return part["text"].get<std::string>();
}

}  // namespace

/// Each text() is encoded by itself, as the authors do it.
class Prompter::Writer {
 public:
  Writer(const Prompter& prompter, Prompt& prompt)
      : tokenizer_(prompter.tokenizer_), ids_(prompter.ids_), prompt_(prompt) {}

  void text(const std::string& text) {
    const std::vector<int32_t> some = tokenizer_.encode(text, false);
    prompt_.ids.insert(prompt_.ids.end(), some.begin(), some.end());
  }
  /// The beginning of a turn, with as much of its text as belongs to the same string.
  void turn(const std::string& role, const std::string& more = "") {
    prompt_.ids.push_back(ids_.turn);
    text(role + "\n" + more);
  }
  void end() { prompt_.ids.push_back(ids_.turn_end); }
  void answer(bool speaks) {
    turn("assistant");
    if (speaks) prompt_.ids.push_back(ids_.tts_start);
  }
  void recording(int64_t samples) {
    for (int64_t at = 0; at < samples; at += StepAudioEncoder::kPiece) {
      const int64_t piece = std::min(samples - at, StepAudioEncoder::kPiece);
      prompt_.pieces.push_back(piece);
      prompt_.ids.push_back(ids_.audio_start);
      for (int64_t i = 0; i < StepAudioEncoder::count(piece); ++i) {
        prompt_.places.push_back(static_cast<int32_t>(prompt_.ids.size()));
        prompt_.ids.push_back(ids_.audio_patch);
      }
      prompt_.ids.push_back(ids_.audio_end);
    }
  }

 private:
  const Tokenizer& tokenizer_;
  const Ids& ids_;
  Prompt& prompt_;
};

Result<Prompt> Prompter::checked(Prompt prompt, const char* param) const {
  if (std::ssize(prompt.ids) <= max_ids_) return prompt;
  return Error{
      ErrorCode::kInvalid,
      concat("the prompt has ", prompt.ids.size(), " tokens; this model takes at most ", max_ids_),
      param};
}

Result<Prompt> Prompter::of_chat(const Chat& chat, std::span<const int64_t> samples,
                                 bool speaks) const {
  const json messages = json::parse(chat.messages, nullptr, false);
  if (!messages.is_array() || messages.empty()) return no_list();
  if (!chat.tools.empty() && chat.tools != "[]") return refused("this model has no tools");
  const auto role_of = [](const json& message) -> std::string {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      return "";
    const std::string role = message["role"];
    return role == "developer" ? "system" : role == "user" ? "human" : role;
  };
  Prompt prompt;
  Writer out(*this, prompt);
  const bool told = std::any_of(messages.begin(), messages.end(),
                                [&](const json& message) { return role_of(message) == "system"; });
  if (!told) out.turn("system", kSystem), out.end();
  size_t recordings = 0;
  for (const json& message : messages) {
    const std::string role = role_of(message);
    if (role.empty()) return no_list();
    if (role != "system" && role != "human" && role != "assistant")
      return refused("this model has no messages of the role '" + role + "'");
    const json content = message.value("content", json());
    if (!content.is_array()) {
      const Result<std::string> text = text_of(content);
      if (!text.ok()) return text.error();
      out.turn(role, text.value());
      out.end();
      continue;
    }
    out.turn(role);
    for (const json& part : content) {
      if (role == "human" && is_recording(part)) {
        if (recordings >= samples.size())
          return refused("the chat has more places for recordings than there are");
        out.recording(samples[recordings++]);
        continue;
      }
      const Result<std::string> text = text_of(part);
      if (!text.ok()) return text.error();
      out.text(text.value());
    }
    out.end();
  }
  if (recordings < samples.size()) return refused("the chat has no place for a recording");
  out.answer(speaks);
  return checked(std::move(prompt), "messages");
}

Result<Prompt> Prompter::reading_aloud(const std::string& text) const {
  Prompt prompt;
  prompt.said = tokenizer_.encode(text, false);
  if (prompt.said.empty()) return Error{ErrorCode::kInvalid, "there is nothing to say", "input"};
  if (prompt.said.size() > kMostAloud) {
    return Error{ErrorCode::kInvalid,
                 concat("the text has ", prompt.said.size(), " tokens; this model reads at most ",
                        kMostAloud, " aloud at once"),
                 "input"};
  }
  Writer out(*this, prompt);
  out.turn("system", kSystem), out.end();
  out.turn("human", text), out.end();
  out.answer(true);
  return checked(std::move(prompt), "input");
}

Result<Prompt> Prompter::of_text(const std::string& text) const {
  Prompt prompt;
  prompt.ids = tokenizer_.encode(text);
  if (prompt.ids.empty()) return Error{ErrorCode::kInvalid, "the prompt is empty", "prompt"};
  return checked(std::move(prompt), "prompt");
}

}  // namespace syrinx::step_audio2
