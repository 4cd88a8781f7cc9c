// Rewrites spellings that the rules do not handle, such as decimal commas and "p. m." with a blank.
// For text/english only. Pure functions.
#pragma once

#include <vector>

#include "text/english/tokens.h"

namespace syrinx::english {

/// Writes "19,5 °C" as "19.5 °C" and "7 p. m." as "7 p.m.".
std::vector<Token> with_known_forms(std::vector<Token> tokens);

}  // namespace syrinx::english
