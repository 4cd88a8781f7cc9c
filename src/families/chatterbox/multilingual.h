// Text of Chatterbox Multilingual: small letters in NFKD behind the token of a language, and what
// some languages need beside. Const after loading; any thread.
// Source: chatterbox:src/chatterbox/models/tokenizers/tokenizer.py (MTLTokenizer), mtl_tts.py.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "families/chatterbox/text.h"

namespace syrinx::chatterbox {

class MultilingualText {
 public:
  /// `cangjie`: Cangjie5_TC.json, how Chinese characters are spelled; a missing file leaves Chinese
  /// out of languages(). `tokenizer`, read from `path`, must outlive this. Throws LoadError.
  MultilingualText(const TextTokenizer& tokenizer, const std::string& path,
                   const std::string& cangjie);

  /// Codes of ISO 639-1, English first; those whose token the tokenizer has.
  const std::vector<std::string>& languages() const { return languages_; }
  /// Ids of a text that is clean(); `language` is one of languages(). An Error names "input" where
  /// the text is written in what the model cannot read.
  Result<std::vector<int32_t>> encode(std::string_view text, const std::string& language) const;

 private:
  void load_cangjie(const std::string& path);
  std::vector<int32_t> encode_chinese(std::string_view text) const;

  const TextTokenizer& tokenizer_;
  std::vector<std::string> languages_;
  /// The spelling of a character: letters, and a number where others are spelled alike.
  std::unordered_map<std::string, std::string> cangjie_;
};

}  // namespace syrinx::chatterbox
