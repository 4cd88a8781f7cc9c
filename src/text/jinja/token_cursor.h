// A parser's position in the tokens of a template. Reads tokens, and reports a token that differs
// from the expected token. Not thread-safe.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/lexer.h"

namespace syrinx::jinja {

inline constexpr int kMaxNesting = 150;  ///< most nested statements and expressions

class TokenCursor {
 public:
  /// Reads the tokens of `source`. Throws SyntaxFault.
  explicit TokenCursor(std::string_view source) : tokens_(tokens_of(source)) {}

  [[noreturn]] void fail(std::string what) const { throw SyntaxFault{now().line, std::move(what)}; }
  const Token& now() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool see(Token::Kind kind) const { return now().kind == kind; }
  bool see_sign(std::string_view sign) const { return see(Token::kSign) && now().text == sign; }
  bool see_name(std::string_view name) const { return see(Token::kName) && now().text == name; }
  Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool skip_sign(std::string_view sign) { return see_sign(sign) && (take(), true); }
  bool skip_name(std::string_view name) { return see_name(name) && (take(), true); }
  /// Returns a description of the present token, for an error message.
  std::string here() const;
  void want_sign(std::string_view sign);
  void want(Token::Kind kind, const char* what);
  std::string want_name(const char* what);

  /// Counts the nesting depth of the parser's calls.
  class Nesting {
   public:
    explicit Nesting(TokenCursor& cursor);
    ~Nesting() { --cursor_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    TokenCursor& cursor_;
  };

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace syrinx::jinja
