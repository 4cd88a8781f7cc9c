#include "families/glm4_voice/prompter.h"

#include "families/voice_chat/chat_reader.h"
#include "families/voice_chat/prompt_writer.h"

namespace syrinx::glm4_voice {
namespace {

/// System prompts of the authors (GLM-4-Voice:web_demo.py), with their final blank, if any.
constexpr const char* kHeard =
    "User will provide you with a speech instruction. Do it step by step. First, think about the "
    "instruction and respond in a interleaved manner, with 13 text token followed by 26 audio "
    "tokens. ";
constexpr const char* kRead =
    "User will provide you with a text instruction. Do it step by step. First, think about the "
    "instruction and respond in a interleaved manner, with 13 text token followed by 26 audio "
    "tokens.";
constexpr const char* kHead = "streaming_transcription\n";  // beginning of an answer's turn
constexpr int64_t kMostAloud = 512;                         // most ids of a text that is read aloud
constexpr double kCodesASecond = 12.5;

std::string without_last_blanks(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

bool is_system(const ChatJson& message) {
  const std::string role = role_of(message);
  return role == "system" || role == "developer";
}

/// Writes the turns of a conversation.
class Scribe {
 public:
  Scribe(const Tokenizer& tokenizer, const Ids& ids, std::span<const int64_t> codes,
         std::span<const EarlierAnswer> answers, ChatPrompt& prompt)
      : ids_(ids), codes_(codes), reader_(codes.size(), answers), out_(tokenizer, prompt) {}

  void begin(const std::string& system) {
    out_.id(ids_.mask), out_.id(ids_.sop), out_.id(ids_.system);
    out_.text("\n" + system);
  }
  Status turn(const ChatJson& message) {
    const std::string role = role_of(message);
    const ChatJson content = message.value("content", ChatJson());
    if (is_system(message)) return ok_status();
    if (role == "assistant") return is_answer(content) ? earlier_answer() : assistant(content);
    if (role == "user") return user(content);
    return refused_role(role);
  }
  Status end() {
    head(ids_.assistant, kHead);
    out_.flush();
    return reader_.end();
  }
  void head(int32_t role, std::string_view text) {
    out_.id(role);
    out_.text(text);
  }

 private:
  Status earlier_answer() {
    const auto told = reader_.answer(kCodesASecond, ids_.audio_end,
                                     [this](int32_t id) { return ids_.is_audio(id); });
    if (!told.ok()) return told.error();
    head(ids_.assistant, kHead);
    out_.ids(told.value());
    return ok_status();
  }
  Status assistant(const ChatJson& content) {
    const Result<std::string> text = text_of(content);
    if (!text.ok()) return text.error();
    head(ids_.assistant, kHead + without_last_blanks(text.value()));
    return ok_status();
  }
  Status user(const ChatJson& content) {
    head(ids_.user, "\n");
    for (const ChatJson& part : content.is_array() ? content : ChatJson::array({content})) {
      if (!is_recording(part)) {
        const Result<std::string> text = text_of(part);
        if (!text.ok()) return text.error();
        out_.text(text.value());
        continue;
      }
      const Result<size_t> recording = reader_.recording();
      if (!recording.ok()) return recording.error();
      out_.id(ids_.begin_audio);
      out_.places(ids_.audio, codes_[recording.value()]);
      out_.id(ids_.end_audio);
    }
    return ok_status();
  }

  const Ids& ids_;
  const std::span<const int64_t> codes_;
  ChatReader reader_;
  PromptWriter out_;
};

}  // namespace

Result<ChatPrompt> Prompter::of_chat(const Chat& chat, std::span<const int64_t> codes,
                                     std::span<const EarlierAnswer> answers) const {
  const Result<ChatJson> messages = messages_without_tools(chat);
  if (!messages.ok()) return messages.error();
  // The demo has only one kind of input in a conversation. Here, a conversation with a recording
  // has the prompt for speech.
  std::string system;
  bool heard = false;
  for (const ChatJson& message : messages.value()) {
    const ChatJson content = message.value("content", ChatJson());
    heard |= content.is_array() && std::ranges::any_of(content, is_recording);
    if (!is_system(message)) continue;
    const Result<std::string> text = text_of(content);
    if (!text.ok()) return text.error();
    system += text.value() + "\n";
  }
  ChatPrompt prompt;
  Scribe scribe(tokenizer_, ids_, codes, answers, prompt);
  scribe.begin(system + (heard ? kHeard : kRead));
  for (const ChatJson& message : messages.value()) {
    if (Status fault = scribe.turn(message); !fault) return fault.error();
  }
  if (Status fault = scribe.end(); !fault) return fault.error();
  return checked(std::move(prompt), max_ids_, "messages");
}

Result<ChatPrompt> Prompter::reading_aloud(const std::string& text) const {
  ChatPrompt prompt;
  prompt.said = tokenizer_.encode(text, false);
  if (Status fault = check_aloud(prompt.said, kMostAloud); !fault) return fault.error();
  Scribe scribe(tokenizer_, ids_, {}, {}, prompt);
  scribe.begin(kRead);
  scribe.head(ids_.user, "\n" + text);
  if (Status fault = scribe.end(); !fault) return fault.error();
  return checked(std::move(prompt), max_ids_, "input");
}

Result<ChatPrompt> Prompter::of_text(const std::string& text) const {
  ChatPrompt prompt;
  prompt.ids = {ids_.mask, ids_.sop};
  const std::vector<int32_t> some = tokenizer_.encode(text);
  prompt.ids.insert(prompt.ids.end(), some.begin(), some.end());
  return checked(std::move(prompt), max_ids_, "prompt");
}

}  // namespace syrinx::glm4_voice
