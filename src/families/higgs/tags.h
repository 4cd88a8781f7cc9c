// The tags in a text that direct the speech. Free functions; any thread. Source:
// sglang-omni:sglang_omni/models/higgs_tts/text_tokenizer.py.
#pragma once

#include <cstdint>
#include <optional>
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

/// Returns the ids of a client's text. Tags become their tokens. Other control tokens are read as
/// plain text. For a tag that the tokenizer lacks, returns an Error with the parameter `param`.
Result<std::vector<int32_t>> text_ids(const Tokenizer& tokenizer, std::string_view text,
                                      const char* param);

}  // namespace syrinx::higgs
