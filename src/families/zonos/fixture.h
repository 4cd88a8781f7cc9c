// For tests: the golden files, and letters that replace phonemes.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace syrinx::zonos {

inline std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/zonos/golden/" + name;
}

/// Replaces the phonemizer: returns the letters of the text as symbols.
inline Result<std::string> letters(std::string_view text, std::string_view) {
  return std::string(text);
}

}  // namespace syrinx::zonos
