// From a conversation to the ids of a prompt, as the authors' web demo writes it. Const once made;
// any thread.
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

  /// `codes` of each recording, and answers that were heard, in the order of the chat's places for
  /// them. What clients write is text, special tokens too. The authors' sentence on how to answer
  /// follows the client's own system messages, if there are any.
  Result<ChatPrompt> of_chat(const Chat& chat, std::span<const int64_t> codes,
                             std::span<const EarlierAnswer> answers) const;
  /// A user turn of `text`, and the same text as the answer.
  Result<ChatPrompt> reading_aloud(const std::string& text) const;
  /// A text to be gone on with, special tokens included.
  Result<ChatPrompt> of_text(const std::string& text) const;

 private:
  const Tokenizer& tokenizer_;
  const Ids ids_;
  const int64_t max_ids_;
};

}  // namespace syrinx::glm4_voice
