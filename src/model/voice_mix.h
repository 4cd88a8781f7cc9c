// Mixes of voices, which users write in place of a voice's name: "anna(2)+ben(1)". Free functions;
// any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace syrinx {

struct NamedShare {
  std::string name;
  float weight = 1;
};

/// Reads the shares of a mix, at most 8. "anna" is one share, "anna+ben" are two equal shares.
/// Errors have the parameter "voice".
Result<std::vector<NamedShare>> parse_voice_mix(std::string_view text);

}  // namespace syrinx
