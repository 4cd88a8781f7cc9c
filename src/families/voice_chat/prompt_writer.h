// Writes a prompt of text between special tokens. What clients write is text, special tokens too.
// Header only; one thread.
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

  /// Text that goes on until flush(): it is encoded in one.
  void text(std::string_view more) { text_ += more; }
  void flush() {
    if (!text_.empty()) append(tokenizer_.encode(std::exchange(text_, {}), false));
  }
  void id(int32_t id) { ids({&id, 1}); }
  void ids(std::span<const int32_t> some) {
    flush();
    append(some);
  }
  /// `count` places of a recording, at which `id` stands.
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
