// How a word of letters and digits is said: as a word, letter by letter, or in parts. For
// text/english only. Pure functions.
//
// In a reading, a capital that stands alone is the name of that letter; words have small letters
// or stay as they were written.
#pragma once

#include <string>
#include <string_view>

#include "text/english/tokens.h"

namespace syrinx::english {

/// Letters, digits and apostrophes: "getUserName" -> "get User Name", "CPUs" -> "C P U's", "H2O"
/// -> "H two O", "STOP" -> "stop". `shouting`: capitals are emphasis here.
std::string word_words(std::string_view word, bool shouting = false);

/// The part of an address, a path or a file's name; single letters are letters.
std::string part_words(std::string_view part);

/// "C P U" for "cpu".
std::string letter_names(std::string_view letters);

/// Whether the words around token i are in capitals throughout, so that capitals mean nothing.
bool is_shouting(const Tokens& tokens, size_t i);

}  // namespace syrinx::english
