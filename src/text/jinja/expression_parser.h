// From tokens to expressions, as Jinja reads them. One thread.
#pragma once

#include <string>

#include "text/jinja/ast.h"
#include "text/jinja/name_table.h"
#include "text/jinja/token_cursor.h"

namespace syrinx::jinja {

/// Its methods throw SyntaxFault.
class ExpressionParser {
 public:
  /// Both outlive it.
  ExpressionParser(TokenCursor& tokens, NameTable& names) : tokens_(tokens), names_(names) {}

  /// One expression, or a tuple of several without brackets. `conditions`: "a if b else c" is one.
  ExpressionPtr tuple(bool conditions);
  ExpressionPtr expression();
  /// One filter, or filters and tests as long as there are any, of a value.
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

  // From what binds least to what binds most.
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
  std::string checked_float(std::string text) const;

  ExpressionPtr parse_postfix(ExpressionPtr value);
  ExpressionPtr parse_subscript(ExpressionPtr value);
  ExpressionPtr parse_call(ExpressionPtr callee);
  ExpressionPtr parse_arguments(ExpressionPtr out);
  ExpressionPtr parse_test(ExpressionPtr value);

  TokenCursor& tokens_;
  NameTable& names_;
};

}  // namespace syrinx::jinja
