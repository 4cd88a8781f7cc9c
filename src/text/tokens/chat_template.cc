#include "text/tokens/chat_template.h"

#include <array>
#include <nlohmann/json.hpp>

#include "io/file.h"
#include "io/json.h"
#include "text/jinja/parser.h"

namespace syrinx {
namespace {

constexpr const char* kKey = "chat_template";
constexpr const char* kFile = "chat_template.jinja";
constexpr const char* kConfig = "tokenizer_config.json";
constexpr const char* kLegacy = "chat_template.json";

/// Returns the text of a special token: the value itself, or its field "content".
std::optional<std::string> token_text(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object()) return {};
  const auto content = value.find("content");
  if (content == value.end() || !content->is_string()) return {};
  return content->get<std::string>();
}

}  // namespace

std::optional<ChatTemplate> ChatTemplate::load(const std::string& directory, Of of) {
  std::optional<ChatTemplate> out;
  const bool tokenizer = of == Of::kTokenizer;
  const auto order =
      tokenizer ? std::array{kFile, kConfig, kLegacy} : std::array{kLegacy, kFile, kConfig};
  for (const char* name : order) {
    const std::string path = join_path(directory, name);
    if (out || !is_file(path)) continue;
    if (name == kFile) {
      out = ChatTemplate(read_file(path, jinja::kMaxTemplateBytes), path);
      continue;
    }
    const Config config = Config::load(path);
    if (!config.has(kKey)) continue;
    const std::string where = config.where(kKey);
    if (!config.raw()[kKey].is_array()) {
      out = ChatTemplate(config.s(kKey), where);
      continue;
    }
    std::optional<std::string> main, tools;
    for (const Config& entry : config.subs(kKey)) {
      const std::string kind = entry.s("name");
      if (kind == "default") main = entry.s("template");
      if (kind == "tool_use") tools = entry.s("template");
    }
    if (!main) config.fail(kKey, "expected one of the templates to be called \"default\"");
    out = ChatTemplate(*main, where + " (default)");
    if (tools) out->with_tools_ = jinja::Template(*tools, where + " (tool_use)");
  }
  if (out) out->read_special_tokens(directory);
  return out;
}

void ChatTemplate::read_special_tokens(const std::string& directory) {
  const std::string path = join_path(directory, kConfig);
  if (!is_file(path)) return;
  const Config config = Config::load(path);
  for (const auto& [key, value] : config.raw().items()) {
    if (!key.ends_with("_token")) continue;
    if (auto text = token_text(value)) tokens_.emplace_back(key, std::move(*text));
  }
}

Result<std::string> ChatTemplate::render(jinja::Value messages, jinja::Value tools, std::time_t now,
                                         const jinja::Template::Variables& more) const {
  const bool has_tools = tools.is_list() && !tools.items().empty();
  jinja::Template::Variables variables = tokens_;
  variables.emplace_back("messages", std::move(messages));
  variables.emplace_back("tools", has_tools ? std::move(tools) : jinja::None{});
  variables.emplace_back("documents", jinja::None{});
  variables.emplace_back("add_generation_prompt", true);
  variables.insert(variables.end(), more.begin(), more.end());
  const jinja::Template& chosen = has_tools && with_tools_ ? *with_tools_ : main_;
  auto text = chosen.render(variables, now);
  if (text.ok()) return text;
  Error error = text.error();
  error.param = "messages";
  return error;
}

}  // namespace syrinx
