#include "text/jinja/parser.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/check.h"
#include "text/jinja/expression_parser.h"

namespace syrinx::jinja {
namespace {

/// Parses statements.
class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(source), read_(tokens_, names_) {}

  std::shared_ptr<const Tree> run() {
    auto tree = std::make_shared<Tree>();
    tree->body = parse_body({}).body;
    names_.refuse_unknown_calls();
    tree->names = names_.take();
    return tree;
  }

 private:
  struct Ended {
    Body body;
    std::string by;  ///< tag that ended the body, already read; "" at the template's end
  };

  Ended parse_body(std::initializer_list<std::string_view> ends) {
    const TokenCursor::Nesting nesting(tokens_);
    Ended out;
    for (;;) {
      if (tokens_.see(Token::kEnd)) {
        if (ends.size() == 0) return out;
        tokens_.fail(concat("expected {% ", *(ends.end() - 1), " %}, got the end of the template"));
      }
      const int line = tokens_.now().line;
      if (tokens_.see(Token::kData)) {
        out.body.push_back({.kind = Statement::kText, .line = line, .text = tokens_.take().text});
      } else if (tokens_.see(Token::kPrint)) {
        tokens_.take();
        Statement print{.kind = Statement::kPrint, .line = line, .value = read_.tuple(true)};
        tokens_.want(Token::kPrintEnd, "'}}'");
        out.body.push_back(std::move(print));
      } else {
        tokens_.want(Token::kBlock, "a tag");
        const std::string name = tokens_.want_name("the name of a tag");
        if (std::find(ends.begin(), ends.end(), name) != ends.end()) {
          out.by = name;
          return out;
        }
        parse_statement(name, line, out.body);
      }
    }
  }

  void end_block() { tokens_.want(Token::kBlockEnd, "'%}'"); }

  void parse_statement(const std::string& name, int line, Body& out) {
    if (name == "if") return out.push_back(parse_if(line));
    if (name == "for") return out.push_back(parse_for(line));
    if (name == "set") return out.push_back(parse_set(line));
    if (name == "macro") return out.push_back(parse_macro(line));
    if (name == "call") return out.push_back(parse_call(line));
    if (name == "with") return out.push_back(parse_with(line));
    if (name == "filter") return out.push_back(parse_filter_block(line));
    if (name == "generation") {  // marks text that a model is trained on; no effect in a rendering
      end_block();
      Body body = parse_body({"endgeneration"}).body;
      end_block();
      std::move(body.begin(), body.end(), std::back_inserter(out));
      return;
    }
    if (name == "break" || name == "continue") {
      if (loops_ == 0) tokens_.fail(concat("{% ", name, " %} outside of a for loop"));
      end_block();
      out.push_back(
          {.kind = name == "break" ? Statement::kBreak : Statement::kContinue, .line = line});
      return;
    }
    tokens_.fail(concat("{% ", name, " %} is not supported here"));
  }

  Statement parse_if(int line) {
    Statement out{.kind = Statement::kIf, .line = line};
    ExpressionPtr condition = read_.tuple(false);
    for (;;) {
      end_block();
      Ended part = parse_body({"elif", "else", "endif"});
      out.branches.emplace_back(std::move(condition), std::move(part.body));
      condition = nullptr;
      if (part.by == "endif") break;
      if (part.by == "elif") {
        if (!out.branches.back().first) tokens_.fail("{% elif %} after {% else %}");
        condition = read_.tuple(false);
      } else if (!out.branches.back().first) {
        tokens_.fail("a second {% else %}");
      }
    }
    end_block();
    return out;
  }

  Statement parse_for(int line) {
    Statement out{.kind = Statement::kFor, .line = line, .target = parse_target()};
    if (!out.target.attribute.empty()) tokens_.fail("a for loop cannot set attributes");
    if (!tokens_.skip_name("in")) tokens_.fail(concat("expected 'in', got ", tokens_.here()));
    out.value = read_.tuple(false);
    if (tokens_.skip_name("if")) out.condition = read_.expression();
    if (tokens_.see_name("recursive")) tokens_.fail("a recursive for loop is not supported");
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
    if (tokens_.skip_sign("=")) {
      out.value = read_.tuple(true);
      end_block();
      return out;
    }
    out.kind = Statement::kSetBlock;
    if (out.target.unpacks) tokens_.fail("{% set %} of a block needs a single variable");
    if (tokens_.see_sign("|")) out.value = read_.filters(body_text());
    end_block();
    out.body = parse_body({"endset"}).body;
    end_block();
    return out;
  }

  Statement parse_with(int line) {
    Statement out{.kind = Statement::kWith, .line = line};
    while (!tokens_.see(Token::kBlockEnd)) {
      if (!out.values.empty()) tokens_.want_sign(",");
      const std::string name = tokens_.want_name("the name of a variable");
      names_.made(name);
      tokens_.want_sign("=");
      out.values.push_back(read_.expression());
      out.target.ids.push_back(names_.id_of(name));
    }
    end_block();
    out.body = parse_body({"endwith"}).body;
    end_block();
    return out;
  }

  Statement parse_filter_block(int line) {
    Statement out{.kind = Statement::kFilterBlock, .line = line};
    out.value = read_.filter(body_text());
    out.value = read_.filters(std::move(out.value));
    end_block();
    out.body = parse_body({"endfilter"}).body;
    end_block();
    return out;
  }

  Statement parse_macro(int line) {
    // A macro may use global variables and its own, but not those of a loop or macro around it.
    if (loops_ > 0 || in_macro_)
      tokens_.fail("a macro inside a for loop or a macro is not supported");
    auto macro = std::make_shared<Macro>();
    macro->name = tokens_.want_name("the name of a macro");
    names_.made(macro->name);
    names_.made("caller");
    macro->id = names_.id_of(macro->name);
    tokens_.want_sign("(");
    parse_parameters(*macro);
    end_block();
    in_macro_ = true;
    macro->body = parse_body({"endmacro"}).body;
    in_macro_ = false;
    if (tokens_.see_name(macro->name)) tokens_.take();
    end_block();
    Statement out{.kind = Statement::kMacro, .line = line};
    out.macro = std::move(macro);
    return out;
  }

  /// Parses parameters up to the closing bracket.
  void parse_parameters(Macro& macro) {
    while (!tokens_.skip_sign(")")) {
      if (!macro.parameters.empty()) tokens_.want_sign(",");
      const std::string name = tokens_.want_name("the name of a parameter");
      names_.made(name);
      ExpressionPtr absent;
      if (tokens_.skip_sign("=")) absent = read_.expression();
      macro.parameters.emplace_back(names_.id_of(name), std::move(absent));
      macro.parameter_names.push_back(name);
    }
  }

  /// Parses a block that the called macro can call as the function `caller`.
  Statement parse_call(int line) {
    Statement out{.kind = Statement::kCall, .line = line};
    auto caller = std::make_shared<Macro>();
    caller->name = "caller";
    caller->id = names_.id_of(caller->name);
    if (tokens_.skip_sign("(")) parse_parameters(*caller);
    out.value = read_.expression();
    if (out.value->kind != Expression::kCall) tokens_.fail("{% call %} needs a call of a macro");
    end_block();
    const int loops = std::exchange(loops_, 0);  // loops around the block do not count within it
    caller->body = parse_body({"endcall"}).body;
    loops_ = loops;
    end_block();
    out.macro = std::move(caller);
    return out;
  }

  Target parse_target() {
    Target out;
    const bool bracket = tokens_.skip_sign("(");
    for (;;) {
      const std::string name = tokens_.want_name("the name of a variable");
      if (name == "loop") tokens_.fail("'loop' cannot be set");
      out.ids.push_back(names_.id_of(name));
      names_.made(name);
      if (out.ids.size() == 1 && tokens_.skip_sign(".")) {
        out.attribute = tokens_.want_name("the name of an attribute");
        names_.made("." + out.attribute);
        break;
      }
      if (!tokens_.skip_sign(",")) break;
      out.unpacks = true;
      if (!tokens_.see(Token::kName) || tokens_.see_name("in")) break;
    }
    if (bracket) tokens_.want_sign(")");
    return out;
  }

  /// A variable that stands for the output of a block, as the operand of its filters.
  ExpressionPtr body_text() { return read_.variable("{body}"); }

  TokenCursor tokens_;
  NameTable names_;
  ExpressionParser read_;
  int loops_ = 0;
  bool in_macro_ = false;
};

}  // namespace

std::shared_ptr<const Tree> parse_template(std::string_view source) {
  if (source.size() > kMaxTemplateBytes)
    throw SyntaxFault{
        1, concat("has ", source.size(), " bytes; at most ", kMaxTemplateBytes, " are read")};
  return Parser(source).run();
}

}  // namespace syrinx::jinja
