#include "families/llm/prompter.h"

#include <algorithm>
#include <ctime>

#include "base/ascii.h"
#include "base/check.h"
#include "model/past_context.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::llm {
namespace {

/// Splits a special token in a client's text, so that the tokenizer reads it as plain text. U+FDD0
/// is a noncharacter that no client's text should contain.
constexpr std::string_view kMark = "\xef\xb7\x90";
/// Names for an example of a tool call. They must not occur in a template.
constexpr std::string_view kToolName = "name_of_the_tool_x", kArgument = "name_of_its_argument_x";
constexpr const char* kTools =
    R"([{"type": "function", "function": {"name": "f", "description": "", "parameters": {}}}])";
constexpr const char* kQuestion = R"([{"role": "user", "content": "?"}])";
constexpr const char* kCalled =
    R"([{"role": "user", "content": "?"}, {"role": "assistant", "content": "", "tool_calls": [)"
    R"({"id": "call00000", "type": "function", "function": {"name": "name_of_the_tool_x",)"
    R"( "arguments": {"name_of_its_argument_x": 0}}}]}])";
/// Most bytes of a text for each id of a prompt. Longer texts are refused before they are encoded.
constexpr size_t kBytesPerId = 64;

std::string without_marks(std::string_view text) {
  std::string out;
  for (size_t at; (at = text.find(kMark)) != text.npos; text.remove_prefix(at + kMark.size()))
    out += text.substr(0, at);
  return out += text;
}

/// Returns the grammar of a tool's parameters.
JsonGrammar arguments_grammar(const Chat& chat, const std::string& name) {
  const auto tools = jinja::parse_json(chat.tools);
  if (!tools.ok() || !tools.value().is_list()) return {};
  for (const jinja::Value& tool : tools.value().items()) {
    const jinja::Value* function = tool.is_map() ? tool.map().find("function") : nullptr;
    if (function == nullptr || !function->is_map()) continue;
    const jinja::Value* its_name = function->map().find("name");
    const jinja::Value* parameters = function->map().find("parameters");
    if (its_name == nullptr || !its_name->is_text() || its_name->text() != name) continue;
    if (parameters == nullptr) return {};
    auto grammar = JsonGrammar::of_schema(*parameters);
    return grammar.ok() ? grammar.take() : JsonGrammar();
  }
  return {};
}

}  // namespace

Prompter::Prompter(const std::string& dir, Tokenizer tokenizer, int64_t max_ids,
                   ChatTemplate::Of of)
    : Prompter(ChatTemplate::load(dir, of), std::move(tokenizer), max_ids) {}

std::string Prompter::harmless(std::string_view text) const {
  const std::string clean = without_marks(text);
  std::string out;
  size_t at = 0;
  const auto part_at = [&](size_t place) {
    const size_t cut = place + utf8_at(clean, place).size;
    out.append(clean, at, cut - at);
    out += kMark;
    at = cut;
  };
  for (const Section& token : tokenizer_.specials_in(clean)) {
    if (token.begin < at) continue;
    // A token may include spaces around it. The mark is inserted after the first character that is
    // not a space.
    size_t place = token.begin;
    for (CodePoint c; is_space((c = utf8_at(clean, place)).value) && place + c.size < token.end;)
      place += c.size;
    part_at(place);
  }
  // A template may join texts without a separator, so a special token may span two texts.
  const auto begun = [&] {
    return at + tokenizer_.special_begun(std::string_view(clean).substr(at));
  };
  for (size_t place; (place = begun()) < clean.size();) part_at(place);
  return out.append(clean, at);
}

jinja::Value Prompter::harmless_value(const jinja::Value& value) const {
  if (value.is_text()) return harmless(value.text());
  if (value.is_list()) {
    std::vector<jinja::Value> items;
    for (const jinja::Value& item : value.items()) items.push_back(harmless_value(item));
    return jinja::make_list(std::move(items));
  }
  if (!value.is_map()) return value;
  jinja::Map map;
  for (const auto& [key, item] : value.map().entries())
    map.set(harmless(key), harmless_value(item));
  return jinja::make_map(std::move(map));
}

Result<jinja::Value> Prompter::value_of(const std::string& json, const char* param) const {
  auto value = jinja::parse_json(json);
  if (!value.ok())
    return Error{ErrorCode::kInvalid, concat("'", param, "' ", value.error().message), param};
  const auto is_object = [](const jinja::Value& item) { return item.is_map(); };
  if (!value.value().is_list() ||
      !std::all_of(value.value().items().begin(), value.value().items().end(), is_object))
    return Error{ErrorCode::kInvalid, concat("'", param, "' must be a list of objects"), param};
  return harmless_value(value.value());
}

Status Prompter::fits(size_t bytes, const char* param) const {
  if (bytes <= static_cast<size_t>(max_ids_) * kBytesPerId) return ok_status();
  return Error{ErrorCode::kInvalid,
               concat(kPastContext, max_ids_ + 1, " tokens. However, your ", param, " have ", bytes,
                      " bytes, which is more than ", kBytesPerId,
                      " bytes for each token. Shorten the text."),
               param};
}

Result<std::vector<int32_t>> Prompter::checked(std::vector<int32_t> ids, const char* param) const {
  if (ids.empty()) return Error{ErrorCode::kInvalid, "the prompt is empty", param};
  if (static_cast<int64_t>(ids.size()) <= max_ids_) return ids;
  return past_context(max_ids_ + 1, std::ssize(ids), param);
}

/// Returns the text of the prompt. Marks split the special tokens in the client's texts.
Result<std::string> Prompter::rendered(const Chat& chat) const {
  if (!template_) {
    return Error{ErrorCode::kUnsupported,
                 "this model has no chat template; it only continues texts", "messages"};
  }
  auto messages = value_of(chat.messages, "messages");
  if (!messages.ok()) return messages.error();
  jinja::Value tools;
  if (!chat.tools.empty()) {
    auto given = value_of(chat.tools, "tools");
    if (!given.ok()) return given.error();
    tools = given.take();
  }
  jinja::Template::Variables more;
  if (chat.thinks) more.emplace_back("enable_thinking", *chat.thinks);
  return template_->render(messages.take(), std::move(tools), std::time(nullptr), more);
}

std::vector<int32_t> Prompter::encoded(std::string_view rest) const {
  std::vector<int32_t> ids;
  while (!rest.empty()) {
    const size_t mark = rest.find(kMark);
    const std::vector<int32_t> some = tokenizer_.encode(rest.substr(0, mark));
    ids.insert(ids.end(), some.begin(), some.end());
    rest.remove_prefix(mark == rest.npos ? rest.size() : mark + kMark.size());
  }
  return ids;
}

Result<std::vector<int32_t>> Prompter::of_chat(const Chat& chat) const {
  const auto text = rendered(chat);
  if (!text.ok()) return text.error();
  if (Status fault = fits(text.value().size(), "messages"); !fault) return fault.error();
  return checked(encoded(text.value()), "messages");
}

/// Finds the form of a call in the text that the template makes from an answer with a tool call.
Result<Prompter::CallForm> Prompter::call_form(const Chat& chat) const {
  const Error none{
      ErrorCode::kUnsupported,
      "this model's chat template does not support calls of tools, so no call can be required",
      "tool_choice"};
  Chat probe{kQuestion, chat.tools, chat.thinks, {}};
  const auto asked = rendered(probe);
  probe.messages = kCalled;
  const auto called = rendered(probe);
  if (!asked.ok() || !called.ok() || !called.value().starts_with(asked.value())) return none;
  const std::string& text = called.value();
  const size_t begin = asked.value().size(), name = text.find(kToolName, begin);
  const size_t argument = text.find(kArgument, name == text.npos ? name : name + kToolName.size());
  if (argument == text.npos) return none;
  const size_t behind = name + kToolName.size(), arguments = text.rfind('{', argument);
  if (arguments == text.npos || arguments < behind) return none;
  const size_t last = text.find_last_not_of(" \t\r\n", arguments - 1);
  CallForm form{text.substr(begin, name - begin), text.substr(behind, last + 1 - behind)};
  const bool found_again =
      form.before.find("<tool_call>") != std::string::npos || trimmed(form.before).starts_with('{');
  return found_again ? Result(std::move(form)) : Result<CallForm>(none);
}

bool Prompter::calls_tools() const { return template_ && call_form({"", kTools, {}, {}}).ok(); }

Result<std::vector<AnswerForm::One>> Prompter::calls_of(const Chat& chat) const {
  const auto form = call_form(chat);
  if (!form.ok()) return form.error();
  const auto& [before, behind] = form.value();
  const std::string around = before + behind;
  const auto opened = std::count(around.begin(), around.end(), '{');
  const auto closed = std::count(around.begin(), around.end(), '}');
  std::vector<AnswerForm::One> out;
  for (const std::string& name : chat.must_call) {
    out.push_back({encoded(before + harmless(name) + behind), arguments_grammar(chat, name),
                   static_cast<int>(std::max<std::ptrdiff_t>(opened - closed, 0))});
  }
  return out;
}

Result<std::vector<AnswerForm::One>> Prompter::json_of(const Chat& chat) const {
  auto schema = jinja::parse_json(chat.schema);
  if (!schema.ok())
    return Error{ErrorCode::kInvalid, concat("the schema ", schema.error().message),
                 "response_format"};
  auto grammar = JsonGrammar::of_schema(schema.value());
  if (!grammar.ok()) return grammar.error();
  std::vector<AnswerForm::One> out;
  out.push_back({{}, grammar.take()});
  return out;
}

std::shared_ptr<const TokenMasks> Prompter::masks(int32_t ids) const {
  std::call_once(masks_->once,
                 [&] { masks_->made = std::make_shared<const TokenMasks>(tokenizer_, ids); });
  return masks_->made;
}

Result<std::vector<int32_t>> Prompter::of_text(std::string_view text) const {
  if (Status fault = fits(text.size(), "prompt"); !fault) return fault.error();
  std::vector<int32_t> ids = tokenizer_.prefix();
  const std::vector<int32_t> some = tokenizer_.encode(text);
  ids.insert(ids.end(), some.begin(), some.end());
  ids.insert(ids.end(), tokenizer_.suffix().begin(), tokenizer_.suffix().end());
  return checked(std::move(ids), "prompt");
}

}  // namespace syrinx::llm
