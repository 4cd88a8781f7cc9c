// Splits a folded sentence at spaces into tokens, without the punctuation around them. For
// text/english only. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/english/fold.h"

namespace syrinx::english {

/// A word with the punctuation around it.
struct Token {
  std::string core;            ///< the word without the punctuation around it; never empty
  int64_t begin = 0, end = 0;  ///< the core is bytes [begin, end) of the sentence
  char close = 0;              ///< strongest of , ; : . ! ? after the core; 0 without a mark
  bool dotted = false;         ///< a full stop is right after the core: "Inc.,"
  char quote = 0;              ///< the quotation mark ' or " right after the core
  bool ellipsis = false;
  bool opens = false;      ///< a bracket or dash is before it
  bool closes = false;     ///< a bracket or dash is after it
  bool bracketed = false;  ///< a closing bracket is right after it
  bool in_quotes = false;  ///< within a quotation
  bool starts_line = false;
  bool strong = false;  ///< whether the word is stressed
  bool said = false;    ///< whether the word has a given pronunciation, so that rules skip it
};

/// The tokens of one sentence, as input of a rule. Indices beyond the ends have empty cores.
class Tokens {
 public:
  explicit Tokens(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  size_t size() const { return tokens_.size(); }
  const Token& operator[](size_t i) const { return tokens_[i]; }
  std::string_view core(size_t i) const {
    return i < tokens_.size() ? std::string_view(tokens_[i].core) : std::string_view();
  }
  /// Returns the core before token i; "" at the beginning of the sentence or after a mark.
  std::string_view before(size_t i) const {
    return i > 0 && joined(i - 1) ? core(i - 1) : std::string_view();
  }
  /// Returns the core after token i; "" at the end of the sentence or before a mark.
  std::string_view after(size_t i) const { return joined(i) ? core(i + 1) : std::string_view(); }
  /// Returns whether no mark separates token i from the next token.
  bool joined(size_t i) const {
    return i + 1 < size() && tokens_[i].close == 0 && !tokens_[i].closes && !tokens_[i + 1].opens;
  }

 private:
  std::vector<Token> tokens_;
};

/// In chemistry.cc: returns whether a minus after the formula belongs to it: "Cl-", "HCO3-".
bool is_negative_ion(std::string_view core);

/// In dates.cc: returns "A M" for "am", "a.m." or "AM", "P M" for "pm" etc.; "" for other texts.
std::string_view half_day(std::string_view core);

/// In dates.cc: returns "noon" or "midnight" in small letters; "" for other words.
std::string_view time_word(std::string_view core);

/// Splits folded text at white space into tokens, with the marks before and after them.
Tokens tokenise(const std::vector<FoldedChar>& text);

}  // namespace syrinx::english
