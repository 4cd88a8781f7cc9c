// Chatterbox's text: the clean-up of punctuation and the tokenizer, a character-level BPE over
// words and runs of signs, in which a space is a token of its own. Const after loading; any thread.
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

/// Which package's punc_norm() a text goes through: they replace and add different signs.
enum class Punctuation : uint8_t { kEnglish, kTurbo, kMultilingual };

/// First letter large (ASCII), one space between words, rare signs replaced, an end mark added.
std::string clean(std::string_view text, Punctuation punctuation = Punctuation::kEnglish);

/// The tokenizer of one checkpoint.
class TextTokenizer {
 public:
  /// Reads tokenizer.json: model BPE with an unknown token, pre-tokenizer Whitespace. Throws
  /// LoadError for anything else.
  explicit TextTokenizer(const std::string& path);
  /// Every printable ASCII character its own id, and [en], for measuring without files.
  TextTokenizer();

  /// At most a few hundred characters: the cost of a word grows with the square of its length.
  std::vector<int32_t> encode(std::string_view text) const;
  int32_t size() const { return size_; }
  /// Returns the id of a token by its text, added or not.
  std::optional<int32_t> id(const std::string& token) const;
  int32_t unknown() const { return unknown_; }

 private:
  void encode_word(std::string_view word, std::vector<int32_t>& out) const;

  std::unordered_map<std::string, int32_t> vocabulary_;
  std::map<std::pair<int32_t, int32_t>, std::pair<int32_t, int32_t>> merges_;  // to rank, result
  Regex words_;
  int32_t unknown_ = -1, space_ = -1, size_ = 0;
};

}  // namespace syrinx::chatterbox
