#include "text/tokens/byte_tokenizer.h"

#include "base/check.h"
#include "base/error.h"
#include "io/file.h"
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

bool has_tokenizer(const std::string& dir) {
  return is_file(join_path(dir, "tokenizer.json")) || is_file(join_path(dir, "vocab.json"));
}

Tokenizer tokenizer_or_bytes(const std::string& dir, bool random_weights,
                             std::span<const std::string> words, int64_t most) {
  if (!random_weights || has_tokenizer(dir)) {
    Tokenizer tokenizer = Tokenizer::load(dir);
    if (tokenizer.size() > most) {
      throw LoadError(concat(dir, ": the tokenizer has ids up to ", tokenizer.size() - 1,
                             ", but the model has only ", most));
    }
    return tokenizer;
  }
  if (most < byte_ids(words)) {
    throw LoadError(concat(dir, ": the model has ", most,
                           " ids of text; random weights without a tokenizer need ",
                           byte_ids(words)));
  }
  return byte_tokenizer(words);
}

}  // namespace syrinx
