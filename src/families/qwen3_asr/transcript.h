// Reads the model's output: "language German<asr_text>Guten Tag.", or only the words if the
// language was forced. Free functions; any thread. Source: qwen_asr/inference/utils.py,
// parse_asr_output().
#pragma once

#include <string>
#include <string_view>

#include "model/pipeline.h"

namespace syrinx::qwen3_asr {

/// The tag between the language and the words.
inline constexpr const char* kTextTag = "<asr_text>";

/// Returns the words and the language. `forced`: the language was forced, so the answer has only
/// words. Unless the answer is `whole`, omits words that may still be followed by the tag.
Dictated read_answer(std::string_view answer, bool forced, bool whole);

/// Returns a text without repetitions. More than 20 equal characters become one. A piece of 1 to 20
/// characters that is repeated at least 20 times occurs once. The authors do this because the model
/// may repeat itself.
std::u32string without_repetitions(std::u32string_view text);

}  // namespace syrinx::qwen3_asr
