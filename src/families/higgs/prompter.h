// Makes the ids of texts, with the tags that direct the speech and the control ids around them.
// Const after construction; any thread. Source:
// sglang-omni:sglang_omni/models/higgs_tts/text_tokenizer.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::higgs {

/// The range of bytes of a tag <|category:value|> in a text.
struct Tag {
  size_t begin = 0, end = 0;
};
/// Returns the first tag at or after `from`.
std::optional<Tag> find_tag(std::string_view text, size_t from = 0);

/// Returns the tags of delivery at the beginning of a text (emotion, style, prosody's speed, pitch
/// and expressiveness), which apply to the whole text. Empty if it has no such tags.
std::string_view leading_tags(std::string_view text);

/// Makes the ids of prompts with one tokenizer.
class Prompter {
 public:
  /// Throws LoadError if the tokenizer lacks a control token.
  explicit Prompter(Tokenizer tokenizer);

  /// Returns the control tokens, to make a tokenizer without files.
  static std::vector<std::string> control_words();

  /// Returns the ids of a client's text. Tags become their tokens. Other control tokens are read as
  /// plain text. For a tag that the tokenizer lacks, returns an Error with the parameter `param`.
  Result<std::vector<int32_t>> text(std::string_view text, const char* param) const;

  int32_t tts() const { return tts_; }
  int32_t ref_audio() const { return ref_audio_; }
  int32_t text() const { return text_; }
  int32_t audio() const { return audio_; }
  /// Returns the id before a reference's text. Unset for older checkpoints, without such texts.
  std::optional<int32_t> ref_text() const { return ref_text_; }

 private:
  Tokenizer tokenizer_;
  int32_t tts_, ref_audio_, text_, audio_;
  std::optional<int32_t> ref_text_;
};

}  // namespace syrinx::higgs
