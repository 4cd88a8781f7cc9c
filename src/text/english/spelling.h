// Decides how a word of letters and digits is spoken: as a word, letter by letter, or in parts. For
// text/english only. Pure functions.
//
// In the result, a single capital stands for the name of that letter. Words are in small letters or
// keep their spelling.
#pragma once

#include <string>
#include <string_view>

#include "text/english/tokens.h"

namespace syrinx::english {

/// Reads letters, digits and apostrophes: "getUserName" -> "get User Name", "CPUs" -> "C P U's",
/// "H2O" -> "H two O", "STOP" -> "stop". `shouting`: capitals mean emphasis.
std::string word_words(std::string_view word, bool shouting = false);

/// Reads a part of an address, a path or a file name. A single letter is read as its name.
std::string part_words(std::string_view part);

/// Spells a word: "C P U" for "cpu".
std::string letter_names(std::string_view letters);

/// Returns whether all words near token i are in capitals, so that capitals do not mark acronyms.
bool is_shouting(const Tokens& tokens, size_t i);

}  // namespace syrinx::english
