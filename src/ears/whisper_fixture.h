// For tests: small checkpoints of Whisper.
#pragma once

#include <string>

namespace syrinx {

/// Returns the folder of a golden checkpoint.
inline std::string whisper_checkpoint(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/whisper/" + name;
}

}  // namespace syrinx
