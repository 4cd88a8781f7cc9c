// The chat template of a published checkpoint: from the messages of a conversation to the text of
// a prompt, as transformers' apply_chat_template() makes it. Const once loaded; any thread.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/jinja/template.h"

namespace syrinx {

class ChatTemplate {
 public:
  /// What transformers loads for the model: its processors look elsewhere first.
  enum class Of { kTokenizer, kProcessor };

  /// Reads the template of a model's directory: chat_template.jinja, or "chat_template" of
  /// tokenizer_config.json (a text, or a list of named ones of which "default" and "tool_use" are
  /// read), or that of chat_template.json, which is a processor's first one. Nothing: the model has
  /// none. Throws LoadError.
  static std::optional<ChatTemplate> load(const std::string& directory, Of of = Of::kTokenizer);

  /// A template's text; `where` is for messages, `tokens` are its special tokens: bos_token, ...
  ChatTemplate(const std::string& source, const std::string& where,
               jinja::Template::Variables tokens)
      : main_(source, where), tokens_(std::move(tokens)) {}

  /// `messages` is a list; `tools` a list, or anything else for none. Variables with names of their
  /// own (enable_thinking) may be given. Errors have the param "messages".
  Result<std::string> render(jinja::Value messages, jinja::Value tools, std::time_t now,
                             const jinja::Template::Variables& more = {}) const;

 private:
  ChatTemplate(const std::string& source, const std::string& where) : main_(source, where) {}
  void read_special_tokens(const std::string& directory);

  jinja::Template main_;
  std::optional<jinja::Template> with_tools_;
  jinja::Template::Variables tokens_;  ///< bos_token, eos_token, ...
};

}  // namespace syrinx
