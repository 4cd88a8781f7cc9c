// Words that differ from other words only by their accents: "résumé" and "resume". Pure functions.
#pragma once

#include <string_view>

#include "text/saying.h"

namespace syrinx::english {

/// Returns the phones of a word that has accents, also with an ending s or 's; no phones for other
/// words. `written` may be any bytes; its accents may be composed or combining characters.
Phones accented_phones(std::string_view written);

}  // namespace syrinx::english
