// Which tokens of a vocabulary may come next in a text that follows a grammar. Made once for a
// tokenizer; const after that, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "families/llm/json_grammar.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::llm {

class TokenMasks {
 public:
  /// For ids below `ids`; special tokens are never allowed.
  TokenMasks(const Tokenizer& tokenizer, int32_t ids);

  /// Bit i % 64 of word i / 64: the bytes of id i can follow.
  std::vector<uint64_t> behind(const JsonWriting& text) const;

 private:
  /// A token, in the order of their bytes.
  struct Token {
    int32_t id = 0;
    uint32_t begin = 0;   // of its bytes
    uint16_t size = 0;    // bytes
    uint16_t common = 0;  // bytes that the one before begins with, too
  };
  std::string bytes_;
  std::vector<Token> tokens_;
  size_t words_ = 0;
};

}  // namespace syrinx::llm
