#include "families/step_audio2/prompter.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"
#include "families/llm/earlier_answer.h"
#include "model/past_context.h"
#include "text/jinja/value.h"

namespace syrinx::step_audio2 {
namespace {

using json = nlohmann::ordered_json;

constexpr size_t kMostAloud = 512;  // ids of a text that is read aloud
constexpr double kCodesASecond = 25;

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

/// An assistant's turn that was heard and is told as it was made.
bool is_answer(const json& content) {
  return content.is_array() && content.size() == 1 && content[0].is_object() &&
         content[0].value("type", json()) == "answer";
}

/// As the authors name it; "" where there is none.
std::string role_of(const json& message) {
  if (!message.is_object() || !message.contains("role") || !message["role"].is_string()) return "";
  const std::string role = message["role"];
  if (role == "developer") return "system";
  return role == "user" ? "human" : role == "tool" ? "input" : role;
}

/// The calls of an assistant's turn as the model writes them.
Result<std::string> calls_of(const json& message) {
  std::string out;
  const json calls = message.value("tool_calls", json());
  if (calls.is_null()) return out;
  if (!calls.is_array()) return no_list();
  for (const json& call : calls) {
    const json function = call.is_object() ? call.value("function", json()) : json();
    if (!function.is_object() || !function.value("name", json()).is_string())
      return refused("a call has no name");
    const auto arguments = jinja::parse_json(function.value("arguments", json::object()).dump());
    if (!arguments.ok()) return refused("the arguments of a call " + arguments.error().message);
    jinja::Budget budget(std::numeric_limits<uint64_t>::max());
    out += "<tool_call>function\n" + function["name"].get<std::string>() + "\n" +
           to_json(arguments.value(), {}, budget) + "</tool_call>";
  }
  return out;
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
  void ids(std::span<const int32_t> some) {
    prompt_.ids.insert(prompt_.ids.end(), some.begin(), some.end());
  }
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
  return past_context(max_ids_ + 1, std::ssize(prompt.ids), param);
}

/// Writes the turns of one conversation. The first fault is what turn() and end() return.
class Prompter::Scribe {
 public:
  Scribe(Writer& out, const Ids& ids, std::span<const int64_t> samples,
         std::span<const EarlierAnswer> answers, const std::string& tools)
      : out_(out), ids_(ids), samples_(samples), answers_(answers), tools_(tools) {}

  /// A message of the chat.
  Status turn(const json& message);
  /// What follows the last message. Everything must have had its place.
  Status end(bool speaks);

 private:
  /// The tools stand behind what is told of the system.
  void tell_tools() {
    if (tools_.empty()) return;
    out_.turn("tool_json_schemas", std::exchange(tools_, {}));
    out_.end();
  }
  Status part(const std::string& role, const json& part);
  Status answer();

  Writer& out_;
  const Ids& ids_;
  std::span<const int64_t> samples_;        // of recordings that have no place yet
  std::span<const EarlierAnswer> answers_;  // the same
  std::string tools_;                       // that are not told yet
};

Status Prompter::Scribe::turn(const json& message) {
  const std::string role = role_of(message);
  if (role.empty()) return no_list();
  if (role != "system" && role != "human" && role != "assistant" && role != "input")
    return refused("this model has no messages of the role '" + role + "'");
  if (role != "system") tell_tools();
  const json content = message.value("content", json());
  if (role == "assistant" && is_answer(content)) return answer();
  const Result<std::string> calls = calls_of(message);
  if (!calls.ok()) return calls.error();
  if (!content.is_array()) {
    const Result<std::string> text = text_of(content);
    if (!text.ok()) return text.error();
    out_.turn(role, text.value() + calls.value());
    out_.end();
    return ok_status();
  }
  out_.turn(role);
  for (const json& each : content)
    if (Status fault = part(role, each); !fault) return fault;
  if (!calls.value().empty()) out_.text(calls.value());
  out_.end();
  return ok_status();
}

Status Prompter::Scribe::part(const std::string& role, const json& part) {
  if (role == "human" && is_recording(part)) {
    if (samples_.empty()) return refused("the chat has more places for recordings than there are");
    out_.recording(samples_.front());
    samples_ = samples_.subspan(1);
    return ok_status();
  }
  const Result<std::string> text = text_of(part);
  if (!text.ok()) return text.error();
  out_.text(text.value());
  return ok_status();
}

/// One that was heard, with the calls that it made: they are among its ids.
Status Prompter::Scribe::answer() {
  if (answers_.empty()) return refused("the chat has more places for answers than there are");
  const auto told = llm::told_ids(answers_.front(), kCodesASecond, ids_.code_end + 1,
                                  [this](int32_t id) { return ids_.is_code(id); });
  if (!told.ok()) return told.error();
  answers_ = answers_.subspan(1);
  out_.answer(true);
  out_.ids(told.value());
  out_.end();
  return ok_status();
}

Status Prompter::Scribe::end(bool speaks) {
  tell_tools();
  if (!samples_.empty()) return refused("the chat has no place for a recording");
  if (!answers_.empty()) return refused("the chat has no place for an answer");
  out_.answer(speaks);
  return ok_status();
}

Result<Prompt> Prompter::of_chat(const Chat& chat, std::span<const int64_t> samples,
                                 std::span<const EarlierAnswer> answers, bool speaks) const {
  const json messages = json::parse(chat.messages, nullptr, false);
  if (!messages.is_array() || messages.empty()) return no_list();
  Prompt prompt;
  Writer out(*this, prompt);
  const bool told = std::any_of(messages.begin(), messages.end(),
                                [](const json& message) { return role_of(message) == "system"; });
  if (!told) out.turn("system", kSystem), out.end();
  Scribe scribe(out, ids_, samples, answers, chat.tools == "[]" ? "" : chat.tools);
  for (const json& message : messages)
    if (Status fault = scribe.turn(message); !fault) return fault.error();
  if (Status fault = scribe.end(speaks); !fault) return fault.error();
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
