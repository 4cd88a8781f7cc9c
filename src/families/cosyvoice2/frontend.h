// Cuts texts into the parts that CosyVoice2 and 3 speak one after the
// other, and turns the parts into ids. Const after construction; any
// thread. Source: CosyVoice:cosyvoice/cli/frontend.py,
// utils/frontend_utils.py, llm/llm.py, without the optional normalisers
// (wetext, ttsfrd).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "families/cosyvoice2/config.h"
#include "text/tokens/regex.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::cosyvoice2 {

/// Returns the markup tokens that the authors of an edition add to the tokenizer. The third edition
/// has tokens for phonemes and Pinyin, too.
std::vector<AddedToken> markup(const Edition& edition);

/// Cuts texts into parts and turns them into ids.
class Frontend {
 public:
  explicit Frontend(Tokenizer tokenizer, const Edition& edition = kSecondEdition);

  /// Returns the ids of a text. Markup such as [laughter] becomes its token.
  std::vector<int32_t> ids(std::string_view text) const;
  /// Returns the ids of a recording's words. The text is changed as in parts(), but stays one part.
  /// In the third edition, the words are unchanged and follow the system sentence.
  std::vector<int32_t> prompt_text(std::string_view text) const;
  /// Returns whether `ids` contain the mark of a prompt's end, which the third edition needs.
  bool ends_prompt(std::span<const int32_t> ids) const;
  /// Returns the ids before a text that has no prompt: the system sentence in the third edition, no
  /// ids in the second.
  const std::vector<int32_t>& system() const { return system_; }
  /// Returns the parts of a text. Empty if the text has only punctuation. A text with markup of the
  /// form <|...|> is a single, unchanged part. Without `spell`, digits stay digits in a text
  /// without Chinese characters.
  std::vector<std::string> parts(std::string_view text, bool spell = true) const;
  /// Returns the ids of a client's instructions for its speech, with the mark of a prompt's end.
  std::vector<int32_t> instructions(std::string_view text) const;

 private:
  std::vector<std::string> split(const std::string& text, bool chinese) const;
  bool only_punctuation(const std::string& text) const;

  Tokenizer tokenizer_;
  Edition edition_;
  std::vector<int32_t> end_of_prompt_, system_;
  Regex punctuation_;
};

}  // namespace syrinx::cosyvoice2
