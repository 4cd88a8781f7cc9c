// Cuts texts into the parts that CosyVoice2 speaks one after the other, and turns them into ids.
// Const after construction; any thread.
// Source: CosyVoice:cosyvoice/cli/frontend.py, utils/frontend_utils.py, llm/llm.py, without the
// optional normalisers (wetext, ttsfrd).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/tokens/regex.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::cosyvoice2 {

/// Returns the markup tokens that the authors add to the tokenizer.
std::vector<AddedToken> markup();

/// Cuts texts into parts and turns them into ids.
class Frontend {
 public:
  explicit Frontend(Tokenizer tokenizer);

  /// Returns the ids of a text; markup such as [laughter] becomes its token.
  std::vector<int32_t> ids(std::string_view text) const;
  /// Returns the ids of a recording's words: the same text as in parts(), but in one part.
  std::vector<int32_t> prompt_text(std::string_view text) const;
  /// Returns the parts of a text; empty if the text is only punctuation. A text with markup of the
  /// form <|...|> is a single part, unchanged. Without `spell`, digits in a text without Chinese
  /// characters stay digits.
  std::vector<std::string> parts(std::string_view text, bool spell = true) const;
  /// Returns the ids of a client's instructions on how to speak, with the end of a prompt.
  std::vector<int32_t> instructions(std::string_view text) const;

 private:
  std::vector<std::string> split(const std::string& text, bool chinese) const;
  bool only_punctuation(const std::string& text) const;

  Tokenizer tokenizer_;
  Regex punctuation_;
};

}  // namespace syrinx::cosyvoice2
