// Opens the tokenizer of a checkpoint. Not in checkpoint.h, because `./run say` compiles only what
// the built-in voice needs, and that has no tokenizer. Any thread; faults are LoadErrors.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "families/family.h"
#include "text/tokens/byte_tokenizer.h"

namespace syrinx {

/// Opens the tokenizer in spec.dir, whose ids must be below `most`. With random weights and no
/// files, it has an id for each byte and for each of `words` (byte_tokenizer()).
inline Tokenizer open_tokenizer(const LoadSpec& spec, std::span<const std::string> words = {},
                                int64_t most = std::numeric_limits<int64_t>::max()) {
  return tokenizer_or_bytes(spec.dir, spec.dummy, words, most);
}

}  // namespace syrinx
