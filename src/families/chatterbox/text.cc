#include "families/chatterbox/text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "io/file.h"
#include "io/json.h"
#include "text/tokens/normalizer.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::chatterbox {
namespace {

constexpr const char* kWords = "\\w+|[^\\w\\s]+";
constexpr std::string_view kSpace = "[SPACE]";
constexpr int64_t kMaxId = 1 << 16;

/// Returns what Python's " ".join(text.split()) returns.
std::string single_spaced(std::string_view text) {
  std::string out;
  bool gap = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = utf8_at(text, at);
    if (is_space(c.value)) {
      gap = !out.empty();
    } else {
      if (gap) out += ' ';
      gap = false;
      out += text.substr(at, c.size);
    }
    at += c.size;
  }
  return out;
}

}  // namespace

std::string clean(std::string_view raw, Punctuation punctuation) {
  std::string text = utf8_repair(raw);
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] -= 'a' - 'A';
  text = single_spaced(text);
  struct Sign {
    std::string_view from, to;
    bool turbo = true;  // whether Turbo's punc_norm() also replaces this sign
  };
  constexpr Sign kSigns[] = {{"...", ", ", false}, {"…", ", "}, {":", ","}, {" - ", ", ", false},
                             {";", ", ", false},   {"—", "-"},  {"–", "-"}, {" ,", ","},
                             {"“", "\""},          {"”", "\""}, {"‘", "'"}, {"’", "'"}};
  for (const Sign& sign : kSigns) {
    if (sign.turbo || punctuation != Punctuation::kTurbo) {
      text = replaced(text, sign.from, sign.to);
    }
  }
  while (text.ends_with(' ')) text.pop_back();
  constexpr std::string_view kEnds[] = {".", "!", "?", "-", ",", "、", "，", "。", "？", "！"};
  constexpr size_t kAscii = 5;  // number of kEnds' entries that are ASCII
  const auto ends =
      std::span(kEnds).first(punctuation == Punctuation::kMultilingual ? std::size(kEnds) : kAscii);
  if (std::ranges::none_of(ends, [&](std::string_view end) { return text.ends_with(end); })) {
    text += '.';
  }
  return text;
}

TextTokenizer::TextTokenizer(const std::string& path) : words_(kWords, path) {
  const Config root = Config::load(path);
  const Config model = root.sub("model");
  if (model.s("type") != "BPE") model.fail("type", "expected BPE");
  if (root.sub("pre_tokenizer").s("type") != "Whitespace") {
    root.fail("pre_tokenizer", "expected Whitespace");
  }
  if (root.has("normalizer")) root.fail("normalizer", "is not supported");
  for (const auto& [token, id] : model.map_i("vocab", 0, kMaxId)) {
    vocabulary_[token] = static_cast<int32_t>(id);
    size_ = std::max(size_, static_cast<int32_t>(id) + 1);
  }
  const auto id_of = [&](const std::string& token, const char* entry) {
    const auto found = vocabulary_.find(token);
    if (found == vocabulary_.end()) model.fail(entry, shown(token) + " is not in the vocabulary");
    return found->second;
  };
  unknown_ = id_of(model.s("unk_token"), "unk_token");
  int32_t rank = 0;
  for (const nlohmann::json& merge : model.raw().value("merges", nlohmann::json::array())) {
    std::string left, right;
    if (merge.is_string()) {
      const std::string both = merge.get<std::string>();
      const size_t gap = both.find(' ');
      if (gap != both.npos) left = both.substr(0, gap), right = both.substr(gap + 1);
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      left = merge[0].get<std::string>(), right = merge[1].get<std::string>();
    }
    if (left.empty() || right.empty()) model.fail("merges", "expected pairs of tokens");
    merges_[{id_of(left, "merges"), id_of(right, "merges")}] = {rank++,
                                                                id_of(left + right, "merges")};
  }
  for (const Config& entry : root.subs("added_tokens")) {
    const auto id = static_cast<int32_t>(entry.i("id", 0, kMaxId));
    size_ = std::max(size_, id + 1);
    vocabulary_[entry.s("content")] = id;
    if (entry.s("content") == kSpace) space_ = id;
  }
  if (space_ < 0) root.fail("added_tokens", "[SPACE] is missing");
}

std::optional<int32_t> TextTokenizer::id(const std::string& token) const {
  const auto found = vocabulary_.find(token);
  if (found == vocabulary_.end()) return {};
  return found->second;
}

TextTokenizer::TextTokenizer() : words_(kWords, "(characters)") {
  for (char ch = '!'; ch <= '~'; ++ch) vocabulary_[std::string(1, ch)] = ch;
  vocabulary_["[en]"] = 3;
  unknown_ = 1, space_ = 2, size_ = 256;
}

void TextTokenizer::encode_word(std::string_view word, std::vector<int32_t>& out) const {
  std::vector<int32_t> symbols;
  for (size_t at = 0; at < word.size();) {
    const size_t size = utf8_at(word, at).size;
    const auto found = vocabulary_.find(std::string(word.substr(at, size)));
    symbols.push_back(found == vocabulary_.end() ? unknown_ : found->second);
    at += size;
  }
  for (;;) {  // merges the first of the pairs that have the lowest rank
    size_t best = symbols.size();
    std::pair<int32_t, int32_t> merge{INT32_MAX, -1};
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = merges_.find({symbols[i], symbols[i + 1]});
      if (found != merges_.end() && found->second.first < merge.first) {
        best = i, merge = found->second;
      }
    }
    if (best == symbols.size()) break;
    symbols[best] = merge.second;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  out.insert(out.end(), symbols.begin(), symbols.end());
}

std::vector<int32_t> TextTokenizer::encode(std::string_view text) const {
  std::vector<int32_t> out;
  RegexMatcher words(words_);
  // Names of tokens in a text are read as plain text; only a space becomes a token.
  size_t begin = 0;
  const std::string valid = utf8_repair(text);
  for (size_t at = 0; at <= valid.size(); ++at) {
    if (at < valid.size() && valid[at] != ' ') continue;
    const std::string_view part = std::string_view(valid).substr(begin, at - begin);
    for (size_t from = 0; words.find(part, from) == RegexMatcher::Found::kMatch;
         from = words.end()) {
      encode_word(part.substr(words.begin(), words.end() - words.begin()), out);
    }
    if (at < valid.size()) out.push_back(space_);
    begin = at + 1;
  }
  return out;
}

}  // namespace syrinx::chatterbox
