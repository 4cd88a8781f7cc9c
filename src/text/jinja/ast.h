// A parsed template. Const after parsing; several renderings share it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace syrinx::jinja {

struct Arguments;
/// The function of a filter, `value | name(...)`, or of a test, `value is name(...)`.
using Filter = Value (*)(Budget&, const Value&, const Arguments&);
using Test = bool (*)(Budget&, const Value&, const Arguments&);

/// A node that has a value.
struct Expression {
  enum Kind {
    kConstant,   // the value `constant`
    kName,       // the variable `id`
    kAttribute,  // parts[0].name
    kItem,       // parts[0][parts[1]]
    kSlice,      // parts[0][parts[1]:parts[2]:parts[3]]; each of parts 1 to 3 may be null
    kCall,       // parts[0](parts[1..], named)
    kFilter,     // parts[0] | filter(parts[1..], named)
    kTest,       // parts[0] is test(parts[1..], named)
    kNot,
    kNegative,
    kPositive,
    kAnd,
    kOr,
    kConcat,      // parts joined as text
    kArithmetic,  // parts[0] name parts[1]
    kCompare,     // parts[0] signs[0] parts[1] signs[1] parts[2] ...
    kCondition,   // parts[1] if parts[0] else parts[2]; parts[2] may be null
    kList,
    kTuple,
    kMap,  // key, value, key, value, ...
  };
  Kind kind = kConstant;
  int line = 1;
  int depth = 1;
  Value constant = {};
  std::string name = {};
  int id = -1;  ///< id of a variable
  Filter filter = nullptr;
  Test test = nullptr;
  std::vector<std::unique_ptr<Expression>> parts = {};
  std::vector<std::pair<std::string, std::unique_ptr<Expression>>> named = {};
  std::vector<std::string> signs = {};
};
using ExpressionPtr = std::unique_ptr<Expression>;

/// The target of an assignment: one variable, several variables, or an attribute of a namespace.
struct Target {
  std::vector<int> ids;
  bool unpacks = false;
  std::string attribute = {};
};

struct Macro;
struct Statement;
using Body = std::vector<Statement>;

/// A node that writes output or changes variables.
struct Statement {
  enum Kind {
    kText,
    kPrint,
    kIf,
    kFor,
    kSet,
    kSetBlock,
    kWith,
    kFilterBlock,
    kMacro,
    kCall,
    kBreak,
    kContinue
  };
  Kind kind = kText;
  int line = 1;
  std::string text = {};
  ExpressionPtr value = {};      ///< the value to print, set, iterate or call, or a block's filters
  ExpressionPtr condition = {};  ///< condition of a for loop on its items
  Target target = {};
  /// the branches of an if; the condition of `else` is null
  std::vector<std::pair<ExpressionPtr, Body>> branches = {};
  std::vector<ExpressionPtr> values = {};  ///< values of a `with` statement, for target.ids
  Body body = {};
  Body otherwise = {};                      ///< body of a for loop's else
  std::shared_ptr<const Macro> macro = {};  ///< macro that is defined, or the block of a call
};

/// A function that a template defines.
struct Macro {
  std::string name;
  int id = -1;
  /// the id of each parameter, and its default value or null
  std::vector<std::pair<int, ExpressionPtr>> parameters;
  std::vector<std::string> parameter_names;
  Body body;
};

/// A whole template.
struct Tree {
  Body body;
  std::vector<std::string> names;  ///< names of the variables; the index is the variable's id
};

}  // namespace syrinx::jinja
