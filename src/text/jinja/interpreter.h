// Runs the tree of a template. An interpreter serves one rendering on one thread.
#pragma once

#include <ctime>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/calls.h"
#include "text/jinja/value.h"

namespace syrinx::jinja {

/// Makes the output of one template from given variables.
class Interpreter {
 public:
  Interpreter(const Tree& tree, std::time_t now, uint64_t work, size_t max_output);
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// Sets a global variable.
  void set(std::string_view name, Value value);
  /// Returns the output. Throws Fault.
  std::string run();
  /// Returns the line of the last statement that ran.
  int line() const { return line_; }

 private:
  struct Scope {
    std::vector<std::pair<int, Value>> values;
    Scope* parent;
  };
  /// The block that a call passes to a macro, and the variables that the block may use.
  struct CalledBlock {
    int number;
    Scope* scope;
  };
  class Entry;
  enum class Flow { kOn, kBreak, kContinue };

  Flow exec(const Body& body);
  Flow exec(const Statement& statement);
  Flow exec_if(const Statement& statement);
  Flow exec_for(const Statement& statement);
  Flow exec_with(const Statement& statement);
  std::string called_with_block(const Statement& statement);
  std::string captured(const Statement& statement);
  void write(std::string_view text);

  Value eval(const Expression& expression);
  Value name(const Expression& expression);
  Value compare_chain(const Expression& expression);
  Value call(const Expression& expression);
  Value call_macro(const Macro& macro, const Arguments& arguments, Scope& around,
                   const Value* caller = nullptr);
  Value call_block(const Callable& block, const Arguments& arguments);
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
  std::vector<CalledBlock> blocks_;  // blocks of the calls in progress
  int last_block_ = 0;
  std::string out_;
  int line_ = 1;
  int depth_ = 0;
};

}  // namespace syrinx::jinja
