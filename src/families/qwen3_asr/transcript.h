// Reads what the model writes: "language German<asr_text>Guten Tag.", or the words alone where the
// language was forced. Free functions; any thread. Source: qwen_asr/inference/utils.py,
// parse_asr_output().
#pragma once

#include <string>
#include <string_view>

#include "model/pipeline.h"

namespace syrinx::qwen3_asr {

/// Stands between the language and the words.
inline constexpr const char* kTextTag = "<asr_text>";

/// Returns the words and the language, as Dictated. `forced`: the language was, so all is words.
/// Unless the answer is `whole`, words before which the tag may still come are left out.
Dictated read_answer(std::string_view answer, bool forced, bool whole);

/// Returns a text in which more than 20 equal characters in a row are one, and what stands 20 times
/// or more behind itself (1 to 20 characters) stands once: the authors' remedy for a model that
/// repeats itself.
std::u32string without_repetitions(std::u32string_view text);

}  // namespace syrinx::qwen3_asr
