#include "families/voxcpm2/prompter.h"

#include <unordered_set>

#include "base/error.h"
#include "text/tokens/normalizer.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::voxcpm2 {
namespace {

/// Returns whether a token has at least two characters, all of them from U+4E00 to U+9FFF.
bool is_chinese_word(std::string_view token) {
  size_t count = 0;
  for (size_t at = 0; at < token.size(); ++count) {
    const CodePoint code = utf8_at(token, at);
    if (!code.valid || code.value < 0x4e00 || code.value > 0x9fff) return false;
    at += code.size;
  }
  return count >= 2;
}

/// Returns whether Python's \s matches: Unicode's spaces and four ASCII separators.
bool is_python_space(char32_t code) { return is_space(code) || (code >= 0x1c && code <= 0x1f); }

}  // namespace

Prompter::Prompter(const ModelConfig& config, Tokenizer tokenizer)
    : tokenizer_(std::move(tokenizer)) {
  if (tokenizer_.size() > config.vocab) {
    throw LoadError(concat("the tokenizer has ", tokenizer_.size(),
                           " ids, but lm_config.vocab_size is ", config.vocab));
  }
  find_chinese(tokenizer_.id("<unk>").value_or(0));
}

void Prompter::find_chinese(int32_t unknown) {
  std::vector<std::string> tokens;
  std::unordered_set<std::string> words;
  for (int32_t id = 0; id < tokenizer_.size(); ++id) {
    tokens.push_back(tokenizer_.bytes(id));
    if (is_chinese_word(tokens.back())) words.insert(tokens.back());
  }
  for (int32_t id = 0; id < tokenizer_.size(); ++id) {
    // As in the authors' code, the mark of a space before a word is removed, too.
    const std::string word = replaced(tokens[static_cast<size_t>(id)], " ", "");
    if (!words.contains(word)) continue;
    std::vector<int32_t>& ids = characters_[id];
    for (size_t at = 0; at < word.size();) {
      const size_t size = utf8_at(word, at).size;
      ids.push_back(tokenizer_.id(word.substr(at, size)).value_or(unknown));
      at += size;
    }
  }
}

std::vector<int32_t> Prompter::text(std::string_view text) const {
  std::vector<int32_t> ids;
  for (const int32_t id : tokenizer_.encode(text, false)) {
    const auto word = characters_.find(id);
    if (word == characters_.end()) {
      ids.push_back(id);
    } else {
      ids.insert(ids.end(), word->second.begin(), word->second.end());
    }
  }
  return ids;
}

std::string one_spaced(std::string_view text) {
  const std::string whole = utf8_repair(text);
  std::string out;
  bool space = false;
  for (size_t at = 0; at < whole.size();) {
    const CodePoint code = utf8_at(whole, at);
    const bool is = is_python_space(code.value);
    if (is && !space) out += ' ';
    if (!is) out.append(whole, at, code.size);
    space = is;
    at += code.size;
  }
  return out;
}

}  // namespace syrinx::voxcpm2
