#include "families/llm/prompter.h"

#include <algorithm>
#include <ctime>

#include "base/check.h"

namespace syrinx::llm {
namespace {

/// Parts a special token that a client has written, so that it is none: U+FDD0, which is no
/// character and means nothing outside of a program.
constexpr std::string_view kMark = "\xef\xb7\x90";
/// Longer texts than this for each id are refused before they are encoded.
constexpr size_t kBytesPerId = 64;

std::string without_marks(std::string_view text) {
  std::string out;
  for (size_t at; (at = text.find(kMark)) != text.npos; text.remove_prefix(at + kMark.size()))
    out += text.substr(0, at);
  return out += text;
}

}  // namespace

Prompter::Prompter(const std::string& dir, Tokenizer tokenizer, int64_t max_ids)
    : tokenizer_(std::move(tokenizer)), template_(ChatTemplate::load(dir)), max_ids_(max_ids) {}

std::string Prompter::harmless(std::string_view text) const {
  const std::string clean = without_marks(text);
  std::string out;
  size_t at = 0;
  for (const Section& token : tokenizer_.specials_in(clean)) {
    if (token.begin < at) continue;
    // A token may take blanks along; the mark goes behind the first byte that is none.
    const size_t cut = std::min(clean.find_first_not_of(" \t\r\n", token.begin), token.end - 1) + 1;
    out.append(clean, at, cut - at);
    out += kMark;
    at = cut;
  }
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
  return Error{
      ErrorCode::kInvalid,
      concat("the prompt has ", bytes, " bytes; this model takes at most ", max_ids_, " tokens"),
      param};
}

Result<std::vector<int32_t>> Prompter::checked(std::vector<int32_t> ids, const char* param) const {
  if (ids.empty()) return Error{ErrorCode::kInvalid, "the prompt is empty", param};
  if (static_cast<int64_t>(ids.size()) <= max_ids_) return ids;
  return Error{
      ErrorCode::kInvalid,
      concat("the prompt has ", ids.size(), " tokens; this model takes at most ", max_ids_), param};
}

Result<std::vector<int32_t>> Prompter::of_chat(const Chat& chat) const {
  if (!template_) {
    return Error{ErrorCode::kUnsupported,
                 "this model has no chat template; it goes on with a text only", "messages"};
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
  const auto text = template_->render(messages.take(), std::move(tools), std::time(nullptr), more);
  if (!text.ok()) return text.error();
  if (Status fault = fits(text.value().size(), "messages"); !fault) return fault.error();
  std::vector<int32_t> ids;
  std::string_view rest = text.value();
  while (!rest.empty()) {
    const size_t mark = rest.find(kMark);
    const std::vector<int32_t> some = tokenizer_.encode(rest.substr(0, mark));
    ids.insert(ids.end(), some.begin(), some.end());
    rest.remove_prefix(mark == rest.npos ? rest.size() : mark + kMark.size());
  }
  return checked(std::move(ids), "messages");
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
