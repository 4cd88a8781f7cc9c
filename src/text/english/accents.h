// Words that only their accents distinguish from others: "résumé" and "resume". Pure functions.
#pragma once

#include <string_view>

#include "text/saying.h"

namespace syrinx::english {

/// How such a word is said, a possessive or several too; empty for any other. `written`: any bytes,
/// of UTF-8 accents may be composed or not.
Phones accented_phones(std::string_view written);

}  // namespace syrinx::english
