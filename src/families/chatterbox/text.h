// Chatterbox's text: the clean-up of punctuation and the tokenizer, a character-level BPE over
// words and runs of signs, in which a space is a separate token. Const after loading; any thread.
// Source: chatterbox:src/chatterbox/{tts,tts_turbo,mtl_tts}.py (punc_norm),
// models/tokenizers/tokenizer.py (EnTokenizer).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/tokens/regex.h"

namespace syrinx::chatterbox {

/// The package whose punc_norm() a text goes through; they differ in the signs that they replace
/// and add.
enum class Punctuation : uint8_t { kEnglish, kTurbo, kMultilingual };

/// Returns a text with an upper-case first letter (ASCII), single spaces, rare signs replaced and
/// an end mark added.
std::string clean(std::string_view text, Punctuation punctuation = Punctuation::kEnglish);

/// The tokenizer of one checkpoint.
class TextTokenizer {
 public:
  /// Reads tokenizer.json: model BPE with an unknown token, pre-tokenizer Whitespace. Throws
  /// LoadError for anything else.
  explicit TextTokenizer(const std::string& path);
  /// Gives every printable ASCII character an id, and [en], for measuring without files.
  TextTokenizer();

  /// Returns the ids of a text of at most a few hundred characters: the cost of a word grows with
  /// the square of its length.
  std::vector<int32_t> encode(std::string_view text) const;
  int32_t size() const { return size_; }
  /// Returns the id of a token by its text, also of an added token.
  std::optional<int32_t> id(const std::string& token) const;
  int32_t unknown() const { return unknown_; }

 private:
  void encode_word(std::string_view word, std::vector<int32_t>& out) const;

  std::unordered_map<std::string, int32_t> vocabulary_;
  // pair of ids -> rank, merged id
  std::map<std::pair<int32_t, int32_t>, std::pair<int32_t, int32_t>> merges_;
  Regex words_;
  int32_t unknown_ = -1, space_ = -1, size_ = 0;
};

}  // namespace syrinx::chatterbox
