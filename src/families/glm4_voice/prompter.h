// Makes the ids of a prompt from a conversation, as in the authors' web demo. Const once made; any
// thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "families/glm4_voice/config.h"
#include "families/voice_chat/chat_prompt.h"
#include "model/request.h"

namespace syrinx::glm4_voice {

class Prompter {
 public:
  Prompter(const Tokenizer& tokenizer, const Ids& ids, int64_t max_ids)
      : tokenizer_(tokenizer), ids_(ids), max_ids_(max_ids) {}

  /// Returns the prompt of a chat. `codes`: the number of codes of each recording. `answers`:
  /// earlier answers that were spoken. Both are in the order of their places in the chat. Special
  /// tokens in a client's text are read as plain text. The client's system messages, if any,
  /// precede the authors' sentence about how to answer.
  Result<ChatPrompt> of_chat(const Chat& chat, std::span<const int64_t> codes,
                             std::span<const EarlierAnswer> answers) const;
  /// Returns the prompt for reading `text` aloud: a user's turn with the text, then the same text
  /// as the answer.
  Result<ChatPrompt> reading_aloud(const std::string& text) const;
  /// Returns the prompt of a text that the model continues. Special tokens in the text are kept.
  Result<ChatPrompt> of_text(const std::string& text) const;

 private:
  const Tokenizer& tokenizer_;
  const Ids ids_;
  const int64_t max_ids_;
};

}  // namespace syrinx::glm4_voice
