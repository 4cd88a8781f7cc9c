// For tests: the directory of the goldens.
#pragma once

#include <cstdlib>
#include <string>

namespace syrinx {

/// Returns the directory of the goldens: SYRINX_GOLDENS if tests run on another machine
/// (tools/gpu_kit).
inline std::string parity_dir() {
  const char* other = std::getenv("SYRINX_GOLDENS");
  return other ? std::string(other) + "/" : SYRINX_BINARY_DIR "/parity/";
}

}  // namespace syrinx
