#include "server/chat/chat_messages.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "server/chat/sent_recording.h"

namespace syrinx {
namespace {

using jinja::make_list;
using jinja::make_map;
using jinja::Map;
using jinja::Value;

constexpr std::array<std::string_view, 9> kSentFormats{"wav", "mp3", "flac", "ogg", "opus",
                                                       "aac", "m4a", "mp4",  "webm"};

std::shared_ptr<const Recording> read_recording_part(const ChatFields& part, const Heard& heard) {
  if (heard.recordings.size() >= kMaxRecordings)
    throw bad_field("messages",
                    concat("A conversation may have at most ", kMaxRecordings, " recordings."));
  const ChatFields sent = part.need_object("input_audio");
  const std::string format = sent.text("format").value_or("wav");
  if (std::find(kSentFormats.begin(), kSentFormats.end(), format) == kSentFormats.end())
    sent.unsupported("format",
                     concat("A recording of the format '", format.substr(0, 100),
                            "' is not supported; send wav, mp3, flac, ogg, opus, aac, m4a or "
                            "webm."));
  RecordingLimits limits = heard.limits;
  for (const auto& each : heard.recordings) limits.max_s -= each->seconds();
  auto recording = sent_recording(sent.need_text("data"), limits);
  if (recording.ok()) return recording.take();
  if (recording.error().code != ErrorCode::kInvalid) throw to_api_error(recording.error());
  sent.refuse("data", concat("'", sent.path("data"), "': ", recording.error().message, "."));
}

/// Reads a message's array of parts and returns its joined text. For a model that accepts audio,
/// returns parts as chat templates expect them: the type of a part marks the place of a recording.
Value read_parts(const std::vector<Value>& parts, const std::string& path, bool user,
                 Heard& heard) {
  const bool hears = heard.limits.max_s > 0 && user;
  std::string text;
  std::vector<Value> out;
  for (size_t i = 0; i < parts.size(); ++i) {
    const ChatFields part = ChatFields::of(parts[i], concat(path, "[", i, "]"));
    const std::string type = part.need_text("type");
    const bool words = type == "text" || type == "refusal";
    if (!words && !(hears && type == "input_audio"))
      part.unsupported("type",
                       concat("This model reads text", hears ? " and input_audio" : "",
                              "; a part of the type '", type.substr(0, 100), "' is not supported",
                              heard.limits.max_s > 0 && !user ? " here." : "."));
    Map made;
    if (words) {
      const std::string said = part.need_text(type == "text" ? "text" : "refusal");
      text += (i > 0 ? "\n" : "") + said;
      made.set("type", "text");
      made.set("text", said);
    } else {
      heard.recordings.push_back(read_recording_part(part, heard));
      made.set("type", "audio");
      made.set("audio", "");
    }
    out.push_back(make_map(std::move(made)));
  }
  return hears ? make_list(std::move(out)) : Value(std::move(text));
}

/// Reads tool calls; converts their arguments to objects, which templates expect.
Value read_tool_calls(const std::vector<Value>& calls, const std::string& path) {
  std::vector<Value> out;
  for (size_t i = 0; i < calls.size(); ++i) {
    const ChatFields call = ChatFields::of(calls[i], concat(path, "[", i, "]"));
    const ChatFields function = call.need_object("function");
    function.need_text("name");
    Map changed = function.json().map();
    const Value* given = function.find("arguments");
    Value arguments = given == nullptr ? make_map({}) : *given;
    if (arguments.is_text()) {
      auto parsed = jinja::parse_json(arguments.text().empty() ? "{}" : arguments.text());
      if (!parsed || !parsed.value().is_map())
        function.refuse("arguments", concat("'", function.path("arguments"),
                                            "' must be a JSON object as text."));
      arguments = parsed.take();
    }
    if (!arguments.is_map()) function.wrong_type("arguments", "a string", arguments);
    changed.set("arguments", std::move(arguments));
    Map whole = calls[i].map();
    whole.set("function", make_map(std::move(changed)));
    out.push_back(make_map(std::move(whole)));
  }
  return make_list(std::move(out));
}

/// Reads a reference to an earlier answer. Returns a marker if the model accepts the answer's ids,
/// else the answer's text; nothing if the answer is unknown.
std::optional<Value> read_named_answer(const ChatFields& message, Heard& heard) {
  const auto audio = message.object("audio");
  if (!audio || !heard.find_answer) return std::nullopt;
  auto found = heard.find_answer(audio->text("id").value_or(""));
  if (!found) return std::nullopt;
  if (!heard.recalls || found->made.ids == nullptr) return Value(std::move(found->text));
  heard.answers.push_back(std::move(found->made));
  Map part;
  part.set("type", "answer");
  return make_list({make_map(std::move(part))});
}

Value read_message(const Value& value, const std::string& at, Heard& heard) {
  const ChatFields message = ChatFields::of(value, at);
  std::string role = message.need_text("role");
  if (role == "developer") role = "system";
  if (role != "system" && role != "user" && role != "assistant" && role != "tool")
    message.refuse("role", concat("Unknown role '", role.substr(0, 100),
                                  "'; use system, developer, user, assistant or tool."));
  Map out;
  out.set("role", role);
  const auto* calls = role == "assistant" ? message.list("tool_calls") : nullptr;
  const Value* content = message.find("content");
  Value said = std::string();
  std::optional<Value> named;
  if (role == "assistant") named = read_named_answer(message, heard);
  if (named) {
    said = std::move(*named);
  } else if (content != nullptr && content->is_list()) {
    said = read_parts(content->items(), at + ".content", role == "user", heard);
  } else if (content != nullptr) {
    if (!content->is_text())
      message.wrong_type("content", "a string or an array of parts", *content);
    said = content->text();
  } else if (message.find("audio") != nullptr) {
    message.unsupported(
        "audio", "This server has not stored this answer: send its transcript as 'content'.");
  } else if (role != "assistant") {
    message.missing("content");
  }
  out.set("content", std::move(said));
  for (const char* name : {"name", "tool_call_id", "reasoning_content"})
    if (auto more = message.text(name)) out.set(name, std::move(*more));
  if (auto thoughts = message.text("reasoning"); thoughts && !out.find("reasoning_content"))
    out.set("reasoning_content", std::move(*thoughts));
  if (calls != nullptr && !calls->empty())
    out.set("tool_calls", read_tool_calls(*calls, at + ".tool_calls"));
  return make_map(std::move(out));
}

}  // namespace

std::string json_of(const Value& value) {
  jinja::Budget budget(std::numeric_limits<uint64_t>::max());
  return to_json(value, {}, budget);
}

std::string read_messages(const ChatFields& fields, Heard& heard) {
  const auto* messages = fields.list("messages");
  if (messages == nullptr || messages->empty())
    fields.refuse("messages", "'messages' must have at least one message.");
  std::vector<Value> out;
  for (size_t i = 0; i < messages->size(); ++i)
    out.push_back(read_message((*messages)[i], concat("messages[", i, "]"), heard));
  return json_of(make_list(std::move(out)));
}

std::string read_prediction(const ChatFields& fields) {
  const auto prediction = fields.object("prediction");
  if (!prediction) return "";
  const std::string type = prediction->need_text("type");
  if (type != "content")
    prediction->unsupported("type", concat("'", type.substr(0, 100), "' is not supported."));
  const Value* content = prediction->find("content");
  if (content != nullptr && content->is_list()) {
    Heard nothing;
    return read_parts(content->items(), prediction->path("content"), false, nothing).text();
  }
  return prediction->need_text("content");
}

}  // namespace syrinx
