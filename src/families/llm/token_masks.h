// Computes the tokens of a vocabulary that may come next in a text that follows a grammar. Made
// once for a tokenizer; const after that, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "families/llm/json_grammar.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::llm {

class TokenMasks {
 public:
  /// Covers the ids below `ids`; special tokens are never allowed.
  TokenMasks(const Tokenizer& tokenizer, int32_t ids);

  /// Returns the mask for a text: bit i % 64 of word i / 64 is set if the bytes of id i may follow.
  std::vector<uint64_t> behind(const JsonWriting& text) const;

 private:
  /// A token; tokens are sorted by their bytes.
  struct Token {
    int32_t id = 0;
    uint32_t begin = 0;   // offset of its bytes
    uint16_t size = 0;    // number of bytes
    uint16_t common = 0;  // number of leading bytes that it shares with the token before
  };
  std::string bytes_;
  std::vector<Token> tokens_;
  size_t words_ = 0;
};

}  // namespace syrinx::llm
