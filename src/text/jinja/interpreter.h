// Runs a template's tree. One rendering, one thread.
#pragma once

#include <ctime>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/builtins.h"
#include "text/jinja/value.h"

namespace syrinx::jinja {

/// What namespace() makes: the only value that a loop may change outside of itself.
struct Namespace {
  Map values;
};

/// A macro, one of the functions that every template knows, or a method of a value.
struct Callable {
  const Macro* macro = nullptr;
  Global global = Global::kNone;
  std::string method = {};
  Value self = {};
};

/// Of a call, by place and by name.
struct Arguments {
  std::vector<Value> values;
  std::vector<std::pair<std::string, Value>> named;

  /// Argument `index`, or the one called `name`; null: not given.
  const Value* get(size_t index, std::string_view name = {}) const;
  /// A Fault when there are more than `most`, or one with a name that is not among `names`.
  void check(std::string_view function, size_t most,
             std::initializer_list<std::string_view> names = {}) const;
};

class Interpreter {
 public:
  Interpreter(const Tree& tree, std::time_t now, uint64_t work, size_t max_output);
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// A variable of the whole.
  void set(std::string_view name, Value value);
  /// Throws Fault.
  std::string run();
  /// The line that was at work last.
  int line() const { return line_; }

  // For filters, tests and methods
  Budget& budget() { return budget_; }
  Value text(std::string text) {
    budget_.spend_bytes(text.size());
    return Value(std::move(text));
  }
  Value list(std::vector<Value> items) {
    budget_.spend(4 * items.size());
    return make_list(std::move(items));
  }
  /// `value.name` and `value[index]`.
  Value attribute(const Value& value, std::string_view name);
  Value item(const Value& value, const Value& index);
  /// `value in in`
  bool contains(const Value& value, const Value& in);

 private:
  struct Scope {
    std::vector<std::pair<int, Value>> values;
    Scope* parent;
  };
  class Entry;
  enum class Flow { kOn, kBreak, kContinue };

  Flow exec(const Body& body);
  Flow exec(const Statement& statement);
  Flow exec_if(const Statement& statement);
  Flow exec_for(const Statement& statement);
  std::string captured(const Statement& statement);
  void write(std::string_view text);

  Value eval(const Expression& expression);
  Value name(const Expression& expression);
  Value slice(const Expression& expression);
  Value compare_chain(const Expression& expression);
  Value arithmetic(const Expression& expression);
  Value call(const Expression& expression);
  Value call_macro(const Macro& macro, const Arguments& arguments);
  Value call_global(Global global, const Arguments& arguments);
  Arguments arguments(const Expression& expression);

  void assign(Scope& scope, int id, Value value);
  void assign(const Target& target, Value value);

  const Tree& tree_;
  const std::time_t now_;
  Budget budget_;
  const size_t max_output_;
  Scope root_{{}, nullptr};
  Scope* scope_ = &root_;
  std::deque<Namespace> namespaces_;
  std::string out_;
  int line_ = 1;
  int depth_ = 0;
};

}  // namespace syrinx::jinja
