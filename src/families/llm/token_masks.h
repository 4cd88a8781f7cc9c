// Computes which tokens of a vocabulary may come next in a text that follows a grammar. Made once
// for a tokenizer; const afterwards; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "families/llm/json_grammar.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::llm {

class TokenMasks {
 public:
  /// Covers the ids below `ids`. Special tokens, and those of over 256 bytes, are never allowed.
  TokenMasks(const Tokenizer& tokenizer, int32_t ids);

  /// Returns the mask for a text: bit i % 64 of word i / 64 is set if the bytes of id i may follow.
  std::vector<uint64_t> behind(const JsonWriting& text) const;

 private:
  /// A token. The list of tokens is sorted by their bytes.
  struct Token {
    int32_t id = 0;
    uint32_t begin = 0;   // offset of its bytes
    uint16_t size = 0;    // number of bytes
    uint16_t common = 0;  // number of first bytes that equal those of the token before
  };
  std::string bytes_;
  std::vector<Token> tokens_;
  size_t words_ = 0;
};

}  // namespace syrinx::llm
