#include "families/chatterbox/multilingual.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "io/file.h"
#include "io/json.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::chatterbox {
namespace {

constexpr const char* kLanguages[] = {"en", "ar", "da", "de", "el", "es", "fi", "fr",
                                      "he", "hi", "it", "ja", "ko", "ms", "nl", "no",
                                      "pl", "pt", "ru", "sv", "sw", "tr", "zh"};

bool is_kanji(char32_t code) { return code >= 19968 && code <= 40959; }

/// Returns whether a letter has no case, which is nearly Python's category Lo.
bool is_other_letter(char32_t code) {
  return is_letter(code) && !is_upper(code) && !is_lower(code);
}

}  // namespace

MultilingualText::MultilingualText(const TextTokenizer& tokenizer, const std::string& path,
                                   const std::string& cangjie)
    : tokenizer_(tokenizer) {
  if (is_file(cangjie)) load_cangjie(cangjie);
  for (const std::string language : kLanguages) {
    if (language == "zh" && cangjie_.empty()) continue;
    if (tokenizer.id("[" + language + "]")) languages_.push_back(language);
  }
  if (languages_.empty() || languages_.front() != "en") {
    throw LoadError(concat(path, ": has no token [en]"));
  }
}

void MultilingualText::load_cangjie(const std::string& path) {
  // The file is a list, but a Config must have an object as its root.
  const std::string text = read_file(path, Config::kMaxBytes);
  const Config file = Config::parse("{\"entries\":" + text + "}", path);
  const nlohmann::json& entries = file.raw().at("entries");
  if (!entries.is_array()) file.fail("entries", "expected a list of \"character\\tspelling\"");
  std::unordered_map<std::string, int> spelled;  // number of earlier characters with equal letters
  for (const nlohmann::json& entry : entries) {
    const std::string line = entry.is_string() ? entry.get<std::string>() : "";
    const size_t tab = line.find('\t');
    if (tab == line.npos)
      file.fail("entries", "expected \"character\\tspelling\", got " + shown(line));
    const std::string spelling = line.substr(tab + 1, line.find('\t', tab + 1) - tab - 1);
    const int before = spelled[spelling]++;
    cangjie_[line.substr(0, tab)] = spelling + (before > 0 ? std::to_string(before) : "");
  }
}

std::vector<int32_t> MultilingualText::encode_chinese(std::string_view text) const {
  std::vector<int32_t> out;
  size_t plain = 0;
  const auto flush = [&](size_t end) {
    const std::vector<int32_t> ids = tokenizer_.encode(text.substr(plain, end - plain));
    out.insert(out.end(), ids.begin(), ids.end());
  };
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = utf8_at(text, at);
    const auto found = cangjie_.find(std::string(text.substr(at, code.size)));
    if (is_other_letter(code.value) && found != cangjie_.end()) {
      flush(at);
      for (const char letter : found->second + ".") {
        out.push_back(
            tokenizer_.id(std::string("[cj_") + letter + "]").value_or(tokenizer_.unknown()));
      }
      plain = at + code.size;
    }
    at += code.size;
  }
  flush(text.size());
  return out;
}

Result<std::vector<int32_t>> MultilingualText::encode(std::string_view text,
                                                      const std::string& language) const {
  std::string plain = normalize(to_lower(text), NormalForm::kNfkd);
  if (language == "ja") {
    for (size_t at = 0; at < plain.size();) {
      const CodePoint code = utf8_at(plain, at);
      if (is_kanji(code.value)) {
        return Error{ErrorCode::kInvalid,
                     concat("this model reads only kana in Japanese; write '",
                            plain.substr(at, code.size), "' in kana"),
                     "input"};
      }
      at += code.size;
    }
  }
  if (language == "ko") plain = std::string(trimmed(plain));
  std::vector<int32_t> ids = language == "zh" ? encode_chinese(plain) : tokenizer_.encode(plain);
  ids.insert(ids.begin(), tokenizer_.id("[" + language + "]").value_or(tokenizer_.unknown()));
  return ids;
}

}  // namespace syrinx::chatterbox
