#include "text/tokens/added_tokens.h"

#include <algorithm>

#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

size_t skip_spaces(std::string_view text, size_t at) {
  while (at < text.size()) {
    const CodePoint code = utf8_at(text, at);
    if (!is_space(code.value)) break;
    at += code.size;
  }
  return at;
}

size_t skip_spaces_back(std::string_view text, size_t end, size_t stop) {
  while (end > stop) {
    const CodePoint code = utf8_before(text, end);
    if (!is_space(code.value)) break;
    end -= code.size;
  }
  return std::max(end, stop);
}

/// Returns whether a word character is next to [begin, end).
bool touches_word(std::string_view text, size_t begin, size_t end) {
  return (begin > 0 && is_word(utf8_before(text, begin).value)) ||
         (end < text.size() && is_word(utf8_at(text, end).value));
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const AddedToken& token) { return token.content.empty(); });
  std::reverse(tokens_.begin(), tokens_.end());  // so that unique() keeps the last of equal tokens
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const auto& a, const auto& b) { return a.content < b.content; });
  const auto same = [](const auto& a, const auto& b) { return a.content == b.content; };
  tokens_.erase(std::unique(tokens_.begin(), tokens_.end(), same), tokens_.end());
  for (const AddedToken& token : tokens_) {
    first_[static_cast<uint8_t>(token.content[0])] = true;
    strips_left_ |= token.lstrip;
    looks_behind_ |= token.single_word;
  }
}

AddedTokens::Hit AddedTokens::match(std::string_view text, size_t at) const {
  // [low, high) are the tokens that begin with the bytes read. The shortest token comes first.
  auto low = tokens_.begin(), high = tokens_.end();
  Hit hit;
  for (size_t depth = 0; low != high; ++depth) {
    if (low->content.size() == depth) {
      hit.token = &*low++;
      if (low == high) break;
    }
    if (at + depth == text.size()) {
      hit.unfinished = true;
      break;
    }
    const auto byte = static_cast<uint8_t>(text[at + depth]);
    const auto below = [depth](const AddedToken& token, uint8_t want) {
      return static_cast<uint8_t>(token.content[depth]) < want;
    };
    const auto above = [depth](uint8_t want, const AddedToken& token) {
      return want < static_cast<uint8_t>(token.content[depth]);
    };
    low = std::lower_bound(low, high, byte, below);
    high = std::upper_bound(low, high, byte, above);
  }
  return hit;
}

std::vector<Section> AddedTokens::scan(std::string_view text, bool specials, bool more,
                                       size_t& done) const {
  std::vector<Section> sections;
  size_t covered = 0, limit = text.size();
  for (size_t at = 0; at < text.size() && !tokens_.empty();) {
    if (!first_[static_cast<uint8_t>(text[at])]) {
      ++at;
      continue;
    }
    const Hit hit = match(text, at);
    if (more && hit.unfinished) {
      limit = at;
      break;
    }
    if (!hit.token) {
      ++at;
      continue;
    }
    const AddedToken& token = *hit.token;
    size_t begin = at, end = at + token.content.size();
    at = end;
    const size_t stop = token.rstrip ? skip_spaces(text, end) : end;
    if (more && stop == text.size() && (token.rstrip || token.single_word)) {
      limit = begin;
      break;
    }
    if (!specials && token.special) continue;
    if (token.single_word && touches_word(text, begin, end)) continue;
    if (token.lstrip) begin = skip_spaces_back(text, begin, covered);
    if (covered < begin) sections.push_back({-1, covered, begin});
    sections.push_back({token.id, begin, stop});
    covered = stop;
    at = std::max(at, covered);
  }
  limit = std::max(limit, covered);
  if (more && strips_left_) limit = skip_spaces_back(text, limit, covered);
  if (covered < limit) sections.push_back({-1, covered, limit});
  done = limit;
  return sections;
}

std::vector<Section> AddedTokens::find(std::string_view text, bool specials) const {
  size_t done = 0;
  return scan(text, specials, false, done);
}

std::vector<Section> AddedTokens::find_final(std::string_view text, bool specials,
                                             size_t& done) const {
  return scan(text, specials, true, done);
}

size_t AddedTokens::special_begun(std::string_view text) const {
  const auto before = [](const AddedToken& token, std::string_view end) {
    return token.content < end;
  };
  for (size_t at = 0; at < text.size(); ++at) {
    if (!first_[static_cast<uint8_t>(text[at])]) continue;
    const std::string_view end = text.substr(at);
    auto token = std::lower_bound(tokens_.begin(), tokens_.end(), end, before);
    for (; token != tokens_.end() && token->content.starts_with(end); ++token)
      if (token->special && token->content.size() > end.size()) return at;
  }
  return text.size();
}

}  // namespace syrinx
