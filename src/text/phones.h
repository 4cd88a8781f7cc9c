// Parses pronunciations that users write in IPA or ARPAbet. Pure functions.
#pragma once

#include <string_view>

#include "base/error.h"
#include "text/saying.h"

namespace syrinx {

/// Parses IPA: "təˈmeɪtoʊ"; accepts the tie bar, length marks, syllable dots and spaces. In the
/// ARPAbet result, the nearest English sound replaces a sound that English lacks. An Error names
/// the invalid symbol.
Result<Phones> phones_of_ipa(std::string_view ipa);

/// Parses "T AH0 M EY1 T OW2" as in CMU's dictionary; stress is optional, case does not matter.
Result<Phones> phones_of_arpabet(std::string_view arpabet);

/// Returns the phones with a possessive 's added.
Phones possessive(Phones phones);

}  // namespace syrinx
