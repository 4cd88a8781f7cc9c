// Converts text to the symbols that Zonos reads: phonemes, then ids. The program espeak-ng
// makes the phonemes word by word, like the authors' library calls. The authors first
// write numbers as words (numbers.h). Const; any thread. Source:
// Zonos:zonos/conditioning.py.
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

/// Turns text in a language of languages() into IPA phonemes. Keeps punctuation and spaces.
using Phonemize = std::function<Result<std::string>(std::string_view text, std::string_view lang)>;

/// Runs espeak-ng. Returns an Error if espeak-ng is not installed. Takes milliseconds.
Result<std::string> espeak_phonemes(std::string_view text, std::string_view language);

/// Turns a text into phonemes. Some parts of it have given phonemes or are read as other words:
/// `sayings`, which are in order and do not overlap.
Result<std::string> say_phonemes(const Phonemize& phonemize, std::string_view text,
                                 std::string_view language, std::span<const Saying> sayings);

/// Returns the ids of the symbols, between the ids of beginning and end. Unknown symbols have id 1.
std::vector<int32_t> symbol_ids(std::string_view phonemes);
/// Returns the number of symbol ids.
int32_t symbol_count();

/// Returns the language codes in the authors' order. The index of a code is the language's id.
const std::vector<std::string>& languages();

}  // namespace syrinx::zonos
