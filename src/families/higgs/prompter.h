// Texts to ids, with the tags that direct the speech, and the control ids around them. Const after
// construction; any thread. Source: sglang-omni:sglang_omni/models/higgs_tts/text_tokenizer.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::higgs {

/// Bytes of a text that look like a tag: <|category:value|>.
struct Tag {
  size_t begin = 0, end = 0;
};
/// The first one from `from` on.
std::optional<Tag> find_tag(std::string_view text, size_t from = 0);

/// The tags of delivery that a text begins with (emotion, style, and of prosody speed, pitch and
/// expressiveness), which hold for all of it; empty: none.
std::string_view leading_tags(std::string_view text);

/// Makes the ids of prompts with one tokenizer.
class Prompter {
 public:
  /// Throws LoadError when the tokenizer lacks a control token.
  explicit Prompter(Tokenizer tokenizer);

  /// Words of a tokenizer for measuring without files.
  static std::vector<std::string> control_words();

  /// A text of a stranger: tags are their tokens, other control tokens written out are plain text.
  /// A tag that the tokenizer does not know is an Error, of the field `param`.
  Result<std::vector<int32_t>> text(std::string_view text, const char* param) const;

  int32_t tts() const { return tts_; }
  int32_t ref_audio() const { return ref_audio_; }
  int32_t text() const { return text_; }
  int32_t audio() const { return audio_; }
  /// None in older checkpoints, which take a reference without its words.
  std::optional<int32_t> ref_text() const { return ref_text_; }

 private:
  Tokenizer tokenizer_;
  int32_t tts_, ref_audio_, text_, audio_;
  std::optional<int32_t> ref_text_;
};

}  // namespace syrinx::higgs
