// From a conversation to the ids of a prompt, as the authors' StepAudio2 lays it out. Const once
// made; any thread. Source: Step-Audio2:stepaudio2.py (apply_chat_template), examples.py (tools).
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

  /// `samples` of each recording at 16 kHz, and answers that were heard, in the order of the chat's
  /// places for them. What clients write is text, special tokens too. `speaks`: the answer is to be
  /// heard.
  Result<ChatPrompt> of_chat(const Chat& chat, std::span<const int64_t> samples,
                             std::span<const EarlierAnswer> answers, bool speaks) const;
  /// A user turn of `text`, and the same text as the answer.
  Result<ChatPrompt> reading_aloud(const std::string& text) const;
  /// A text to be gone on with, special tokens included.
  Result<ChatPrompt> of_text(const std::string& text) const;

 private:
  const Tokenizer& tokenizer_;
  const Ids ids_;
  const int64_t max_ids_;
};

}  // namespace syrinx::step_audio2
