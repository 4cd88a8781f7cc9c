// A tokenizer without files, for measuring with random weights: every byte has its own id, and a
// few given words have one each.
#pragma once

#include <span>
#include <string>

#include "text/tokens/tokenizer.h"

namespace syrinx {

/// Ids below byte_ids(words). Words of at least 2 bytes; found in a text only as whole pieces that
/// their own beginnings lead to ("as", "ass", ... "assistant").
Tokenizer byte_tokenizer(std::span<const std::string> words);
/// The number of ids of byte_tokenizer(words).
int32_t byte_ids(std::span<const std::string> words);

}  // namespace syrinx
