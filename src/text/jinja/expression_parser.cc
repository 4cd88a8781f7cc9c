#include "text/jinja/expression_parser.h"

#include <algorithm>

#include "base/check.h"
#include "base/number.h"
#include "io/file.h"
#include "text/jinja/builtins.h"

namespace syrinx::jinja {

ExpressionPtr ExpressionParser::make(Expression::Kind kind) const {
  auto out = std::make_unique<Expression>();
  out->kind = kind;
  out->line = tokens_.now().line;
  return out;
}

/// Returns the expression; throws SyntaxFault if its tree is too deep.
ExpressionPtr ExpressionParser::done(ExpressionPtr expression) const {
  for (const ExpressionPtr& part : expression->parts)
    if (part) expression->depth = std::max(expression->depth, part->depth + 1);
  for (const auto& [name, part] : expression->named)
    expression->depth = std::max(expression->depth, part->depth + 1);
  if (expression->depth > kMaxNesting)
    tokens_.fail(concat("an expression is nested more than ", kMaxNesting, " deep"));
  return expression;
}

template <typename... Parts>
ExpressionPtr ExpressionParser::node(Expression::Kind kind, Parts... parts) const {
  ExpressionPtr out = make(kind);
  (out->parts.push_back(std::move(parts)), ...);
  return done(std::move(out));
}

ExpressionPtr ExpressionParser::constant(Value value) const {
  ExpressionPtr out = make(Expression::kConstant);
  out->constant = std::move(value);
  return out;
}

ExpressionPtr ExpressionParser::variable(const std::string& name) {
  ExpressionPtr out = make(Expression::kName);
  out->name = name;
  out->id = names_.id_of(name);
  return out;
}

/// Parses one expression, or a tuple of several without brackets.
ExpressionPtr ExpressionParser::tuple(bool conditions) {
  const auto item = [&] { return conditions ? expression() : parse_or(); };
  ExpressionPtr first = item();
  if (!tokens_.see_sign(",")) return first;
  ExpressionPtr out = make(Expression::kTuple);
  out->parts.push_back(std::move(first));
  while (tokens_.skip_sign(",")) {
    if (tokens_.see(Token::kPrintEnd) || tokens_.see(Token::kBlockEnd) || tokens_.see_sign(")"))
      break;
    out->parts.push_back(item());
  }
  return done(std::move(out));
}

ExpressionPtr ExpressionParser::expression() {
  const TokenCursor::Nesting nesting(tokens_);
  ExpressionPtr value = parse_or();
  while (tokens_.skip_name("if")) {
    ExpressionPtr condition = parse_or();
    ExpressionPtr otherwise;
    if (tokens_.skip_name("else")) otherwise = expression();
    value =
        node(Expression::kCondition, std::move(condition), std::move(value), std::move(otherwise));
  }
  return value;
}

ExpressionPtr ExpressionParser::parse_or() {
  ExpressionPtr left = parse_and();
  while (tokens_.skip_name("or")) left = node(Expression::kOr, std::move(left), parse_and());
  return left;
}

ExpressionPtr ExpressionParser::parse_and() {
  ExpressionPtr left = parse_not();
  while (tokens_.skip_name("and")) left = node(Expression::kAnd, std::move(left), parse_not());
  return left;
}

ExpressionPtr ExpressionParser::parse_not() {
  const TokenCursor::Nesting nesting(tokens_);
  if (tokens_.skip_name("not")) return node(Expression::kNot, parse_not());
  return parse_compare();
}

ExpressionPtr ExpressionParser::parse_compare() {
  ExpressionPtr first = parse_sum();
  ExpressionPtr out;
  for (;;) {
    std::string sign;
    for (const char* each : {"==", "!=", "<=", ">=", "<", ">"})
      if (sign.empty() && tokens_.skip_sign(each)) sign = each;
    if (sign.empty() && tokens_.skip_name("in")) sign = "in";
    if (sign.empty() && tokens_.see_name("not") && tokens_.next().kind == Token::kName &&
        tokens_.next().text == "in") {
      tokens_.take(), tokens_.take();
      sign = "not in";
    }
    if (sign.empty()) return out ? done(std::move(out)) : std::move(first);
    if (!out) {
      out = make(Expression::kCompare);
      out->parts.push_back(std::move(first));
    }
    out->signs.push_back(std::move(sign));
    out->parts.push_back(parse_sum());
  }
}

ExpressionPtr ExpressionParser::arithmetic(std::string sign, ExpressionPtr left,
                                           ExpressionPtr right) const {
  ExpressionPtr out = node(Expression::kArithmetic, std::move(left), std::move(right));
  out->name = std::move(sign);
  return out;
}

ExpressionPtr ExpressionParser::parse_sum() {
  ExpressionPtr left = parse_concat();
  while (tokens_.see_sign("+") || tokens_.see_sign("-")) {
    std::string sign = tokens_.take().text;
    left = arithmetic(std::move(sign), std::move(left), parse_concat());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_concat() {
  ExpressionPtr first = parse_product();
  if (!tokens_.see_sign("~")) return first;
  ExpressionPtr out = make(Expression::kConcat);
  out->parts.push_back(std::move(first));
  while (tokens_.skip_sign("~")) out->parts.push_back(parse_product());
  return done(std::move(out));
}

ExpressionPtr ExpressionParser::parse_product() {
  ExpressionPtr left = parse_power();
  while (tokens_.see_sign("*") || tokens_.see_sign("/") || tokens_.see_sign("//") ||
         tokens_.see_sign("%")) {
    std::string sign = tokens_.take().text;
    left = arithmetic(std::move(sign), std::move(left), parse_power());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_power() {
  ExpressionPtr left = parse_unary(true);
  while (tokens_.skip_sign("**")) left = arithmetic("**", std::move(left), parse_unary(true));
  return left;
}

ExpressionPtr ExpressionParser::parse_unary(bool filtered) {
  const TokenCursor::Nesting nesting(tokens_);
  ExpressionPtr out;
  if (tokens_.skip_sign("-")) {
    out = node(Expression::kNegative, parse_unary(false));
  } else if (tokens_.skip_sign("+")) {
    out = node(Expression::kPositive, parse_unary(false));
  } else {
    out = parse_primary();
  }
  out = parse_postfix(std::move(out));
  return filtered ? filters(std::move(out)) : std::move(out);
}

ExpressionPtr ExpressionParser::parse_primary() {
  if (tokens_.see(Token::kName)) {
    const std::string name = tokens_.take().text;
    if (name == "true" || name == "True") return constant(true);
    if (name == "false" || name == "False") return constant(false);
    if (name == "none" || name == "None") return constant(None{});
    return variable(name);
  }
  if (tokens_.see(Token::kText)) {
    std::string text = tokens_.take().text;
    while (tokens_.see(Token::kText)) text += tokens_.take().text;
    return constant(std::move(text));
  }
  if (tokens_.see(Token::kInt)) return constant(parse_int());
  if (tokens_.see(Token::kFloat)) return constant(parse_float());
  if (tokens_.skip_sign("(")) {
    if (tokens_.skip_sign(")")) return node(Expression::kTuple);
    ExpressionPtr out = tuple(true);
    tokens_.want_sign(")");
    return out;
  }
  if (tokens_.skip_sign("[")) {
    ExpressionPtr out = make(Expression::kList);
    while (!tokens_.skip_sign("]")) {
      if (!out->parts.empty()) tokens_.want_sign(",");
      if (tokens_.skip_sign("]")) break;
      out->parts.push_back(expression());
    }
    return done(std::move(out));
  }
  if (tokens_.skip_sign("{")) {
    ExpressionPtr out = make(Expression::kMap);
    while (!tokens_.skip_sign("}")) {
      if (!out->parts.empty()) tokens_.want_sign(",");
      if (tokens_.skip_sign("}")) break;
      out->parts.push_back(expression());
      tokens_.want_sign(":");
      out->parts.push_back(expression());
    }
    return done(std::move(out));
  }
  tokens_.fail("unexpected " + tokens_.here());
}

Value ExpressionParser::parse_int() {
  const std::string digits = tokens_.take().text;
  int64_t number = 0;
  if (!parse_number(digits, number)) tokens_.fail("the number " + shown(digits) + " is too large");
  return number;
}

double ExpressionParser::parse_float() {
  const std::string digits = tokens_.take().text;
  double number = 0;
  if (!parse_number(digits, number))
    tokens_.fail("the number " + shown(digits) + " is out of range");
  return number;
}

ExpressionPtr ExpressionParser::parse_postfix(ExpressionPtr value) {
  for (;;) {
    if (tokens_.skip_sign(".")) {
      if (tokens_.see(Token::kInt)) {
        value = node(Expression::kItem, std::move(value), constant(parse_int()));
        continue;
      }
      const std::string name = tokens_.want_name("the name of an attribute");
      value = node(Expression::kAttribute, std::move(value));
      value->name = name;
    } else if (tokens_.skip_sign("[")) {
      value = parse_subscript(std::move(value));
    } else if (tokens_.skip_sign("(")) {
      value = parse_call(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::parse_subscript(ExpressionPtr value) {
  ExpressionPtr parts[3];
  int count = 0;
  bool slice = false;
  while (!tokens_.see_sign("]")) {
    if (tokens_.skip_sign(":")) {
      slice = true;
      if (++count > 2) tokens_.fail("a slice has more than three parts");
    } else if (parts[count]) {
      tokens_.fail("expected ']', got " + tokens_.here());
    } else {
      parts[count] = expression();
    }
  }
  tokens_.take();
  if (slice) {
    return node(Expression::kSlice, std::move(value), std::move(parts[0]), std::move(parts[1]),
                std::move(parts[2]));
  }
  if (!parts[0]) tokens_.fail("expected an index between '[' and ']'");
  return node(Expression::kItem, std::move(value), std::move(parts[0]));
}

/// Parses a call. After the whole template is parsed, calls of unknown names are refused, except
/// names that the template tests ("if f is defined").
ExpressionPtr ExpressionParser::parse_call(ExpressionPtr callee) {
  const bool method = callee->kind == Expression::kAttribute;
  if (method && !is_method(callee->name)) names_.called("." + callee->name, tokens_.now().line);
  if (callee->kind == Expression::kName && find_global(callee->name) == Global::kNone)
    names_.called(callee->name, tokens_.now().line);
  ExpressionPtr call = make(Expression::kCall);
  call->parts.push_back(std::move(callee));
  return parse_arguments(std::move(call));
}

/// Parses arguments up to the closing bracket, and appends them to the parts of `out`.
ExpressionPtr ExpressionParser::parse_arguments(ExpressionPtr out) {
  bool first = true;
  while (!tokens_.skip_sign(")")) {
    if (!first) tokens_.want_sign(",");
    if (!first && tokens_.skip_sign(")")) break;
    first = false;
    if (tokens_.see_sign("*") || tokens_.see_sign("**"))
      tokens_.fail("arguments by '*' are not supported");
    if (tokens_.see(Token::kName) && tokens_.next().kind == Token::kSign &&
        tokens_.next().text == "=") {
      std::string name = tokens_.take().text;
      tokens_.take();
      out->named.emplace_back(std::move(name), expression());
    } else {
      if (!out->named.empty()) tokens_.fail("a positional argument follows a named argument");
      out->parts.push_back(expression());
    }
  }
  return done(std::move(out));
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr value) {
  for (;;) {
    if (tokens_.skip_sign("|")) {
      value = filter(std::move(value));
    } else if (tokens_.skip_name("is")) {
      value = parse_test(std::move(value));
    } else if (tokens_.see_sign("(")) {
      tokens_.take();
      value = parse_call(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::filter(ExpressionPtr value) {
  ExpressionPtr out = make(Expression::kFilter);
  out->name = tokens_.want_name("the name of a filter");
  out->filter = find_filter(out->name);
  // Jinja refuses an unknown filter only when its branch runs. A server must refuse it at loading.
  if (out->filter == nullptr) tokens_.fail(unknown_filter(out->name));
  out->parts.push_back(std::move(value));
  if (tokens_.skip_sign("(")) return parse_arguments(std::move(out));
  return done(std::move(out));
}

ExpressionPtr ExpressionParser::parse_test(ExpressionPtr value) {
  const bool negated = tokens_.skip_name("not");
  ExpressionPtr out = make(Expression::kTest);
  out->name = tokens_.want_name("the name of a test");
  out->test = find_test(out->name);
  if (out->test == nullptr) tokens_.fail("the test " + shown(out->name) + " is not supported");
  if (out->name == "defined" && value->kind == Expression::kName) names_.made(value->name);
  out->parts.push_back(std::move(value));
  const bool more =
      tokens_.see(Token::kText) || tokens_.see(Token::kInt) || tokens_.see(Token::kFloat) ||
      tokens_.see_sign("[") || tokens_.see_sign("{") ||
      (tokens_.see(Token::kName) && !tokens_.see_name("else") && !tokens_.see_name("or") &&
       !tokens_.see_name("and") && !tokens_.see_name("is"));
  if (tokens_.skip_sign("(")) {
    out = parse_arguments(std::move(out));
  } else if (more) {
    out->parts.push_back(parse_postfix(parse_primary()));
    out = done(std::move(out));
  } else {
    out = done(std::move(out));
  }
  return negated ? node(Expression::kNot, std::move(out)) : std::move(out);
}

}  // namespace syrinx::jinja
