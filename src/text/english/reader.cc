#include "text/english/reader.h"

#include <algorithm>
#include <array>

#include "text/english/accents.h"
#include "text/english/chars.h"
#include "text/english/fold.h"
#include "text/english/interjections.h"
#include "text/english/numbers.h"
#include "text/english/rules.h"
#include "text/english/spelling.h"
#include "text/english/tokens.h"
#include "text/english/word_lists.h"
#include "text/sentence_rules.h"

namespace syrinx::english {
namespace {

using Rule = Reading (*)(const Tokens&, size_t);
// The rules, in the order in which they are tried. The first rule that applies reads the token.
constexpr std::array kRules = std::to_array<Rule>(
    {read_fiscal_year,  read_watch,        read_scripture,   read_formula, read_date,
     read_calendar,     read_abbreviation, read_code,        read_money,   read_product,
     read_factorial,    read_term,         read_ratio,       read_hours,   read_time,
     read_digit_groups, read_fraction,     read_two_decades, read_range,   read_address,
     read_decade,       read_duration,     read_quantity,    read_number,  read_roman,
     read_dotted});

constexpr size_t kMaxSaid = 40;  // most letters of a word that may get phones

bool is_read_otherwise(const Saying& saying) {
  return !saying.words.empty() || !saying.phones.empty();
}

struct Found {
  Spoken spoken;
  bool by_rule = false;
};

Found read_at(const Tokens& tokens, size_t i) {
  if (tokens[i].said) return {{std::string(tokens.core(i))}, true};
  for (const Rule rule : kRules) {
    if (auto reading = rule(tokens, i)) return {std::move(*reading), true};
  }
  return {read_signs(tokens, i), false};
}

/// Returns the words separated by single spaces, without spaces at the ends.
std::string squeezed(std::string_view words) {
  std::string out;
  for (const std::string_view word : split(words, ' ')) add(out, word);
  return out;
}

/// Returns the pause after a token, within a sentence.
char mark_after(const Tokens& tokens, size_t i, bool by_rule) {
  const Token& token = tokens[i];
  if (token.close == ',' || token.close == ';' || token.close == ':') return token.close;
  if (token.close == '?') return '?';  // as in "Who is it?" she asked.
  if (token.close == '.' && !token.ellipsis) {
    const bool item = token.starts_line && all(token.core, is_digit);  // as in "1. First"
    const Abbreviation known = abbreviation_of(token.core);
    const bool ordinary = known == Abbreviation::kNone || known == Abbreviation::kUnit ||
                          known == Abbreviation::kNumber;
    const bool stop = !by_rule && ordinary;
    const std::string_view next = tokens.core(i + 1);  // as in "on Main St. The house"
    const bool starts = known != Abbreviation::kPart && known != Abbreviation::kNever &&
                        !next.empty() && is_upper(next[0]) &&
                        is_starter(lower(next));  // but not in "Vol. I", "Dr. Who"
    return item || stop || starts || token.closes ? ',' : '\0';
  }
  const bool opens = i + 1 < tokens.size() && tokens[i + 1].opens;
  return token.close != 0 || token.closes || opens ? ',' : '\0';
}

/// Puts a space at every border of a saying, so that its words are separate tokens.
std::vector<FoldedChar> set_apart(std::vector<FoldedChar> text, std::span<const Saying> sayings) {
  std::vector<int64_t> borders;
  for (const Saying& saying : sayings) {
    if (is_read_otherwise(saying)) borders.insert(borders.end(), {saying.begin, saying.end});
  }
  if (borders.empty()) return text;
  std::vector<FoldedChar> out;
  out.reserve(text.size() + borders.size());
  auto border = borders.begin();
  for (const FoldedChar& c : text) {
    while (border != borders.end() && *border < c.begin) ++border;
    const bool here = border != borders.end() && *border == c.begin;
    if (here && !out.empty()) out.push_back({' ', c.begin, c.begin});
    out.push_back(c);
  }
  return out;
}

/// Returns the letters of `written` as one word, because a piece with phones must be one word.
std::string as_word(std::string_view written) {
  std::string word;
  for (const char c : written) {
    if (is_letter(c)) word += c;
  }
  return word.size() < 2 ? "word" : lower(word).substr(0, kMaxSaid);
}

/// Reads the saying that covers token i; also returns how many tokens the saying covers.
Found read_saying(const Tokens& tokens, size_t i, const Saying& saying, Piece& piece) {
  size_t used = 1;
  while (i + used < tokens.size() && tokens[i + used].begin < saying.end) ++used;
  std::string words;
  if (saying.phones.empty()) {
    for (const Piece& part : read_sentence(saying.words, false)) add(words, part.words);
  } else {
    piece.phones = saying.phones;
    for (size_t k = i; k < i + used; ++k) words += tokens.core(k);
    words = as_word(words);
  }
  return {{std::move(words), used}, true};
}

/// Returns whether a word in capitals is stressed: its neighbours have small letters.
bool is_loud(const Tokens& tokens, size_t i, std::string_view words) {
  const std::string_view core = tokens.core(i);
  const std::string small = lower(core);
  if (core.size() < 2 || !any(core, is_upper) || any(core, is_lower) || small != lower(words)) {
    return false;
  }
  if (!std::all_of(core.begin(), core.end(), [](char c) { return is_letter(c) || c == '\''; })) {
    return false;
  }
  if (listed(word_lists().capital_words, small) || is_shouting(tokens, i)) return false;
  for (size_t k = 0; k < tokens.size(); ++k) {
    if (k != i && any(tokens.core(k), is_lower)) return true;
  }
  return false;
}

char final_mark(char close) { return close == '?' || close == '!' ? close : '.'; }

}  // namespace

std::vector<Piece> read_sentence(std::string_view sentence, bool whole,
                                 std::span<const Saying> sayings) {
  const Tokens tokens = tokenise(set_apart(fold(sentence), sayings));
  std::vector<Piece> pieces;
  char close = 0;
  auto saying = sayings.begin();
  for (size_t i = 0; i < tokens.size();) {
    while (saying != sayings.end() && saying->end <= tokens[i].begin) ++saying;
    const bool said = saying != sayings.end() && tokens[i].begin >= saying->begin;
    Piece piece;
    Found found = said && is_read_otherwise(*saying) ? read_saying(tokens, i, *saying, piece)
                                                     : read_at(tokens, i);
    const size_t last = i + found.spoken.used - 1;
    piece.mark = mark_after(tokens, last, found.by_rule);
    close = tokens[last].close;
    piece.words = squeezed(found.spoken.words);
    piece.strong = (said && saying->strong) || tokens[i].strong ||
                   (!found.by_rule && is_loud(tokens, i, piece.words));
    piece.begin = tokens[i].begin;
    piece.end = tokens[last].end;
    if (piece.phones.empty() && !found.by_rule) {
      piece.phones = accented_phones(sentence.substr(piece.begin, piece.end - piece.begin));
    }
    if (piece.phones.empty() && !tokens[i].said && found.spoken.used == 1) {
      const bool alone =
          i == 0 || tokens[i].opens || tokens[i - 1].close != 0 || tokens[i - 1].closes;
      piece.phones = interjection_phones(tokens.core(i), alone);
      if (!piece.phones.empty()) piece.words = as_word(tokens.core(i));
    }
    if (!piece.words.empty()) {
      pieces.push_back(std::move(piece));
    } else if (!pieces.empty() && pieces.back().mark == 0) {
      pieces.back().mark = piece.mark;
    }
    i = last + 1;
  }
  if (whole && !pieces.empty()) pieces.back().mark = final_mark(close);
  return pieces;
}

}  // namespace syrinx::english
