// The parts of a loaded tokenizer; for the loader and the tokenizer only.
#pragma once

#include <optional>
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
  std::string path;        ///< file name for messages
  AddedTokens raw;         ///< tokens to be found in the original text
  AddedTokens normalized;  ///< tokens to be found in the normalized text
  std::unordered_map<std::string, int32_t> added_ids;
  std::unordered_map<int32_t, AddedToken> added;  ///< by id
  Normalizer normalizer;
  PreTokenizer pieces;
  Bpe bpe;
  std::vector<int32_t> prefix, suffix;
  /// The character that tokens contain for a space, if tokens are written as text. Empty if they
  /// are written in GPT-2's byte alphabet.
  std::string space = {};
  bool drops_blank = false;  ///< the decoder removes a space at the beginning of a text
};

/// Converts a token from GPT-2's byte alphabet to bytes. `whole` returns whether all characters of
/// the token belong to the alphabet; otherwise the token is returned unchanged.
std::string undo_byte_alphabet(std::string_view token, bool& whole);

/// Reads tokenizer.json.
TokenizerParts read_tokenizer_json(const std::string& path, std::vector<AddedToken> extra);
/// Reads the text of a tokenizer.json; `path` is a name for messages.
TokenizerParts parse_tokenizer_json(std::string_view json, const std::string& path);
/// Reads vocab.json and merges.txt, and tokenizer_config.json unless its path is empty.
TokenizerParts read_vocab_and_merges(const std::string& vocab, const std::string& merges,
                                     const std::string& config, std::vector<AddedToken> extra);

/// Reads tiktoken's ranks, and the added tokens of tokenizer_config.json unless its path is empty.
/// The ids of added and `extra` tokens follow the ranks.
TokenizerParts read_tiktoken(const std::string& path, const std::string& pattern,
                             const std::string& config, std::vector<AddedToken> extra);
/// Makes the parts from a list that is already read: ranks[i] has the bytes of token i. Ids without
/// bytes may be those of added tokens.
TokenizerParts parts_of_ranks(std::vector<std::string> ranks, const std::string& path,
                              const std::string& pattern, std::vector<AddedToken> added);
/// Decodes base64 with its padding; empty for other text.
std::optional<std::string> bytes_of_base64(std::string_view text);
/// Returns the tokens that tokenizer_config.json adds.
std::vector<AddedToken> added_in_config(const Config& config);

}  // namespace syrinx
