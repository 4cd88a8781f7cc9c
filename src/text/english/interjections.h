// Words of spoken language that no dictionary has: "hmm", "shh", "nooo". For text/english only.
// Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "text/saying.h"

namespace syrinx::english {

/// Returns the phones of an interjection whose letters would otherwise be named: "Hmm", "shh",
/// "ahh". `alone`: a mark or nothing precedes the word; otherwise "mm" may be a unit. Returns no
/// phones for other words.
Phones interjection_phones(std::string_view word, bool alone);

/// Returns the common form of a word with a letter at least three times in a row: "nooo" -> "no",
/// "cooool" -> "cool". Returns other words, and numerals and acronyms in capitals, unchanged.
std::string without_drawl(std::string_view word);

}  // namespace syrinx::english
