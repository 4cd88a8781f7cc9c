// Makes the ids of a prompt from a conversation, in the layout of the authors' StepAudio2. Const
// once made; any thread. Source: Step-Audio2:stepaudio2.py (apply_chat_template), examples.py
// (tools).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "families/step_audio2/config.h"
#include "families/voice_chat/chat_prompt.h"
#include "model/request.h"

namespace syrinx::step_audio2 {

/// The default system prompt, as in the authors' examples.
inline constexpr const char* kSystem = "You are a helpful assistant.";

class Prompter {
 public:
  Prompter(const Tokenizer& tokenizer, const Ids& ids, int64_t max_ids)
      : tokenizer_(tokenizer), ids_(ids), max_ids_(max_ids) {}

  /// Returns the prompt of a chat. `samples`: the number of samples of each recording at 16 kHz.
  /// `answers`: earlier answers that were spoken. Both are in the order of the chat. Special tokens
  /// in a client's text are read as plain text. `speaks`: the answer will have audio.
  Result<ChatPrompt> of_chat(const Chat& chat, std::span<const int64_t> samples,
                             std::span<const EarlierAnswer> answers, bool speaks) const;
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

}  // namespace syrinx::step_audio2
