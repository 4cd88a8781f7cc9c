// Writes a prompt of text and special tokens. Special tokens in a client's text are encoded as
// plain text. Header only; one thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "families/voice_chat/chat_prompt.h"
#include "text/tokens/tokenizer.h"

namespace syrinx {

class PromptWriter {
 public:
  PromptWriter(const Tokenizer& tokenizer, ChatPrompt& prompt)
      : tokenizer_(tokenizer), prompt_(prompt) {}

  /// Adds text. All text up to the next flush() is encoded together.
  void text(std::string_view more) { text_ += more; }
  void flush() {
    if (!text_.empty()) append(tokenizer_.encode(std::exchange(text_, {}), false));
  }
  void id(int32_t id) { ids({&id, 1}); }
  void ids(std::span<const int32_t> some) {
    flush();
    append(some);
  }
  /// Adds `count` places of a recording, each of which has the id `id`.
  void places(int32_t id, int64_t count) {
    flush();
    for (int64_t i = 0; i < count; ++i) {
      prompt_.places.push_back(static_cast<int32_t>(prompt_.ids.size()));
      prompt_.ids.push_back(id);
    }
  }

 private:
  void append(std::span<const int32_t> some) {
    prompt_.ids.insert(prompt_.ids.end(), some.begin(), some.end());
  }

  const Tokenizer& tokenizer_;
  ChatPrompt& prompt_;
  std::string text_;
};

}  // namespace syrinx
