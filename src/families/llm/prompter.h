// Turns a client's text or conversation into the ids of a prompt. Const once loaded; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "families/llm/answer_form.h"
#include "model/request.h"
#include "text/tokens/chat_template.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::llm {

class Prompter {
 public:
  /// Without `chat`, conversations are refused. A prompt has at most `max_ids` ids.
  Prompter(std::optional<ChatTemplate> chat, Tokenizer tokenizer, int64_t max_ids)
      : tokenizer_(std::move(tokenizer)), template_(std::move(chat)), max_ids_(max_ids) {}
  /// Loads the chat template of `dir`, if it has one. Throws LoadError.
  Prompter(const std::string& dir, Tokenizer tokenizer, int64_t max_ids,
           ChatTemplate::Of of = ChatTemplate::Of::kTokenizer);

  /// Returns the ids of a conversation, as the template writes it. Special tokens in its messages
  /// or tools are read as text.
  Result<std::vector<int32_t>> of_chat(const Chat& chat) const;
  /// Returns the ids of a text that the model continues, after the tokenizer's begin tokens.
  /// Special tokens in the text are kept.
  Result<std::vector<int32_t>> of_text(std::string_view text) const;

  /// Returns the forms of an answer to `chat` that calls one of Chat::must_call, one for each name.
  /// A form's beginning is the call up to its arguments, as the template writes it. Its grammar is
  /// the schema of the tool's parameters, or any object if the schema has unsupported parts.
  Result<std::vector<AnswerForm::One>> calls_of(const Chat& chat) const;
  /// Returns the form of an answer that follows Chat::schema.
  Result<std::vector<AnswerForm::One>> json_of(const Chat& chat) const;
  /// Returns the masks of the ids below `ids`, which must be the same number in all calls. The
  /// first call makes the masks.
  std::shared_ptr<const TokenMasks> masks(int32_t ids) const;
  /// Returns whether the template writes tool calls in a form that can be found in answers.
  bool calls_tools() const;

  const Tokenizer& tokenizer() const { return tokenizer_; }
  bool chats() const { return template_.has_value(); }

 private:
  /// The text before the name of a called tool, and the text between the name and the arguments.
  struct CallForm {
    std::string before, behind;
  };
  Result<CallForm> call_form(const Chat& chat) const;
  Result<std::string> rendered(const Chat& chat) const;
  std::vector<int32_t> encoded(std::string_view text) const;
  Result<jinja::Value> value_of(const std::string& json, const char* param) const;
  jinja::Value harmless_value(const jinja::Value& value) const;
  std::string harmless(std::string_view text) const;
  Status fits(size_t bytes, const char* param) const;
  Result<std::vector<int32_t>> checked(std::vector<int32_t> ids, const char* param) const;

  Tokenizer tokenizer_;
  std::optional<ChatTemplate> template_;
  int64_t max_ids_;
  struct Masks {
    std::once_flag once;
    std::shared_ptr<const TokenMasks> made;
  };
  std::shared_ptr<Masks> masks_ = std::make_shared<Masks>();
};

}  // namespace syrinx::llm
