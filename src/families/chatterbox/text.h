// Chatterbox's text: the clean-up of punctuation, and the tokenizer. This is a character-level BPE
// over words and runs of signs; a space is a separate token. Const after loading; any thread.
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

/// The package whose punc_norm() cleans a text. The packages differ in the signs that they replace
/// and add.
enum class Punctuation : uint8_t { kEnglish, kTurbo, kMultilingual };

/// Returns a text with an upper-case first letter (ASCII), single spaces, rare signs replaced, and
/// an end mark added.
std::string clean(std::string_view text, Punctuation punctuation = Punctuation::kEnglish);

/// The tokenizer of one checkpoint.
class TextTokenizer {
 public:
  /// Reads tokenizer.json: a BPE model with an unknown token, and the pre-tokenizer Whitespace.
  /// Throws LoadError for any other tokenizer.
  explicit TextTokenizer(const std::string& path);
  /// Gives an id to every printable ASCII character and to [en], for measurements without files.
  TextTokenizer();

  /// Returns the ids of a text. Pass at most a few hundred characters: the cost of a word grows
  /// with the square of its length.
  std::vector<int32_t> encode(std::string_view text) const;
  int32_t size() const { return size_; }
  /// Returns the id of a token, or of an added token, by its text.
  std::optional<int32_t> id(const std::string& token) const;
  int32_t unknown() const { return unknown_; }

 private:
  void encode_word(std::string_view word, std::vector<int32_t>& out) const;

  std::unordered_map<std::string, int32_t> vocabulary_;
  // Maps a pair of ids to its rank and the merged id.
  std::map<std::pair<int32_t, int32_t>, std::pair<int32_t, int32_t>> merges_;
  Regex words_;
  int32_t unknown_ = -1, space_ = -1, size_ = 0;
};

}  // namespace syrinx::chatterbox
