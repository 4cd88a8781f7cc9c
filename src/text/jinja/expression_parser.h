// Parses expressions from tokens, with Jinja's rules. Not thread-safe.
#pragma once

#include <string>

#include "text/jinja/ast.h"
#include "text/jinja/name_table.h"
#include "text/jinja/token_cursor.h"

namespace syrinx::jinja {

/// Parses expressions. Its methods throw SyntaxFault.
class ExpressionParser {
 public:
  /// The tokens and the names must outlive the parser.
  ExpressionParser(TokenCursor& tokens, NameTable& names) : tokens_(tokens), names_(names) {}

  /// Parses one expression, or a tuple without brackets. `conditions`: accepts "a if b else c".
  ExpressionPtr tuple(bool conditions);
  ExpressionPtr expression();
  /// Parses one filter of a value, or all its filters and tests.
  ExpressionPtr filter(ExpressionPtr value);
  ExpressionPtr filters(ExpressionPtr value);
  ExpressionPtr variable(const std::string& name);

 private:
  ExpressionPtr make(Expression::Kind kind) const;
  ExpressionPtr done(ExpressionPtr expression) const;
  template <typename... Parts>
  ExpressionPtr node(Expression::Kind kind, Parts... parts) const;
  ExpressionPtr constant(Value value) const;
  ExpressionPtr arithmetic(std::string sign, ExpressionPtr left, ExpressionPtr right) const;

  // Parse operators, in order of precedence, the weakest first.
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_compare();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concat();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool filtered);
  ExpressionPtr parse_primary();
  Value parse_int();
  double parse_float();

  ExpressionPtr parse_postfix(ExpressionPtr value);
  ExpressionPtr parse_subscript(ExpressionPtr value);
  ExpressionPtr parse_call(ExpressionPtr callee);
  ExpressionPtr parse_arguments(ExpressionPtr out);
  ExpressionPtr parse_test(ExpressionPtr value);

  TokenCursor& tokens_;
  NameTable& names_;
};

}  // namespace syrinx::jinja
