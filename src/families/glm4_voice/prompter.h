// Makes the ids of a prompt from a conversation, in the form of the authors' web demo. Const once
// made; any thread.
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

  /// Returns the prompt of a chat. `codes`: the number of codes of each recording; `answers`:
  /// earlier answers that were heard; both in the order of their places in the chat. Special tokens
  /// in a client's text are plain text. The authors' sentence on how to answer follows the client's
  /// system messages, if there are any.
  Result<ChatPrompt> of_chat(const Chat& chat, std::span<const int64_t> codes,
                             std::span<const EarlierAnswer> answers) const;
  /// Returns the prompt that reads `text` aloud: a user turn with the text, and the same text as
  /// the answer.
  Result<ChatPrompt> reading_aloud(const std::string& text) const;
  /// Returns the prompt of a text to be continued; its special tokens count as such.
  Result<ChatPrompt> of_text(const std::string& text) const;

 private:
  const Tokenizer& tokenizer_;
  const Ids ids_;
  const int64_t max_ids_;
};

}  // namespace syrinx::glm4_voice
