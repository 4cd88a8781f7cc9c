// A tokenizer without files, for measurements with random weights. Every byte, and each of a few
// given words, has an id.
#pragma once

#include <span>
#include <string>

#include "text/tokens/tokenizer.h"

namespace syrinx {

/// Makes the tokenizer; all ids are below byte_ids(words). Words have at least 2 bytes and match
/// only whole pieces. Merges build words from left to right ("as", "ass", ... "assistant").
Tokenizer byte_tokenizer(std::span<const std::string> words);
/// Returns the number of ids of byte_tokenizer(words).
int32_t byte_ids(std::span<const std::string> words);

}  // namespace syrinx
