#include "text/english/reader.h"

#include <array>

#include "text/english/chars.h"
#include "text/english/fold.h"
#include "text/english/numbers.h"
#include "text/english/rules.h"
#include "text/english/tokens.h"
#include "text/sentence_rules.h"

namespace syrinx::english {
namespace {

using Rule = Reading (*)(const Tokens&, size_t);
// The first that knows the token reads it.
constexpr std::array<Rule, 12> kRules = {
    read_date,     read_abbreviation, read_money,    read_time,   read_digit_groups, read_range,
    read_fraction, read_address,      read_quantity, read_number, read_roman,        read_dotted};

struct Found {
  Spoken spoken;
  bool by_rule = false;
};

Found read_at(const Tokens& tokens, size_t i) {
  for (const Rule rule : kRules) {
    if (auto reading = rule(tokens, i)) return {std::move(*reading), true};
  }
  return {read_signs(tokens, i), false};
}

/// Single spaces, none at the ends.
std::string squeezed(std::string_view words) {
  std::string out;
  for (const std::string_view word : split(words, ' ')) add(out, word);
  return out;
}

/// The pause inside a sentence after a token.
char mark_after(const Tokens& tokens, size_t i, bool by_rule) {
  const Token& token = tokens[i];
  if (token.close == ',' || token.close == ';' || token.close == ':') return token.close;
  if (token.close == '.' && !token.ellipsis) {
    const bool item = token.starts_line && all(token.core, is_digit);  // "1. First"
    const bool stop = !by_rule && abbreviation_of(token.core) == Abbreviation::kNone;
    const std::string_view next = tokens.core(i + 1);  // "on Main St. The house"
    const bool starts = !next.empty() && is_upper(next[0]) && is_starter(lower(next));
    return item || stop || starts || token.closes ? ',' : '\0';
  }
  const bool opens = i + 1 < tokens.size() && tokens[i + 1].opens;
  return token.close != 0 || token.closes || opens ? ',' : '\0';
}

char final_mark(char close) { return close == '?' || close == '!' ? close : '.'; }

}  // namespace

std::vector<Piece> read_sentence(std::string_view sentence, bool whole) {
  const Tokens tokens = tokenise(fold(sentence));
  std::vector<Piece> pieces;
  char close = 0;
  for (size_t i = 0; i < tokens.size();) {
    Found found = read_at(tokens, i);
    const size_t last = i + found.spoken.used - 1;
    const char mark = mark_after(tokens, last, found.by_rule);
    close = tokens[last].close;
    std::string words = squeezed(found.spoken.words);
    if (!words.empty()) {
      pieces.push_back({std::move(words), mark, tokens[i].begin, tokens[last].end});
    } else if (!pieces.empty() && pieces.back().mark == 0) {
      pieces.back().mark = mark;
    }
    i = last + 1;
  }
  if (whole && !pieces.empty()) pieces.back().mark = final_mark(close);
  return pieces;
}

}  // namespace syrinx::english
