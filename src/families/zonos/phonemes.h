// Text to the symbols that Zonos reads: phonemes, then ids. The program espeak-ng makes the
// phonemes word by word, as the authors' library calls do. The authors first write numbers as words
// (numbers.h). Const; any thread.
// Source: Zonos:zonos/conditioning.py.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/saying.h"

namespace syrinx::zonos {

/// Turns text in a language of languages() into IPA phonemes; punctuation and spaces are kept.
using Phonemize = std::function<Result<std::string>(std::string_view text, std::string_view lang)>;

/// Runs espeak-ng; returns an Error if it is not installed. Takes milliseconds.
Result<std::string> espeak_phonemes(std::string_view text, std::string_view language);

/// Does the same for a text in which some parts have given phones or other words. `sayings`: in
/// order, without overlap.
Result<std::string> say_phonemes(const Phonemize& phonemize, std::string_view text,
                                 std::string_view language, std::span<const Saying> sayings);

/// Returns the ids of the symbols, between the ids of beginning and end; unknown symbols are 1.
std::vector<int32_t> symbol_ids(std::string_view phonemes);
/// Returns the number of ids.
int32_t symbol_count();

/// Returns the language codes in the authors' order; a code's index is the language's id.
const std::vector<std::string>& languages();

}  // namespace syrinx::zonos
