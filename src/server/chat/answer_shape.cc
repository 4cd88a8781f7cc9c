#include "server/chat/answer_shape.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "server/chat/chat_messages.h"

namespace syrinx {
namespace {

using jinja::Value;

constexpr size_t kMaxTools = 128;

/// Whether the answer may or must call tools.
struct ToolChoice {
  bool none = false, must = false;
  std::optional<std::string> name = {};  ///< the tool that must be called; unset means any tool
};

ToolChoice read_tool_choice(const ChatFields& fields, bool calls_tools) {
  const Value* wish = fields.find("tool_choice");
  ToolChoice out;
  if (wish == nullptr) return out;
  if (wish->is_text()) {
    out.none = wish->text() == "none", out.must = wish->text() == "required";
    if (!out.none && !out.must && wish->text() != "auto")
      fields.unsupported("tool_choice",
                         concat("'tool_choice' may be auto, none, required or a function; '",
                                wish->text().substr(0, 100), "' is not supported."));
  } else {
    const ChatFields choice = fields.need_object("tool_choice");
    const std::string type = choice.need_text("type");
    if (type != "function")
      choice.unsupported("type", concat("A choice of the type '", type.substr(0, 100),
                                        "' is not supported; 'function' is."));
    out = {false, true, choice.need_object("function").need_text("name")};
  }
  if (out.must && !calls_tools)
    fields.unsupported(
        "tool_choice",
        "This model cannot be required to call a tool; 'tool_choice' may be auto or none.");
  return out;
}

/// Returns the names of the tools, one of which the answer must call. Empty: no call is required.
std::vector<std::string> must_call(const ChatFields& fields, const ToolChoice& choice,
                                   std::vector<std::string> names) {
  if (!choice.must) return {};
  if (names.empty())
    fields.refuse("tool_choice", "'tool_choice' requires a call, but the request has no 'tools'.");
  if (!choice.name) return names;
  if (std::find(names.begin(), names.end(), *choice.name) == names.end())
    fields.refuse("tool_choice", concat("Unknown tool '", choice.name->substr(0, 100),
                                        "'; name one of the 'tools'."));
  return {*choice.name};
}

/// Returns the tools that the answer may call, as JSON; an empty string if it may call no tool.
std::string read_tools(const ChatFields& fields, const ToolChoice& choice,
                       std::vector<std::string>& names) {
  const auto* tools = fields.list("tools");
  if (tools == nullptr || tools->empty()) return "";
  if (tools->size() > kMaxTools)
    fields.refuse("tools", concat("'tools' may have at most ", kMaxTools, " tools."));
  for (size_t i = 0; i < tools->size(); ++i) {
    const ChatFields tool = ChatFields::of((*tools)[i], concat("tools[", i, "]"));
    const std::string type = tool.text("type").value_or("function");
    if (type != "function")
      tool.unsupported("type", concat("A tool of the type '", type.substr(0, 100),
                                      "' is not supported; 'function' is."));
    const ChatFields function = tool.need_object("function");
    names.push_back(function.need_text("name"));
    function.object("parameters");
  }
  if (choice.none) return names.clear(), "";
  return json_of(*fields.find("tools"));
}

/// Reads whether the model reasons before it answers, from fields of other servers.
std::optional<bool> read_thinks(const ChatFields& fields) {
  const auto switches = fields.object("chat_template_kwargs");
  if (!switches) return {};
  for (const auto& [name, value] : switches->json().map().entries()) {
    if (name == "enable_thinking") continue;
    fields.unsupported("chat_template_kwargs",
                       "'chat_template_kwargs' may have only 'enable_thinking'.");
  }
  return switches->flag("enable_thinking");
}

}  // namespace

std::string read_response_format(const ChatFields& fields, bool writes_json) {
  const auto format = fields.object("response_format");
  if (!format) return "";
  const std::string type = format->need_text("type");
  if (type == "text") return "";
  if (!writes_json || (type != "json_object" && type != "json_schema"))
    fields.unsupported(
        "response_format",
        concat("'response_format' of the type '", type.substr(0, 100), "' is not supported",
               writes_json ? "; use 'text', 'json_object' or 'json_schema'."
                           : " by this model; use 'text'."));
  if (type == "json_object") return R"({"type": "object"})";
  return json_of(format->need_object("json_schema").need_object("schema").json());
}

void read_answer_shape(const ChatFields& fields, const ChatAbility& model, Chat& chat,
                       std::vector<std::string>& tool_names) {
  const ToolChoice choice = read_tool_choice(fields, model.calls_tools);
  chat.tools = read_tools(fields, choice, tool_names);
  chat.must_call = must_call(fields, choice, tool_names);
  chat.schema = read_response_format(fields, model.writes_json);
  if (!chat.schema.empty() && !tool_names.empty())
    fields.unsupported("response_format",
                       "A 'response_format' of JSON and 'tools' cannot be combined; set "
                       "'tool_choice' to none or send only one of the two.");
  chat.thinks = read_thinks(fields);
}

}  // namespace syrinx
