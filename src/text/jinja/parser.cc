#include "text/jinja/parser.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <set>
#include <unordered_map>

#include "base/check.h"
#include "io/file.h"
#include "text/jinja/builtins.h"
#include "text/jinja/lexer.h"

namespace syrinx::jinja {
namespace {

constexpr int kMaxNesting = 150;  // of statements and expressions

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(tokens_of(source)) {}

  std::shared_ptr<const Tree> run() {
    auto tree = std::make_shared<Tree>();
    tree->body = parse_body({}).body;
    refuse_unknown_calls();
    tree->names = std::move(names_);
    return tree;
  }

 private:
  // Tokens

  [[noreturn]] void fail(std::string what) const { throw SyntaxFault{now().line, std::move(what)}; }
  const Token& now() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool see(Token::Kind kind) const { return now().kind == kind; }
  bool see_sign(std::string_view sign) const { return see(Token::kSign) && now().text == sign; }
  bool see_name(std::string_view name) const { return see(Token::kName) && now().text == name; }
  Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool skip_sign(std::string_view sign) { return see_sign(sign) && (take(), true); }
  bool skip_name(std::string_view name) { return see_name(name) && (take(), true); }

  std::string here() const {
    switch (now().kind) {
      case Token::kEnd:
        return "the end of the template";
      case Token::kPrintEnd:
      case Token::kBlockEnd:
        return "the end of the tag";
      default:
        return shown(now().text);
    }
  }
  void want_sign(std::string_view sign) {
    if (!skip_sign(sign)) fail(concat("expected '", sign, "', got ", here()));
  }
  void want(Token::Kind kind, const char* what) {
    if (!see(kind)) fail(concat("expected ", what, ", got ", here()));
    take();
  }
  std::string want_name(const char* what) {
    if (!see(Token::kName)) fail(concat("expected ", what, ", got ", here()));
    return take().text;
  }

  int id_of(const std::string& name) {
    const auto [at, fresh] = ids_.emplace(name, static_cast<int>(names_.size()));
    if (fresh) names_.push_back(name);
    return at->second;
  }

  /// Counts how deep the parser is.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) {
      if (++parser_.nesting_ > kMaxNesting) {
        parser_.fail(concat("is nested more than ", kMaxNesting, " deep"));
      }
    }
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;
  };

  // Statements

  struct Ended {
    Body body;
    std::string by;  ///< the name of the tag that ended it, its name taken; empty: the whole's end
  };

  Ended parse_body(std::initializer_list<std::string_view> ends) {
    const Nesting nesting(*this);
    Ended out;
    for (;;) {
      if (see(Token::kEnd)) {
        if (ends.size() == 0) return out;
        fail(concat("expected {% ", *(ends.end() - 1), " %}, got the end of the template"));
      }
      const int line = now().line;
      if (see(Token::kData)) {
        out.body.push_back({.kind = Statement::kText, .line = line, .text = take().text});
      } else if (see(Token::kPrint)) {
        take();
        Statement print{.kind = Statement::kPrint, .line = line, .value = parse_tuple(true)};
        want(Token::kPrintEnd, "'}}'");
        out.body.push_back(std::move(print));
      } else {
        want(Token::kBlock, "a tag");
        const std::string name = want_name("the name of a tag");
        if (std::find(ends.begin(), ends.end(), name) != ends.end()) {
          out.by = name;
          return out;
        }
        parse_statement(name, line, out.body);
      }
    }
  }

  void end_block() { want(Token::kBlockEnd, "'%}'"); }

  void parse_statement(const std::string& name, int line, Body& out) {
    if (name == "if") return out.push_back(parse_if(line));
    if (name == "for") return out.push_back(parse_for(line));
    if (name == "set") return out.push_back(parse_set(line));
    if (name == "macro") return out.push_back(parse_macro(line));
    if (name == "with") return out.push_back(parse_with(line));
    if (name == "filter") return out.push_back(parse_filter_block(line));
    if (name == "generation") {  // marks what a model is trained on; means nothing here
      end_block();
      Body body = parse_body({"endgeneration"}).body;
      end_block();
      std::move(body.begin(), body.end(), std::back_inserter(out));
      return;
    }
    if (name == "break" || name == "continue") {
      if (loops_ == 0) fail(concat("{% ", name, " %} outside of a for loop"));
      end_block();
      out.push_back(
          {.kind = name == "break" ? Statement::kBreak : Statement::kContinue, .line = line});
      return;
    }
    fail(concat("{% ", name, " %} is not supported here"));
  }

  Statement parse_if(int line) {
    Statement out{.kind = Statement::kIf, .line = line};
    ExpressionPtr condition = parse_tuple(false);
    for (;;) {
      end_block();
      Ended part = parse_body({"elif", "else", "endif"});
      out.branches.emplace_back(std::move(condition), std::move(part.body));
      condition = nullptr;
      if (part.by == "endif") break;
      if (part.by == "elif") {
        if (!out.branches.back().first) fail("{% elif %} after {% else %}");
        condition = parse_tuple(false);
      } else if (!out.branches.back().first) {
        fail("a second {% else %}");
      }
    }
    end_block();
    return out;
  }

  Statement parse_for(int line) {
    Statement out{.kind = Statement::kFor, .line = line, .target = parse_target()};
    if (!out.target.attribute.empty()) fail("a for loop cannot set attributes");
    if (!skip_name("in")) fail(concat("expected 'in', got ", here()));
    out.value = parse_tuple(false);
    if (skip_name("if")) out.condition = parse_expression();
    if (see_name("recursive")) fail("a recursive for loop is not supported");
    end_block();
    ++loops_;
    Ended part = parse_body({"else", "endfor"});
    --loops_;
    out.body = std::move(part.body);
    if (part.by == "else") {
      end_block();
      out.otherwise = parse_body({"endfor"}).body;
    }
    end_block();
    return out;
  }

  Statement parse_set(int line) {
    Statement out{.kind = Statement::kSet, .line = line, .target = parse_target()};
    if (skip_sign("=")) {
      out.value = parse_tuple(true);
      end_block();
      return out;
    }
    out.kind = Statement::kSetBlock;
    if (out.target.unpacks) fail("{% set %} of a block takes one name");
    if (see_sign("|")) out.value = parse_filters(body_text());
    end_block();
    out.body = parse_body({"endset"}).body;
    end_block();
    return out;
  }

  Statement parse_with(int line) {
    Statement out{.kind = Statement::kWith, .line = line};
    while (!see(Token::kBlockEnd)) {
      if (!out.values.empty()) want_sign(",");
      const std::string name = want_name("the name of a variable");
      made_.insert(name);
      want_sign("=");
      out.values.push_back(parse_expression());
      out.target.ids.push_back(id_of(name));
    }
    end_block();
    out.body = parse_body({"endwith"}).body;
    end_block();
    return out;
  }

  Statement parse_filter_block(int line) {
    Statement out{.kind = Statement::kFilterBlock, .line = line};
    out.value = parse_filter(body_text());
    out.value = parse_filters(std::move(out.value));
    end_block();
    out.body = parse_body({"endfilter"}).body;
    end_block();
    return out;
  }

  Statement parse_macro(int line) {
    // A macro sees the variables of the whole and its own; elsewhere it could see others too.
    if (loops_ > 0 || in_macro_) fail("a macro inside a for loop or a macro is not supported");
    auto macro = std::make_shared<Macro>();
    macro->name = want_name("the name of a macro");
    made_.insert(macro->name);
    macro->id = id_of(macro->name);
    want_sign("(");
    while (!skip_sign(")")) {
      if (!macro->parameters.empty()) want_sign(",");
      const std::string name = want_name("the name of a parameter");
      made_.insert(name);
      ExpressionPtr absent;
      if (skip_sign("=")) absent = parse_expression();
      macro->parameters.emplace_back(id_of(name), std::move(absent));
      macro->parameter_names.push_back(name);
    }
    end_block();
    in_macro_ = true;
    macro->body = parse_body({"endmacro"}).body;
    in_macro_ = false;
    if (see_name(macro->name)) take();
    end_block();
    Statement out{.kind = Statement::kMacro, .line = line};
    out.macro = std::move(macro);
    return out;
  }

  Target parse_target() {
    Target out;
    const bool bracket = skip_sign("(");
    for (;;) {
      const std::string name = want_name("the name of a variable");
      if (name == "loop") fail("'loop' cannot be set");
      out.ids.push_back(id_of(name));
      made_.insert(name);
      if (out.ids.size() == 1 && skip_sign(".")) {
        out.attribute = want_name("the name of an attribute");
        made_.insert("." + out.attribute);
        break;
      }
      if (!skip_sign(",")) break;
      out.unpacks = true;
      if (!see(Token::kName) || see_name("in")) break;
    }
    if (bracket) want_sign(")");
    return out;
  }

  // Expressions

  ExpressionPtr make(Expression::Kind kind) const {
    auto out = std::make_unique<Expression>();
    out->kind = kind;
    out->line = now().line;
    return out;
  }
  /// Sees to it that a tree of expressions does not grow too deep.
  ExpressionPtr done(ExpressionPtr expression) const {
    for (const ExpressionPtr& part : expression->parts)
      if (part) expression->depth = std::max(expression->depth, part->depth + 1);
    for (const auto& [name, part] : expression->named)
      expression->depth = std::max(expression->depth, part->depth + 1);
    if (expression->depth > kMaxNesting)
      fail(concat("an expression is nested more than ", kMaxNesting, " deep"));
    return expression;
  }
  template <typename... Parts>
  ExpressionPtr node(Expression::Kind kind, Parts... parts) const {
    ExpressionPtr out = make(kind);
    (out->parts.push_back(std::move(parts)), ...);
    return done(std::move(out));
  }
  ExpressionPtr constant(Value value) const {
    ExpressionPtr out = make(Expression::kConstant);
    out->constant = std::move(value);
    return out;
  }
  ExpressionPtr variable(const std::string& name) {
    ExpressionPtr out = make(Expression::kName);
    out->name = name;
    out->id = id_of(name);
    return out;
  }
  /// What a block wrote, for its filters.
  ExpressionPtr body_text() { return variable("{body}"); }

  /// One expression, or a tuple of several without brackets.
  ExpressionPtr parse_tuple(bool conditions) {
    const auto item = [&] { return conditions ? parse_expression() : parse_or(); };
    ExpressionPtr first = item();
    if (!see_sign(",")) return first;
    ExpressionPtr out = make(Expression::kTuple);
    out->parts.push_back(std::move(first));
    while (skip_sign(",")) {
      if (see(Token::kPrintEnd) || see(Token::kBlockEnd) || see_sign(")")) break;
      out->parts.push_back(item());
    }
    return done(std::move(out));
  }

  ExpressionPtr parse_expression() {
    const Nesting nesting(*this);
    ExpressionPtr value = parse_or();
    while (skip_name("if")) {
      ExpressionPtr condition = parse_or();
      ExpressionPtr otherwise;
      if (skip_name("else")) otherwise = parse_expression();
      value = node(Expression::kCondition, std::move(condition), std::move(value),
                   std::move(otherwise));
    }
    return value;
  }

  ExpressionPtr parse_or() {
    ExpressionPtr left = parse_and();
    while (skip_name("or")) left = node(Expression::kOr, std::move(left), parse_and());
    return left;
  }

  ExpressionPtr parse_and() {
    ExpressionPtr left = parse_not();
    while (skip_name("and")) left = node(Expression::kAnd, std::move(left), parse_not());
    return left;
  }

  ExpressionPtr parse_not() {
    const Nesting nesting(*this);
    if (skip_name("not")) return node(Expression::kNot, parse_not());
    return parse_compare();
  }

  ExpressionPtr parse_compare() {
    ExpressionPtr first = parse_sum();
    ExpressionPtr out;
    for (;;) {
      std::string sign;
      for (const char* each : {"==", "!=", "<=", ">=", "<", ">"})
        if (sign.empty() && skip_sign(each)) sign = each;
      if (sign.empty() && skip_name("in")) sign = "in";
      if (sign.empty() && see_name("not") && next().kind == Token::kName && next().text == "in") {
        take(), take();
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

  ExpressionPtr arithmetic(std::string sign, ExpressionPtr left, ExpressionPtr right) const {
    ExpressionPtr out = node(Expression::kArithmetic, std::move(left), std::move(right));
    out->name = std::move(sign);
    return out;
  }

  ExpressionPtr parse_sum() {
    ExpressionPtr left = parse_concat();
    while (see_sign("+") || see_sign("-")) {
      std::string sign = take().text;
      left = arithmetic(std::move(sign), std::move(left), parse_concat());
    }
    return left;
  }

  ExpressionPtr parse_concat() {
    ExpressionPtr first = parse_product();
    if (!see_sign("~")) return first;
    ExpressionPtr out = make(Expression::kConcat);
    out->parts.push_back(std::move(first));
    while (skip_sign("~")) out->parts.push_back(parse_product());
    return done(std::move(out));
  }

  ExpressionPtr parse_product() {
    ExpressionPtr left = parse_power();
    while (see_sign("*") || see_sign("/") || see_sign("//") || see_sign("%")) {
      std::string sign = take().text;
      left = arithmetic(std::move(sign), std::move(left), parse_power());
    }
    return left;
  }

  ExpressionPtr parse_power() {
    ExpressionPtr left = parse_unary(true);
    while (skip_sign("**")) left = arithmetic("**", std::move(left), parse_unary(true));
    return left;
  }

  ExpressionPtr parse_unary(bool filters) {
    const Nesting nesting(*this);
    ExpressionPtr out;
    if (skip_sign("-")) {
      out = node(Expression::kNegative, parse_unary(false));
    } else if (skip_sign("+")) {
      out = node(Expression::kPositive, parse_unary(false));
    } else {
      out = parse_primary();
    }
    out = parse_postfix(std::move(out));
    return filters ? parse_filters(std::move(out)) : std::move(out);
  }

  ExpressionPtr parse_primary() {
    if (see(Token::kName)) {
      const std::string name = take().text;
      if (name == "true" || name == "True") return constant(true);
      if (name == "false" || name == "False") return constant(false);
      if (name == "none" || name == "None") return constant(None{});
      return variable(name);
    }
    if (see(Token::kText)) {
      std::string text = take().text;
      while (see(Token::kText)) text += take().text;
      return constant(std::move(text));
    }
    if (see(Token::kInt)) return constant(parse_int());
    if (see(Token::kFloat)) return constant(std::stod(checked_float(take().text)));
    if (skip_sign("(")) {
      if (skip_sign(")")) return node(Expression::kTuple);
      ExpressionPtr out = parse_tuple(true);
      want_sign(")");
      return out;
    }
    if (skip_sign("[")) {
      ExpressionPtr out = make(Expression::kList);
      while (!skip_sign("]")) {
        if (!out->parts.empty()) want_sign(",");
        if (skip_sign("]")) break;
        out->parts.push_back(parse_expression());
      }
      return done(std::move(out));
    }
    if (skip_sign("{")) {
      ExpressionPtr out = make(Expression::kMap);
      while (!skip_sign("}")) {
        if (!out->parts.empty()) want_sign(",");
        if (skip_sign("}")) break;
        out->parts.push_back(parse_expression());
        want_sign(":");
        out->parts.push_back(parse_expression());
      }
      return done(std::move(out));
    }
    fail("unexpected " + here());
  }

  Value parse_int() {
    const std::string digits = take().text;
    int64_t number = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, fault] = std::from_chars(digits.data(), end, number);
    if (fault != std::errc() || stop != end) fail("the number " + shown(digits) + " is too large");
    return number;
  }

  std::string checked_float(std::string text) const {
    double number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc()) fail("the number " + shown(text) + " is out of range");
    return text;
  }

  ExpressionPtr parse_postfix(ExpressionPtr value) {
    for (;;) {
      if (skip_sign(".")) {
        if (see(Token::kInt)) {
          value = node(Expression::kItem, std::move(value), constant(parse_int()));
          continue;
        }
        const std::string name = want_name("the name of an attribute");
        value = node(Expression::kAttribute, std::move(value));
        value->name = name;
      } else if (skip_sign("[")) {
        value = parse_subscript(std::move(value));
      } else if (skip_sign("(")) {
        value = parse_call(std::move(value));
      } else {
        return value;
      }
    }
  }

  ExpressionPtr parse_subscript(ExpressionPtr value) {
    ExpressionPtr parts[3];
    int count = 0;
    bool slice = false;
    while (!see_sign("]")) {
      if (skip_sign(":")) {
        slice = true;
        if (++count > 2) fail("a slice has more than three parts");
      } else if (parts[count]) {
        fail("expected ']', got " + here());
      } else {
        parts[count] = parse_expression();
      }
    }
    take();
    if (slice) {
      return node(Expression::kSlice, std::move(value), std::move(parts[0]), std::move(parts[1]),
                  std::move(parts[2]));
    }
    if (!parts[0]) fail("nothing between '[' and ']'");
    return node(Expression::kItem, std::move(value), std::move(parts[0]));
  }

  /// A call of what no template and no value has is refused once all of the template is read, but
  /// for names that it looks for ("if f is defined").
  ExpressionPtr parse_call(ExpressionPtr callee) {
    const bool method = callee->kind == Expression::kAttribute;
    if (method && !is_method(callee->name)) called_.push_back({"." + callee->name, now().line});
    if (callee->kind == Expression::kName && find_global(callee->name) == Global::kNone)
      called_.push_back({callee->name, now().line});
    ExpressionPtr call = make(Expression::kCall);
    call->parts.push_back(std::move(callee));
    return parse_arguments(std::move(call));
  }
  void refuse_unknown_calls() const {
    for (const auto& [name, line] : called_) {
      if (made_.contains(name)) continue;
      throw SyntaxFault{line, name.starts_with('.')
                                  ? concat("the method '", name.substr(1), "' is not supported")
                                  : concat("there is no function '", name, "' here")};
    }
  }

  /// Arguments up to the bracket's end, put into `out` behind the parts that it has.
  ExpressionPtr parse_arguments(ExpressionPtr out) {
    bool first = true;
    while (!skip_sign(")")) {
      if (!first) want_sign(",");
      if (!first && skip_sign(")")) break;
      first = false;
      if (see_sign("*") || see_sign("**")) fail("arguments by '*' are not supported");
      if (see(Token::kName) && next().kind == Token::kSign && next().text == "=") {
        std::string name = take().text;
        take();
        out->named.emplace_back(std::move(name), parse_expression());
      } else {
        if (!out->named.empty()) fail("an argument without a name after one with a name");
        out->parts.push_back(parse_expression());
      }
    }
    return done(std::move(out));
  }

  ExpressionPtr parse_filters(ExpressionPtr value) {
    for (;;) {
      if (skip_sign("|")) {
        value = parse_filter(std::move(value));
      } else if (skip_name("is")) {
        value = parse_test(std::move(value));
      } else if (see_sign("(")) {
        take();
        value = parse_call(std::move(value));
      } else {
        return value;
      }
    }
  }

  ExpressionPtr parse_filter(ExpressionPtr value) {
    ExpressionPtr out = make(Expression::kFilter);
    out->name = want_name("the name of a filter");
    out->filter = find_filter(out->name);
    // Jinja refuses one in a branch when a conversation comes to it; a server must know before.
    if (out->filter == nullptr) fail(unknown_filter(out->name));
    out->parts.push_back(std::move(value));
    if (skip_sign("(")) return parse_arguments(std::move(out));
    return done(std::move(out));
  }

  ExpressionPtr parse_test(ExpressionPtr value) {
    const bool negated = skip_name("not");
    ExpressionPtr out = make(Expression::kTest);
    out->name = want_name("the name of a test");
    out->test = find_test(out->name);
    if (out->test == nullptr) fail("the test " + shown(out->name) + " is not supported");
    if (out->name == "defined" && value->kind == Expression::kName) made_.insert(value->name);
    out->parts.push_back(std::move(value));
    const bool more = see(Token::kText) || see(Token::kInt) || see(Token::kFloat) ||
                      see_sign("[") || see_sign("{") ||
                      (see(Token::kName) && !see_name("else") && !see_name("or") &&
                       !see_name("and") && !see_name("is"));
    if (skip_sign("(")) {
      out = parse_arguments(std::move(out));
    } else if (more) {
      out->parts.push_back(parse_postfix(parse_primary()));
      out = done(std::move(out));
    } else {
      out = done(std::move(out));
    }
    return negated ? node(Expression::kNot, std::move(out)) : std::move(out);
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
  int loops_ = 0;
  bool in_macro_ = false;
  std::unordered_map<std::string, int> ids_;
  std::vector<std::string> names_;
  std::set<std::string> made_;                      // what is set somewhere, or looked for
  std::vector<std::pair<std::string, int>> called_;  // with the line
};

}  // namespace

std::shared_ptr<const Tree> parse_template(std::string_view source) {
  if (source.size() > kMaxTemplateBytes)
    throw SyntaxFault{
        1, concat("has ", source.size(), " bytes; at most ", kMaxTemplateBytes, " are read")};
  return Parser(source).run();
}

}  // namespace syrinx::jinja
