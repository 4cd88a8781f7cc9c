// Texts to the parts that CosyVoice2 speaks one after the other, and to their ids. Const after
// construction; any thread.
// Source: CosyVoice:cosyvoice/cli/frontend.py, utils/frontend_utils.py, llm/llm.py, without the
// optional normalisers (wetext, ttsfrd).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/tokens/regex.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::cosyvoice2 {

/// The markup that the authors add to the tokenizer.
std::vector<AddedToken> markup();

/// Cuts texts into parts and turns them into ids.
class Frontend {
 public:
  explicit Frontend(Tokenizer tokenizer);

  /// Ids of a text; markup such as [laughter] counts.
  std::vector<int32_t> ids(std::string_view text) const;
  /// Ids of what a recording says: the same text as parts() would speak, in one.
  std::vector<int32_t> prompt_text(std::string_view text) const;
  /// The parts that are spoken one after the other, none for a text of punctuation alone. A text
  /// with markup of the form <|...|> is one part as it stands. Without `spell` digits stay, in a
  /// text without a Chinese character, for the model to read.
  std::vector<std::string> parts(std::string_view text, bool spell = true) const;
  /// Ids of what a client says about how to speak, with the end of a prompt.
  std::vector<int32_t> instructions(std::string_view text) const;

 private:
  std::vector<std::string> split(const std::string& text, bool chinese) const;
  bool only_punctuation(const std::string& text) const;

  Tokenizer tokenizer_;
  Regex punctuation_;
};

}  // namespace syrinx::cosyvoice2
