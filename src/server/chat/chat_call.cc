#include "server/chat/chat_call.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <utility>

#include "base/check.h"
#include "server/chat/sent_recording.h"
#include "server/models/vendor_names.h"
#include "server/request/fields.h"
#include "server/request/service_tier.h"

namespace syrinx {
namespace {

using jinja::make_list;
using jinja::make_map;
using jinja::Map;
using jinja::Value;

constexpr size_t kMaxJsonValues = 1'000'000;
constexpr size_t kMaxStops = 4, kMaxStopBytes = 1000;
constexpr size_t kMaxTools = 128;
constexpr int kMaxLogprobs = 20;
constexpr std::array<std::string_view, 9> kSentFormats{"wav", "mp3", "flac", "ogg", "opus",
                                                       "aac", "m4a", "mp4",  "webm"};

ApiError unsupported(const std::string& param, std::string message) {
  ApiError error = bad_field(param, std::move(message));
  error.code = "unsupported_value";
  return error;
}

ApiError wrong_type(const std::string& param, const char* want, const Value& got) {
  const char* kind = got.is_map()      ? "an object"
                     : got.is_list()   ? "an array"
                     : got.is_text()   ? "a string"
                     : got.is_bool()   ? "a boolean"
                     : got.is_number() ? "a number"
                                       : "null";
  ApiError error = bad_field(param, concat("'", param, "' must be ", want, ", not ", kind, "."));
  error.code = "invalid_type";
  return error;
}

/// Whether it is an integer as JSON Schema means it: 3.0 is one.
bool is_whole(const Value& value) {
  return value.is_int() || (value.is_float() && std::trunc(value.number()) == value.number());
}

int64_t whole_of(const Value& value) {
  return value.is_int() ? value.integer() : static_cast<int64_t>(value.number());
}

/// JSON text of a value that came as such, so that its size is bounded.
std::string json_of(const Value& value) {
  jinja::Budget budget(std::numeric_limits<uint64_t>::max());
  return to_json(value, {}, budget);
}

/// Reads the fields of an object. The first fault is thrown.
class ChatFields {
 public:
  explicit ChatFields(const Map& map, std::string scope = "")
      : map_(map), scope_(std::move(scope)) {}

  std::string path(const char* name) const { return scope_ + name; }
  /// Null when the field is absent or null.
  const Value* find(const char* name) const {
    const Value* value = map_.find(name);
    return value == nullptr || value->is_none() ? nullptr : value;
  }
  std::optional<std::string> text(const char* name) const {
    const Value* value = find(name);
    if (value == nullptr) return {};
    if (!value->is_text()) throw wrong_type(path(name), "a string", *value);
    return value->text();
  }
  std::string need_text(const char* name) const {
    auto value = text(name);
    if (!value) throw bad_field(path(name), concat("'", path(name), "' is missing."));
    return std::move(*value);
  }
  bool flag(const char* name) const {
    const Value* value = find(name);
    if (value == nullptr) return false;
    if (!value->is_bool()) throw wrong_type(path(name), "true or false", *value);
    return value->flag();
  }
  std::optional<float> number(const char* name, double low, double high) const {
    const Value* value = find(name);
    if (value == nullptr) return {};
    if (value->is_bool() || !value->is_number()) throw wrong_type(path(name), "a number", *value);
    check_range(name, value->number(), low, high);
    return static_cast<float>(value->number());
  }
  std::optional<int> integer(const char* name, int low, int high) const {
    const Value* value = find(name);
    if (value == nullptr) return {};
    if (!is_whole(*value)) throw wrong_type(path(name), "an integer", *value);
    check_range(name, value->number(), low, high);
    return static_cast<int>(value->number());
  }
  /// Fields of an object; nothing when it is absent.
  std::optional<ChatFields> sub(const char* name) const {
    const Value* value = find(name);
    if (value == nullptr) return {};
    if (!value->is_map()) throw wrong_type(path(name), "an object", *value);
    return ChatFields(value->map(), path(name) + ".");
  }
  const std::vector<Value>* list(const char* name) const {
    const Value* value = find(name);
    if (value == nullptr) return nullptr;
    if (!value->is_list()) throw wrong_type(path(name), "an array", *value);
    return &value->items();
  }
  const Map& map() const { return map_; }

 private:
  void check_range(const char* name, double value, double low, double high) const {
    if (value >= low && value <= high) return;
    const bool counts = high >= std::numeric_limits<int>::max();  // no bound that matters
    const std::string bounds =
        counts ? concat("at least ", shown_number(low))
               : concat("between ", shown_number(low), " and ", shown_number(high));
    throw bad_field(path(name), concat("'", path(name), "' must be ", bounds, "."));
  }
  const Map& map_;
  std::string scope_;
};

/// Fields that must say nothing but what they say by default.
void refuse_others(const ChatFields& fields) {
  if (const auto n =
          fields.integer("n", std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
      n && *n != 1)
    throw unsupported("n", "'n' must be 1: this server gives one answer to a request.");
  for (const char* name : {"presence_penalty", "frequency_penalty"}) {
    const auto value = fields.number(name, -2, 2);
    if (value && *value != 0)
      throw unsupported(name, concat("'", name,
                                     "' is not supported unless it is 0; "
                                     "'repetition_penalty' is."));
  }
  if (const Value* bias = fields.find("logit_bias"); bias && truth(*bias))
    throw unsupported("logit_bias", "'logit_bias' is not supported.");
  for (const char* name : {"functions", "function_call", "suffix"})
    if (fields.find(name) != nullptr)
      throw unsupported(name, concat("'", name, "' is not supported."));
  if (fields.flag("echo")) throw unsupported("echo", "'echo' is not supported.");
  if (const auto best = fields.integer("best_of", 0, 1 << 20); best && *best != 1)
    throw unsupported("best_of", "'best_of' must be 1.");
}

/// "pcm16" is what OpenAI's chats call "pcm".
std::optional<AudioFormat> spoken_format(const std::string& name) {
  return name == "pcm16" ? AudioFormat::kPcm : audio_format(name);
}

/// How the answer is given: read, or heard with its text as the transcript.
void read_modalities(const ChatFields& fields, bool can_speak, ChatCall& call) {
  bool text = false;
  const auto* kinds = fields.list("modalities");
  for (size_t i = 0; kinds != nullptr && i < kinds->size(); ++i) {
    const std::string kind = (*kinds)[i].is_text() ? (*kinds)[i].text() : "";
    if (kind != "text" && kind != "audio")
      throw unsupported("modalities", "'modalities' may hold \"text\" and \"audio\".");
    (kind == "text" ? text : call.speaks) = true;
  }
  if (kinds != nullptr && !text && !call.speaks)
    throw bad_field("modalities", "'modalities' is empty.");
  if (call.speaks && !can_speak)
    throw unsupported("modalities",
                      "'modalities' must be [\"text\"]: this model answers in words.");
  call.request.text_only = !call.speaks;
  if (const auto shape = fields.text("audio_shape")) {
    if (*shape != "openai" && *shape != "vllm-omni")
      throw unsupported("audio_shape", "'audio_shape' is \"openai\" or \"vllm-omni\".");
    call.apart = *shape == "vllm-omni" && call.speaks;
  }
  const auto audio = fields.sub("audio");
  if (!audio) return;
  if (!call.speaks) throw bad_field("audio", "'audio' needs \"audio\" among the 'modalities'.");
  call.request.voice = audio->text("voice").value_or("");
  if (is_vendor_voice(call.request.voice)) call.request.voice.clear();
  const bool pcm = call.stream && !call.apart;
  const std::string name = audio->text("format").value_or(pcm ? "pcm16" : "wav");
  const auto format = spoken_format(name);
  if (!format)
    throw unsupported("audio.format", concat("There is no format '", name.substr(0, 100),
                                             "'; formats are wav, mp3, flac, opus, aac and "
                                             "pcm16."));
  call.format = *format;
  if (call.apart && call.format != AudioFormat::kWav)
    throw unsupported("audio.format", "In the shape of vLLM-Omni the format is wav.");
}

void read_stops(const ChatFields& fields, SpeechRequest& request) {
  const Value* stop = fields.find("stop");
  if (stop == nullptr) return;
  std::vector<Value> items{*stop};
  if (stop->is_list()) items = stop->items();
  if (items.size() > kMaxStops)
    throw bad_field("stop", concat("'stop' may hold at most ", kMaxStops, " strings."));
  for (const Value& item : items) {
    if (!item.is_text()) throw wrong_type("stop", "a string or an array of strings", item);
    if (item.text().empty() || item.text().size() > kMaxStopBytes)
      throw bad_field("stop", concat("'stop' strings must have 1 to ", kMaxStopBytes, " bytes."));
    request.stop.push_back(item.text());
  }
}

/// What the messages say that is no text, so far.
struct Heard {
  RecordingLimits limits;  ///< max_s is of all recordings; 0: the model does not hear
  bool recalls = false;
  FindAnswer find_answer = {};
  std::vector<std::shared_ptr<const Recording>> recordings = {};
  std::vector<EarlierAnswer> answers = {};
};

std::shared_ptr<const Recording> read_recording_part(const ChatFields& part, const Heard& heard) {
  if (heard.recordings.size() >= kMaxRecordings)
    throw bad_field("messages",
                    concat("A conversation may hold at most ", kMaxRecordings, " recordings."));
  const auto sent = part.sub("input_audio");
  if (!sent)
    throw bad_field(part.path("input_audio"),
                    concat("'", part.path("input_audio"), "' is missing."));
  const std::string format = sent->text("format").value_or("wav");
  if (std::find(kSentFormats.begin(), kSentFormats.end(), format) == kSentFormats.end())
    throw unsupported(sent->path("format"),
                      concat("A recording of the format '", format.substr(0, 100),
                             "' is not supported; send wav, mp3, flac, ogg, opus, aac, m4a or "
                             "webm."));
  RecordingLimits limits = heard.limits;
  for (const auto& each : heard.recordings) limits.max_s -= each->seconds();
  auto recording = sent_recording(sent->need_text("data"), limits);
  if (recording.ok()) return recording.take();
  if (recording.error().code != ErrorCode::kInvalid) throw to_api_error(recording.error());
  const std::string path = sent->path("data");
  throw bad_field(path, concat("'", path, "': ", recording.error().message, "."));
}

/// The content of parts: their text as one, or, for a model that hears, parts as templates know
/// them, in which the places of recordings are told by their type.
Value read_parts(const std::vector<Value>& parts, const std::string& path, bool user,
                 Heard& heard) {
  const bool hears = heard.limits.max_s > 0 && user;
  std::string text;
  std::vector<Value> out;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string at = concat(path, "[", i, "]");
    if (!parts[i].is_map()) throw wrong_type(at, "an object", parts[i]);
    const ChatFields part(parts[i].map(), at + ".");
    const std::string type = part.need_text("type");
    const bool words = type == "text" || type == "refusal";
    if (!words && !(hears && type == "input_audio"))
      throw unsupported(at + ".type",
                        concat("This model reads text", hears ? " and hears input_audio" : "",
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

/// What the client expects of the answer: text, or a list of parts of text.
void read_prediction(const ChatFields& fields, SpeechRequest& request) {
  const auto prediction = fields.sub("prediction");
  if (!prediction) return;
  const std::string type = prediction->need_text("type");
  if (type != "content")
    throw unsupported("prediction.type", concat("'", type.substr(0, 100), "' is not supported."));
  const Value* content = prediction->find("content");
  if (content != nullptr && content->is_list()) {
    Heard nothing;
    request.expected = read_parts(content->items(), "prediction.content", false, nothing).text();
  } else {
    request.expected = prediction->need_text("content");
  }
}

void read_wishes(const ChatFields& fields, SpeechRequest& request) {
  request.temperature = fields.number("temperature", 0, 2);
  request.top_p = fields.number("top_p", 0, 1);
  request.min_p = fields.number("min_p", 0, 1);
  request.top_k = fields.integer("top_k", -1, 1 << 24);
  if (request.top_k == -1) request.top_k = 0;  // as others say that it is off
  request.repetition_penalty = fields.number("repetition_penalty", 0.01, 100);
  request.ignore_stop = fields.flag("ignore_eos");
  if (const Value* tier = fields.find("service_tier")) {
    if (!tier->is_text()) throw wrong_type("service_tier", "a string", *tier);
    const auto background = in_background(tier->text());
    if (!background) throw bad_field("service_tier", kServiceTiers);
    request.background = *background;
  }
  const Value* seed = fields.find("seed");
  if (seed != nullptr &&
      (!is_whole(*seed) || (!seed->is_int() && std::fabs(seed->number()) >= 0x1p63)))
    throw wrong_type("seed", "an integer", *seed);
  std::random_device random;
  request.seed = seed != nullptr ? static_cast<uint64_t>(whole_of(*seed))
                                 : (uint64_t{random()} << 32 | random()) >> 11;  // exact as JSON
  constexpr int kMost = std::numeric_limits<int>::max();
  const auto most = fields.integer("max_completion_tokens", 1, kMost);
  request.max_tokens = most ? *most : fields.integer("max_tokens", 1, kMost).value_or(0);
  read_prediction(fields, request);
}

/// Tool calls with their arguments as objects, which is what templates expect.
Value read_tool_calls(const std::vector<Value>& calls, const std::string& path) {
  std::vector<Value> out;
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string at = concat(path, "[", i, "]");
    if (!calls[i].is_map()) throw wrong_type(at, "an object", calls[i]);
    const ChatFields call(calls[i].map(), at + ".");
    const auto function = call.sub("function");
    if (!function) throw bad_field(at + ".function", concat("'", at, ".function' is missing."));
    function->need_text("name");
    Map changed = function->map();
    const Value* given = function->find("arguments");
    Value arguments = given == nullptr ? make_map({}) : *given;
    if (arguments.is_text()) {
      auto parsed =
          jinja::parse_json(arguments.text().empty() ? "{}" : arguments.text(), kMaxJsonValues);
      if (!parsed || !parsed.value().is_map())
        throw bad_field(at + ".function.arguments",
                        concat("'", at, ".function.arguments' must be a JSON object as text."));
      arguments = parsed.take();
    }
    if (!arguments.is_map()) throw wrong_type(at + ".function.arguments", "a string", arguments);
    changed.set("arguments", std::move(arguments));
    Map whole = calls[i].map();
    whole.set("function", make_map(std::move(changed)));
    out.push_back(make_map(std::move(whole)));
  }
  return make_list(std::move(out));
}

/// An answer that the client names: its place, where the model takes it as it was made, else its
/// text. Nothing: it is not known.
std::optional<Value> read_named_answer(const ChatFields& message, Heard& heard) {
  const auto audio = message.sub("audio");
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
  if (!value.is_map()) throw wrong_type(at, "an object", value);
  const ChatFields message(value.map(), at + ".");
  std::string role = message.need_text("role");
  if (role == "developer") role = "system";
  if (role != "system" && role != "user" && role != "assistant" && role != "tool")
    throw bad_field(at + ".role",
                    concat("There is no role '", role.substr(0, 100),
                           "'; roles are system, developer, user, assistant and tool."));
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
      throw wrong_type(at + ".content", "a string or an array of parts", *content);
    said = content->text();
  } else if (message.find("audio") != nullptr) {
    throw unsupported(at + ".audio",
                      "This answer is not kept here any more: send its transcript as 'content'.");
  } else if (role != "assistant") {
    throw bad_field(at + ".content", concat("'", at, ".content' is missing."));
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

std::string read_messages(const ChatFields& fields, Heard& heard) {
  const auto* messages = fields.list("messages");
  if (messages == nullptr || messages->empty())
    throw bad_field("messages", "'messages' must hold at least one message.");
  std::vector<Value> out;
  for (size_t i = 0; i < messages->size(); ++i)
    out.push_back(read_message((*messages)[i], concat("messages[", i, "]"), heard));
  return json_of(make_list(std::move(out)));
}

/// Whether tools may or must be called.
struct ToolChoice {
  bool none = false, must = false;
  std::optional<std::string> name = {};  ///< of the one that must be; absent: any
};

ToolChoice read_tool_choice(const ChatFields& fields, bool calls_tools) {
  const Value* wish = fields.find("tool_choice");
  ToolChoice out;
  if (wish == nullptr) return out;
  if (wish->is_text()) {
    out.none = wish->text() == "none", out.must = wish->text() == "required";
    if (!out.none && !out.must && wish->text() != "auto")
      throw unsupported("tool_choice",
                        concat("'tool_choice' may be auto, none, required or a function; '",
                               wish->text().substr(0, 100), "' is not supported."));
  } else {
    const ChatFields choice = *fields.sub("tool_choice");
    const std::string type = choice.need_text("type");
    if (type != "function")
      throw unsupported("tool_choice.type", concat("A choice of the type '", type.substr(0, 100),
                                                   "' is not supported; 'function' is."));
    const auto function = choice.sub("function");
    if (!function) throw bad_field("tool_choice.function", "'tool_choice.function' is missing.");
    out = {false, true, function->need_text("name")};
  }
  if (out.must && !calls_tools)
    throw unsupported("tool_choice",
                      "This model cannot be made to call a tool; 'tool_choice' may be auto or "
                      "none.");
  return out;
}

/// Of the tools of these names, those of which one must be called.
std::vector<std::string> must_call(const ToolChoice& choice, std::vector<std::string> names) {
  if (!choice.must) return {};
  if (names.empty())
    throw bad_field("tool_choice", "'tool_choice' asks for a call, but there are no 'tools'.");
  if (!choice.name) return names;
  if (std::find(names.begin(), names.end(), *choice.name) == names.end())
    throw bad_field("tool_choice", concat("There is no tool '", choice.name->substr(0, 100),
                                          "' among the 'tools'."));
  return {*choice.name};
}

/// The tools that the answer may call, as JSON; "" when it may call none.
std::string read_tools(const ChatFields& fields, const ToolChoice& choice,
                       std::vector<std::string>& names) {
  const auto* tools = fields.list("tools");
  if (tools == nullptr || tools->empty()) return "";
  if (tools->size() > kMaxTools)
    throw bad_field("tools", concat("'tools' may hold at most ", kMaxTools, " tools."));
  for (size_t i = 0; i < tools->size(); ++i) {
    const std::string at = concat("tools[", i, "]");
    const Value& value = (*tools)[i];
    if (!value.is_map()) throw wrong_type(at, "an object", value);
    const ChatFields tool(value.map(), at + ".");
    const std::string type = tool.text("type").value_or("function");
    if (type != "function")
      throw unsupported(at + ".type", concat("A tool of the type '", type.substr(0, 100),
                                             "' is not supported; 'function' is."));
    const auto function = tool.sub("function");
    if (!function) throw bad_field(at + ".function", concat("'", at, ".function' is missing."));
    names.push_back(function->need_text("name"));
    function->sub("parameters");
  }
  if (choice.none) return names.clear(), "";
  return json_of(Value(*fields.find("tools")));
}

/// Switches of the model's template, as other servers take them.
std::optional<bool> read_thinks(const ChatFields& fields) {
  const auto switches = fields.sub("chat_template_kwargs");
  if (!switches) return {};
  for (const auto& [name, value] : switches->map().entries()) {
    if (name == "enable_thinking") continue;
    throw unsupported("chat_template_kwargs",
                      "'chat_template_kwargs' may hold 'enable_thinking' and nothing else.");
  }
  if (switches->find("enable_thinking") == nullptr) return {};
  return switches->flag("enable_thinking");
}

/// The JSON schema that the answer must follow; "" when it may be any text.
std::string read_response_format(const ChatFields& fields, bool writes_json) {
  const auto format = fields.sub("response_format");
  if (!format) return "";
  const std::string type = format->need_text("type");
  if (type == "text") return "";
  if (!writes_json || (type != "json_object" && type != "json_schema"))
    throw unsupported("response_format",
                      concat("'response_format' of the type '", type.substr(0, 100),
                             "' is not supported",
                             writes_json ? "; 'text', 'json_object' and 'json_schema' are."
                                         : " by this model; 'text' is."));
  if (type == "json_object") return R"({"type": "object"})";
  const auto given = format->sub("json_schema");
  if (!given)
    throw bad_field("response_format.json_schema", "'response_format.json_schema' is missing.");
  if (!given->sub("schema"))
    throw bad_field("response_format.json_schema.schema",
                    "'response_format.json_schema.schema' is missing.");
  return json_of(*given->find("schema"));
}

void read_chat(const ChatFields& fields, const ChatAbility& model, ChatCall& call) {
  auto chat = std::make_shared<Chat>();
  read_modalities(fields, model.speaks, call);
  Heard heard{.limits = {.max_s = model.hears_s,
                         .first_channel = model.first_channel,
                         .helper = model.decoder},
              .recalls = model.recalls,
              .find_answer = model.find_answer};
  chat->messages = read_messages(fields, heard);
  call.request.recordings = std::move(heard.recordings);
  call.request.answers = std::move(heard.answers);
  const ToolChoice choice = read_tool_choice(fields, model.calls_tools);
  chat->tools = read_tools(fields, choice, call.tool_names);
  chat->must_call = must_call(choice, call.tool_names);
  chat->schema = read_response_format(fields, model.writes_json);
  if (!chat->schema.empty() && !call.tool_names.empty())
    throw unsupported("response_format",
                      "A 'response_format' of JSON and 'tools' cannot be combined; set "
                      "'tool_choice' to none or leave one of the two out.");
  chat->thinks = read_thinks(fields);
  call.request.chat = std::move(chat);
  call.request.guidance = fields.number("guidance", 0, 20);
  const auto top = fields.integer("top_logprobs", 0, kMaxLogprobs);
  const bool wanted = fields.flag("logprobs");
  if (top && !wanted) throw bad_field("top_logprobs", "'top_logprobs' needs 'logprobs': true.");
  if (wanted) call.request.top_logprobs = top.value_or(0);
}

void read_completion(const ChatFields& fields, ChatCall& call) {
  const Value* prompt = fields.find("prompt");
  if (prompt == nullptr) throw bad_field("prompt", "'prompt' must hold the text to go on with.");
  if (prompt->is_list() && prompt->items().size() == 1) prompt = &prompt->items()[0];
  if (prompt->is_list())
    throw unsupported("prompt",
                      "'prompt' must be one text; ids and several texts are not "
                      "supported.");
  if (!prompt->is_text()) throw wrong_type("prompt", "a string", *prompt);
  read_response_format(fields, false);
  if (fields.find("modalities") != nullptr || fields.find("audio") != nullptr)
    throw unsupported("modalities", "A text is gone on with in text only.");
  call.request.text = prompt->text();
  call.request.text_only = true;
  constexpr int kDefaultTokens = 16;  // as OpenAI's API
  if (call.request.max_tokens == 0) call.request.max_tokens = kDefaultTokens;
  call.request.top_logprobs = fields.integer("logprobs", 0, kMaxLogprobs).value_or(-1);
}

}  // namespace

FindAnswer find_among(std::map<std::string, NamedAnswer> answers) {
  return [answers = std::move(answers)](const std::string& id) {
    const auto found = answers.find(id);
    return found == answers.end() ? std::nullopt : std::optional(found->second);
  };
}

std::variant<ChatBody, ApiError> ChatBody::parse(ChatKind kind, std::string_view body) {
  auto fields = jinja::parse_json(body, kMaxJsonValues);
  if (!fields)
    return ApiError{.message = concat("The body ", fields.error().message, "."),
                    .code = "invalid_json"};
  if (!fields.value().is_map())
    return ApiError{.message = "The body must be a JSON object.", .code = "invalid_json"};
  ChatBody out;
  out.kind_ = kind;
  out.fields_ = fields.take();
  const Value* model = out.fields_.map().find("model");
  if (model != nullptr && model->is_text()) out.model_ = model->text();
  return out;
}

std::variant<ChatCall, ApiError> ChatBody::call(const ChatAbility& model) const try {
  const ChatFields fields(fields_.map());
  fields.text("model");
  ChatCall call;
  call.kind = kind_;
  call.request.text_only = true;  // nothing here takes what is heard
  refuse_others(fields);
  read_stops(fields, call.request);
  read_wishes(fields, call.request);
  call.stream = fields.flag("stream");
  if (const auto options = fields.sub("stream_options")) {
    if (!call.stream) return bad_field("stream_options", "'stream_options' needs 'stream': true.");
    call.usage = options->flag("include_usage");
  }
  if (kind_ == ChatKind::kChat) {
    read_chat(fields, model, call);
  } else {
    read_completion(fields, call);
  }
  return call;
} catch (const ApiError& error) {
  return error;
} catch (const jinja::Fault& fault) {
  return bad_field("messages", concat("The conversation ", fault.what(), "."));
}

std::optional<ApiError> refuse_kind(const PipelineInfo& info, bool asked_to_write) {
  if (asked_to_write ? info.writes : info.speaks) return {};
  return ApiError{
      .status = 400,
      .message = concat("The model '", info.model, "' ",
                        asked_to_write ? "speaks and does not write: POST /v1/audio/speech."
                                       : "writes and does not speak: POST /v1/chat/completions."),
      .param = "model",
      .code = "unsupported_model"};
}

}  // namespace syrinx
