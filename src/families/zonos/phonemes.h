// Text to the symbols that Zonos reads: phonemes by espeak-ng, which is run as a program, word by
// word as the authors' library calls do, then ids. The authors write numbers in words before
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

/// Text and a language of languages() to phonemes in IPA, punctuation and spaces as in the text.
using Phonemize = std::function<Result<std::string>(std::string_view text, std::string_view lang)>;

/// By espeak-ng; an Error says when it is not installed. Takes milliseconds.
Result<std::string> espeak_phonemes(std::string_view text, std::string_view language);

/// The same of a text some parts of which have given phones, or other words.
/// `sayings`: in order, apart.
Result<std::string> say_phonemes(const Phonemize& phonemize, std::string_view text,
                                 std::string_view language, std::span<const Saying> sayings);

/// Ids of the symbols, between those of beginning and end; unknown ones are 1.
std::vector<int32_t> symbol_ids(std::string_view phonemes);
/// How many ids there are.
int32_t symbol_count();

/// Codes that the authors list; the place is the id of the language.
const std::vector<std::string>& languages();

}  // namespace syrinx::zonos
