// Words that differ from other words only by their accents: "résumé" and "resume". Pure functions.
#pragma once

#include <string_view>

#include "text/saying.h"

namespace syrinx::english {

/// Returns the phones of such a word, also with an ending s or 's; empty for other words. `written`
/// may be any bytes; accents of its UTF-8 may be composed or not.
Phones accented_phones(std::string_view written);

}  // namespace syrinx::english
