// The chat template of a published checkpoint. It converts the messages of a conversation to the
// text of a prompt, as transformers' apply_chat_template() does. Const after loading: thread-safe.
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
  /// The class that transformers loads for the model. A processor searches other files first.
  enum class Of { kTokenizer, kProcessor };

  /// Loads the template of a model's directory: chat_template.jinja, or else "chat_template" of
  /// tokenizer_config.json or chat_template.json (which a processor reads first). The value is a
  /// text, or a list of named texts, of which "default" and "tool_use" are used. Returns nothing if
  /// the directory has no template. Throws LoadError.
  static std::optional<ChatTemplate> load(const std::string& directory, Of of = Of::kTokenizer);

  /// Parses a template. `where`: its name in messages. `tokens`: special tokens like bos_token.
  ChatTemplate(const std::string& source, const std::string& where,
               jinja::Template::Variables tokens)
      : main_(source, where), tokens_(std::move(tokens)) {}

  /// Renders a prompt. `messages` is a list; `tools` is a list, or any other value for no tools.
  /// `more`: further variables (enable_thinking). Errors have the param "messages".
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
