#include "families/step_audio2/prompter.h"

#include <limits>
#include <utility>

#include "base/check.h"
#include "families/voice_chat/chat_reader.h"
#include "families/voice_chat/prompt_writer.h"
#include "text/jinja/value.h"

namespace syrinx::step_audio2 {
namespace {

constexpr int64_t kMostAloud = 512;  // most ids of a text that is read aloud
constexpr double kCodesASecond = 25;

/// Returns the name of a message's role in the authors' layout.
std::string turn_of(const ChatJson& message) {
  const std::string role = role_of(message);
  if (role == "developer") return "system";
  return role == "user" ? "human" : role == "tool" ? "input" : role;
}

/// Returns the calls in an assistant's turn, as the model writes them.
Result<std::string> calls_of(const ChatJson& message) {
  std::string out;
  const ChatJson calls = message.value("tool_calls", ChatJson());
  if (calls.is_null()) return out;
  if (!calls.is_array()) return no_list_of_messages();
  for (const ChatJson& call : calls) {
    const ChatJson function = call.is_object() ? call.value("function", ChatJson()) : ChatJson();
    if (!function.is_object() || !function.value("name", ChatJson()).is_string())
      return refused_chat("a tool call has no name");
    const auto arguments =
        jinja::parse_json(function.value("arguments", ChatJson::object()).dump());
    if (!arguments.ok())
      return refused_chat("'arguments' of a tool call " + arguments.error().message);
    jinja::Budget budget(std::numeric_limits<uint64_t>::max());
    out += "<tool_call>function\n" + function["name"].get<std::string>() + "\n" +
           to_json(arguments.value(), {}, budget) + "</tool_call>";
  }
  return out;
}

/// Writes the turns of a conversation. Encodes each text() separately, as in the authors'
/// code.
class Scribe {
 public:
  Scribe(const Tokenizer& tokenizer, const Ids& ids, ChatPrompt& prompt,
         std::span<const int64_t> samples = {}, std::span<const EarlierAnswer> answers = {},
         std::string tools = {})
      : ids_(ids),
        samples_(samples),
        reader_(samples.size(), answers),
        tools_(std::move(tools)),
        out_(tokenizer, prompt) {}

  Status turn(const ChatJson& message);
  void turn(const std::string& role, const std::string& text) {
    begin(role, text);
    out_.id(ids_.turn_end);
  }
  /// Writes the end of the prompt. Returns an Error if a recording was not used.
  Status end(bool speaks);

 private:
  void text(std::string_view text) {
    out_.text(text);
    out_.flush();
  }
  /// Writes the beginning of a turn. `more`: text of the turn to be encoded together with it.
  void begin(const std::string& role, const std::string& more = "") {
    out_.id(ids_.turn);
    text(role + "\n" + more);
  }
  void begin_answer(bool speaks) {
    begin("assistant");
    if (speaks) out_.id(ids_.tts_start);
  }
  /// Writes the tools after the system's text.
  void write_tools() {
    if (!tools_.empty()) turn("tool_json_schemas", std::exchange(tools_, {}));
  }
  Status part(const std::string& role, const ChatJson& part);
  void recording(int64_t samples);
  Status earlier_answer();

  const Ids& ids_;
  const std::span<const int64_t> samples_;  // number of samples of each recording
  ChatReader reader_;
  std::string tools_;  // tools that were not written yet
  PromptWriter out_;
};

Status Scribe::turn(const ChatJson& message) {
  const std::string role = turn_of(message);
  if (role != "system" && role != "human" && role != "assistant" && role != "input")
    return refused_role(role);
  if (role != "system") write_tools();
  const ChatJson content = message.value("content", ChatJson());
  if (role == "assistant" && is_answer(content)) return earlier_answer();
  const Result<std::string> calls = calls_of(message);
  if (!calls.ok()) return calls.error();
  if (!content.is_array()) {
    const Result<std::string> text = text_of(content);
    if (!text.ok()) return text.error();
    turn(role, text.value() + calls.value());
    return ok_status();
  }
  begin(role);
  for (const ChatJson& each : content)
    if (Status fault = part(role, each); !fault) return fault;
  text(calls.value());
  out_.id(ids_.turn_end);
  return ok_status();
}

Status Scribe::part(const std::string& role, const ChatJson& part) {
  if (role == "human" && is_recording(part)) {
    const Result<size_t> number = reader_.recording();
    if (!number.ok()) return number.error();
    recording(samples_[number.value()]);
    return ok_status();
  }
  const Result<std::string> words = text_of(part);
  if (!words.ok()) return words.error();
  text(words.value());
  return ok_status();
}

void Scribe::recording(int64_t samples) {
  for (int64_t at = 0; at < samples; at += StepAudioEncoder::kPiece) {
    out_.id(ids_.audio_start);
    out_.places(ids_.audio_patch,
                StepAudioEncoder::count(std::min(samples - at, StepAudioEncoder::kPiece)));
    out_.id(ids_.audio_end);
  }
}

/// Writes an earlier answer that was spoken. Its ids include the calls that it made.
Status Scribe::earlier_answer() {
  const auto told = reader_.answer(kCodesASecond, ids_.code_end + 1,
                                   [this](int32_t id) { return ids_.is_code(id); });
  if (!told.ok()) return told.error();
  begin_answer(true);
  out_.ids(told.value());
  out_.id(ids_.turn_end);
  return ok_status();
}

Status Scribe::end(bool speaks) {
  write_tools();
  if (Status fault = reader_.end(); !fault) return fault;
  begin_answer(speaks);
  return ok_status();
}

}  // namespace

Result<ChatPrompt> Prompter::of_chat(const Chat& chat, std::span<const int64_t> samples,
                                     std::span<const EarlierAnswer> answers, bool speaks) const {
  const Result<ChatJson> messages = messages_of(chat);
  if (!messages.ok()) return messages.error();
  ChatPrompt prompt;
  Scribe scribe(tokenizer_, ids_, prompt, samples, answers, chat.tools == "[]" ? "" : chat.tools);
  const bool told = std::ranges::any_of(
      messages.value(), [](const ChatJson& message) { return turn_of(message) == "system"; });
  if (!told) scribe.turn("system", kSystem);
  for (const ChatJson& message : messages.value())
    if (Status fault = scribe.turn(message); !fault) return fault.error();
  if (Status fault = scribe.end(speaks); !fault) return fault.error();
  return checked(std::move(prompt), max_ids_, "messages");
}

Result<ChatPrompt> Prompter::reading_aloud(const std::string& text) const {
  ChatPrompt prompt;
  prompt.said = tokenizer_.encode(text, false);
  if (Status fault = check_aloud(prompt.said, kMostAloud); !fault) return fault.error();
  Scribe scribe(tokenizer_, ids_, prompt);
  scribe.turn("system", kSystem);
  scribe.turn("human", text);
  if (Status fault = scribe.end(true); !fault) return fault.error();
  return checked(std::move(prompt), max_ids_, "input");
}

Result<ChatPrompt> Prompter::of_text(const std::string& text) const {
  ChatPrompt prompt;
  prompt.ids = tokenizer_.encode(text);
  if (prompt.ids.empty()) return Error{ErrorCode::kInvalid, "the prompt is empty", "prompt"};
  return checked(std::move(prompt), max_ids_, "prompt");
}

}  // namespace syrinx::step_audio2
