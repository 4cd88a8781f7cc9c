// A tokenizer without files, for measurements with random weights. Every byte, and each of a few
// given words, has an id.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "text/tokens/tokenizer.h"

namespace syrinx {

/// Makes the tokenizer; all ids are below byte_ids(words). Words have at least 2 bytes and match
/// only whole pieces. Merges build words from left to right ("as", "ass", ... "assistant").
Tokenizer byte_tokenizer(std::span<const std::string> words);
/// Returns the number of ids of byte_tokenizer(words).
int32_t byte_ids(std::span<const std::string> words);

/// Returns whether `dir` contains the files of a tokenizer.
bool has_tokenizer(const std::string& dir);
/// Loads the tokenizer in `dir`. If it has none and `random_weights` is set, returns
/// byte_tokenizer(words). Throws LoadError, also if ids are not below `most`.
Tokenizer tokenizer_or_bytes(const std::string& dir, bool random_weights,
                             std::span<const std::string> words, int64_t most);

}  // namespace syrinx
