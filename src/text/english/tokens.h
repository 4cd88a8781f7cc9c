// A folded sentence as tokens: what stands between spaces, punctuation taken off. For text/english
// only. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/english/fold.h"

namespace syrinx::english {

/// A word with the punctuation around it.
struct Token {
  std::string core;            ///< never empty
  int64_t begin = 0, end = 0;  ///< bytes of the core
  char close = 0;              ///< , ; : . ! ? after the core, the strongest; 0 none
  char quote = 0;              ///< ' or " right after the core
  bool ellipsis = false;
  bool opens = false;      ///< a bracket or dash stands before it
  bool closes = false;     ///< a bracket or dash stands after it
  bool in_quotes = false;  ///< a quotation has begun before it and not ended
  bool starts_line = false;
  bool strong = false;  ///< with an accent
  bool said = false;    ///< a word that is said as it stands
};

/// The input of a rule: the tokens of one sentence. Reading past the ends gives empty cores.
class Tokens {
 public:
  explicit Tokens(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  size_t size() const { return tokens_.size(); }
  const Token& operator[](size_t i) const { return tokens_[i]; }
  std::string_view core(size_t i) const {
    return i < tokens_.size() ? std::string_view(tokens_[i].core) : std::string_view();
  }
  /// The core before token i; "" at the start or when a mark stands between.
  std::string_view before(size_t i) const {
    return i > 0 && joined(i - 1) ? core(i - 1) : std::string_view();
  }
  /// The core after token i; "" at the end or when a mark stands between.
  std::string_view after(size_t i) const { return joined(i) ? core(i + 1) : std::string_view(); }
  /// Whether no mark stands between token i and the next.
  bool joined(size_t i) const {
    return i + 1 < size() && tokens_[i].close == 0 && !tokens_[i].closes && !tokens_[i + 1].opens;
  }

 private:
  std::vector<Token> tokens_;
};

/// "Cl", "HCO3": what a minus behind it belongs to. In chemistry.cc.
bool is_negative_ion(std::string_view core);

/// "A M" for "am", "a.m." or "AM", "P M" likewise; "" for anything else. In dates.cc.
std::string_view half_day(std::string_view core);

/// "noon" and "midnight" in small letters; "" for anything else. In dates.cc.
std::string_view time_word(std::string_view core);

/// Cuts folded text at white space into tokens with their marks before and after.
Tokens tokenise(const std::vector<FoldedChar>& text);

}  // namespace syrinx::english
