// The parts of a loaded tokenizer; for the loader and the tokenizer only.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "text/tokens/added_tokens.h"
#include "text/tokens/bpe.h"
#include "text/tokens/normalizer.h"
#include "text/tokens/pre_tokenizer.h"

namespace syrinx {

class Config;  // io/json.h

struct TokenizerParts {
  std::string path;        ///< for messages
  AddedTokens raw;         ///< found in the original text
  AddedTokens normalized;  ///< found after normalizing
  std::unordered_map<std::string, int32_t> added_ids;
  std::unordered_map<int32_t, AddedToken> added;  ///< by id
  Normalizer normalizer;
  PreTokenizer pieces;
  Bpe bpe;
  std::vector<int32_t> prefix, suffix;
  /// The character for a space in tokens, where they are written as text and not in GPT-2's
  /// alphabet.
  std::string space = {};
  bool drops_blank = false;  ///< the decoder removes a space at the beginning of a text
};

/// Undoes GPT-2's byte alphabet in a token. `whole`: returns whether the token has only characters
/// of the alphabet; otherwise the token is returned unchanged.
std::string undo_byte_alphabet(std::string_view token, bool& whole);

/// Reads tokenizer.json.
TokenizerParts read_tokenizer_json(const std::string& path, std::vector<AddedToken> extra);
/// Reads the text of a tokenizer.json; `path` is for messages.
TokenizerParts parse_tokenizer_json(std::string_view json, const std::string& path);
/// Reads vocab.json, merges.txt and, unless empty, tokenizer_config.json.
TokenizerParts read_vocab_and_merges(const std::string& vocab, const std::string& merges,
                                     const std::string& config, std::vector<AddedToken> extra);

/// Reads tiktoken's ranks and, unless empty, tokenizer_config.json's added tokens. The ids of these
/// and of `extra` follow the ranks.
TokenizerParts read_tiktoken(const std::string& path, const std::string& pattern,
                             const std::string& config, std::vector<AddedToken> extra);
/// Makes the parts of tiktoken's ranks that are already read: the bytes of each.
TokenizerParts parts_of_ranks(std::vector<std::string> ranks, const std::string& path,
                              const std::string& pattern, std::vector<AddedToken> added);
/// Returns the tokens that tokenizer_config.json adds.
std::vector<AddedToken> added_in_config(const Config& config);

}  // namespace syrinx
