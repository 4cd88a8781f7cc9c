// Pronunciations as people write them, in IPA or ARPAbet. Pure functions.
#pragma once

#include <string_view>

#include "base/error.h"
#include "text/saying.h"

namespace syrinx {

/// "təˈmeɪtoʊ"; the tie bar, length, syllable dots and spaces are known. Sounds that English lacks
/// become the nearest that it has, in `arpabet` only. An Error names the invalid symbol.
Result<Phones> phones_of_ipa(std::string_view ipa);

/// "T AH0 M EY1 T OW2" as in CMU's dictionary; stress may be left out, case does not matter.
Result<Phones> phones_of_arpabet(std::string_view arpabet);

/// The same with the 's of a possessive behind it.
Phones possessive(Phones phones);

}  // namespace syrinx
