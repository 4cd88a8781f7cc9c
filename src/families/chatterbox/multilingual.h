// Text of Chatterbox Multilingual: lower-case letters in NFKD after the token of a language, and
// changes that some languages need. Const after loading; any thread. Source:
// chatterbox:src/chatterbox/models/tokenizers/tokenizer.py (MTLTokenizer), mtl_tts.py.
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
  /// `cangjie`: path of Cangjie5_TC.json, which spells Chinese characters; without it, languages()
  /// lacks Chinese. `tokenizer`, read from `path`, must outlive this object. Throws LoadError.
  MultilingualText(const TextTokenizer& tokenizer, const std::string& path,
                   const std::string& cangjie);

  /// Returns the languages for which the tokenizer has a token, as ISO 639-1 codes, English first.
  const std::vector<std::string>& languages() const { return languages_; }
  /// Returns the ids of a text after clean(). `language` is one of languages(). An Error with the
  /// parameter "input" means that the model cannot read the script of the text.
  Result<std::vector<int32_t>> encode(std::string_view text, const std::string& language) const;

 private:
  void load_cangjie(const std::string& path);
  std::vector<int32_t> encode_chinese(std::string_view text) const;

  const TextTokenizer& tokenizer_;
  std::vector<std::string> languages_;
  /// The spelling of each character: its letters, and a number if other characters share them.
  std::unordered_map<std::string, std::string> cangjie_;
};

}  // namespace syrinx::chatterbox
