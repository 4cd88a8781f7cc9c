#include "families/glm4_voice/prompter.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "families/llm/earlier_answer.h"
#include "model/past_context.h"

namespace syrinx::glm4_voice {
namespace {

using nlohmann::json;

/// The authors' words (GLM-4-Voice:web_demo.py), with and without the blank at the end.
constexpr const char* kHeard =
    "User will provide you with a speech instruction. Do it step by step. First, think about the "
    "instruction and respond in a interleaved manner, with 13 text token followed by 26 audio "
    "tokens. ";
constexpr const char* kRead =
    "User will provide you with a text instruction. Do it step by step. First, think about the "
    "instruction and respond in a interleaved manner, with 13 text token followed by 26 audio "
    "tokens.";
constexpr const char* kHead = "streaming_transcription\n";  // of an answer
constexpr size_t kMostAloud = 512;                          // ids of a text that is read aloud
constexpr double kCodesASecond = 12.5;

Error refused(std::string what) { return {ErrorCode::kUnsupported, std::move(what), "messages"}; }

/// Ids of text between special tokens; text is encoded in the longest stretches there are, as the
/// authors' tokenizer does it.
class Writer {
 public:
  Writer(const Tokenizer& tokenizer, Prompt& prompt) : tokenizer_(tokenizer), prompt_(prompt) {}
  ~Writer() { flush(); }

  void text(std::string_view more) { text_ += more; }
  void id(int32_t id) {
    flush();
    prompt_.ids.push_back(id);
  }
  void place(int32_t id) {
    flush();
    prompt_.places.push_back(static_cast<int32_t>(prompt_.ids.size()));
    prompt_.ids.push_back(id);
  }
  void ids(std::span<const int32_t> some) {
    flush();
    prompt_.ids.insert(prompt_.ids.end(), some.begin(), some.end());
  }
  void flush() {
    const std::vector<int32_t> some = tokenizer_.encode(text_, false);
    prompt_.ids.insert(prompt_.ids.end(), some.begin(), some.end());
    text_.clear();
  }

 private:
  const Tokenizer& tokenizer_;
  Prompt& prompt_;
  std::string text_;
};

bool is_recording(const json& part) {
  return part.is_object() && part.value("type", json()) == "audio";
}

bool has_recording(const json& content) {
  return content.is_array() && std::any_of(content.begin(), content.end(), is_recording);
}

/// An answer that was heard and is told as it was made.
bool is_answer(const json& content) {
  return content.is_array() && content.size() == 1 && content[0].is_object() &&
         content[0].value("type", json()) == "answer";
}

std::string without_last_blanks(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

/// The text of a content without recordings.
Result<std::string> text_of(const json& content) {
  if (content.is_null()) return std::string();
  if (content.is_string()) return content.get<std::string>();
  std::string out;
  if (!content.is_array()) return refused("a content must be text or a list of parts");
  for (const json& part : content) {
    if (!part.is_object() || !part.contains("text") || !part["text"].is_string())
      return refused("this model takes text and recordings of users only");
    out += part["text"].get<std::string>();
  }
  return out;
}

}  // namespace

Result<Prompt> Prompter::checked(Prompt prompt, const char* param) const {
  if (std::ssize(prompt.ids) <= max_ids_) return prompt;
  return past_context(max_ids_ + 1, std::ssize(prompt.ids), param);
}

Result<Prompt> Prompter::of_chat(const Chat& chat, std::span<const int64_t> codes,
                                 std::span<const EarlierAnswer> answers) const {
  const json messages = json::parse(chat.messages, nullptr, false);
  if (!messages.is_array() || messages.empty())
    return Error{ErrorCode::kInvalid, "'messages' must be a list of objects", "messages"};
  if (!chat.tools.empty() && chat.tools != "[]") return refused("this model has no tools");
  // The demo's conversations are of one kind; one with a recording is one that is heard.
  std::string system;
  bool heard = false;
  for (const json& message : messages) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      return Error{ErrorCode::kInvalid, "'messages' must be a list of objects", "messages"};
    const std::string role = message["role"];
    heard |= has_recording(message.value("content", json()));
    if (role != "system" && role != "developer") continue;
    const Result<std::string> text = text_of(message.value("content", json()));
    if (!text.ok()) return text.error();
    system += text.value() + "\n";
  }
  Prompt prompt;
  size_t recordings = 0;
  {
    Writer out(tokenizer_, prompt);
    out.id(ids_.mask), out.id(ids_.sop), out.id(ids_.system);
    out.text("\n" + system + (heard ? kHeard : kRead));
    for (const json& message : messages) {
      const std::string role = message["role"];
      const json content = message.value("content", json());
      if (role == "system" || role == "developer") continue;
      if (role == "assistant" && is_answer(content)) {
        if (answers.empty()) return refused("the chat has more places for answers than there are");
        const auto told = llm::told_ids(answers.front(), kCodesASecond, ids_.audio_end,
                                        [this](int32_t id) { return ids_.is_audio(id); });
        if (!told.ok()) return told.error();
        answers = answers.subspan(1);
        out.id(ids_.assistant);
        out.text(kHead);
        out.ids(told.value());
        continue;
      }
      if (role == "assistant") {
        const Result<std::string> text = text_of(content);
        if (!text.ok()) return text.error();
        out.id(ids_.assistant);
        out.text(kHead + without_last_blanks(text.value()));
        continue;
      }
      if (role != "user") return refused("this model has no messages of the role '" + role + "'");
      out.id(ids_.user);
      out.text("\n");
      const json parts = content.is_array() ? content : json::array({content});
      for (const json& part : parts) {
        if (!is_recording(part)) {
          const Result<std::string> text = text_of(part.is_object() ? json::array({part}) : part);
          if (!text.ok()) return text.error();
          out.text(text.value());
          continue;
        }
        if (recordings >= codes.size())
          return refused("the chat has more places for recordings than there are");
        out.id(ids_.begin_audio);
        for (int64_t i = 0; i < codes[recordings]; ++i) out.place(ids_.audio);
        out.id(ids_.end_audio);
        ++recordings;
      }
    }
    out.id(ids_.assistant);
    out.text(kHead);
  }
  if (recordings < codes.size()) return refused("the chat has no place for a recording");
  if (!answers.empty()) return refused("the chat has no place for an answer");
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
  Writer out(tokenizer_, prompt);
  out.id(ids_.mask), out.id(ids_.sop), out.id(ids_.system);
  out.text(std::string("\n") + kRead);
  out.id(ids_.user);
  out.text("\n" + text);
  out.id(ids_.assistant);
  out.text(kHead);
  out.flush();
  return checked(std::move(prompt), "input");
}

Result<Prompt> Prompter::of_text(const std::string& text) const {
  Prompt prompt;
  prompt.ids = {ids_.mask, ids_.sop};
  const std::vector<int32_t> some = tokenizer_.encode(text);
  prompt.ids.insert(prompt.ids.end(), some.begin(), some.end());
  return checked(std::move(prompt), "prompt");
}

}  // namespace syrinx::glm4_voice
