// Mixes of voices as users name them in place of a voice: "anna(2)+ben(1)".
// Free functions; any thread.
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

/// Reads the shares of a mix, at most 8; "anna" is one share, "anna+ben" are two equal shares.
/// Errors name "voice".
Result<std::vector<NamedShare>> parse_voice_mix(std::string_view text);

}  // namespace syrinx
