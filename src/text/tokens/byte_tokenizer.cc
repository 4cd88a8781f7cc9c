#include "text/tokens/byte_tokenizer.h"

#include "text/tokens/tokenizer_parts.h"

namespace syrinx {

int32_t byte_ids(std::span<const std::string> words) {
  int32_t count = 256;
  for (const std::string& word : words) count += static_cast<int32_t>(word.size()) - 1;
  return count;
}

Tokenizer byte_tokenizer(std::span<const std::string> words) {
  BpeTables tables;
  for (int byte = 0; byte < 256; ++byte) tables.bytes.emplace_back(1, static_cast<char>(byte));
  for (const std::string& word : words) {
    int32_t left = static_cast<unsigned char>(word[0]);
    for (size_t size = 2; size <= word.size(); ++size) {
      const auto result = static_cast<int32_t>(tables.bytes.size());
      tables.bytes.push_back(word.substr(0, size));
      tables.merges.push_back({left, static_cast<unsigned char>(word[size - 1]), result});
      left = result;
    }
  }
  tables.reachable.assign(tables.bytes.size(), true);
  return Tokenizer(std::make_shared<const TokenizerParts>(
      TokenizerParts{.path = "(bytes)",
                     .raw = {},
                     .normalized = {},
                     .added_ids = {},
                     .added = {},
                     .normalizer = {},
                     .pieces = PreTokenizer(std::vector<SplitStage>{}),
                     .bpe = Bpe(std::move(tables)),
                     .prefix = {},
                     .suffix = {}}));
}

}  // namespace syrinx
