#include "text/jinja/interpreter.h"

#include <algorithm>
#include <array>

#include "base/calendar.h"
#include "base/check.h"
#include "text/jinja/access.h"
#include "text/jinja/arithmetic.h"
#include "text/jinja/operations.h"

namespace syrinx::jinja {
namespace {

constexpr int kMaxCalls = 500;  // most nested calls of exec() and eval()

}  // namespace

/// Counts the nesting depth of the interpreter's calls.
class Interpreter::Entry {
 public:
  Entry(Interpreter& interpreter, int line) : interpreter_(interpreter) {
    interpreter.line_ = line;
    interpreter.budget_.spend(1);
    if (++interpreter.depth_ > kMaxCalls) throw Fault("calls are nested too deeply");
  }
  ~Entry() { --interpreter_.depth_; }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  Interpreter& interpreter_;
};

Interpreter::Interpreter(const Tree& tree, std::time_t now, uint64_t work, size_t max_output)
    : tree_(tree), now_(now), budget_(work), max_output_(max_output) {}

void Interpreter::set(std::string_view name, Value value) {
  const auto at = std::find(tree_.names.begin(), tree_.names.end(), name);
  if (at != tree_.names.end())
    assign(root_, static_cast<int>(at - tree_.names.begin()), std::move(value));
}

std::string Interpreter::run() {
  exec(tree_.body);
  return std::move(out_);
}

void Interpreter::write(std::string_view text) {
  if (text.size() > max_output_ - std::min(max_output_, out_.size()))
    throw Fault(concat("writes more than ", max_output_, " bytes"));
  budget_.spend_bytes(text.size());
  out_ += text;
}

// Statements

Interpreter::Flow Interpreter::exec(const Body& body) {
  for (const Statement& statement : body) {
    const Flow flow = exec(statement);
    if (flow != Flow::kOn) return flow;
  }
  return Flow::kOn;
}

Interpreter::Flow Interpreter::exec(const Statement& s) {
  const Entry entry(*this, s.line);
  switch (s.kind) {
    case Statement::kText:
      write(s.text);
      break;
    case Statement::kPrint: {
      const Value value = eval(*s.value);
      write(value.is_text() ? value.text() : str(value, budget_));
      break;
    }
    case Statement::kIf:
      return exec_if(s);
    case Statement::kFor:
      return exec_for(s);
    case Statement::kSet:
      assign(s.target, eval(*s.value));
      break;
    case Statement::kSetBlock:
      assign(s.target, paid_text(budget_, captured(s)));
      break;
    case Statement::kWith:
      return exec_with(s);
    case Statement::kFilterBlock:
      write(captured(s));
      break;
    case Statement::kCall:
      write(called_with_block(s));
      break;
    case Statement::kMacro: {
      Callable callable;
      callable.macro = s.macro.get();
      assign(root_, s.macro->id, Value(std::make_shared<const Callable>(std::move(callable))));
      break;
    }
    case Statement::kBreak:
      return Flow::kBreak;
    case Statement::kContinue:
      return Flow::kContinue;
  }
  return Flow::kOn;
}

Interpreter::Flow Interpreter::exec_if(const Statement& s) {
  for (const auto& [condition, body] : s.branches)
    if (!condition || truth(eval(*condition))) return exec(body);
  return Flow::kOn;
}

Interpreter::Flow Interpreter::exec_for(const Statement& s) {
  const Value over = eval(*s.value);
  std::shared_ptr<const List> items = iterate(over, budget_);
  Scope scope{{}, scope_};
  struct Restore {
    Scope*& place;
    Scope* value;
    ~Restore() { place = value; }
  } restore{scope_, scope_};
  if (s.condition) {
    std::vector<Value> kept;
    for (const Value& item : items->items) {
      scope_ = &scope;
      scope.values.clear();
      assign(s.target, item);
      if (truth(eval(*s.condition))) kept.push_back(item);
    }
    items = paid_list(budget_, std::move(kept)).list();
  }
  scope_ = restore.value;
  if (items->items.empty()) return exec(s.otherwise);
  const auto last = std::make_shared<std::optional<std::vector<Value>>>();
  static const std::string kLoop = "loop";
  const auto name = std::find(tree_.names.begin(), tree_.names.end(), kLoop);
  for (size_t i = 0; i < items->items.size(); ++i) {
    scope_ = &scope;
    scope.values.clear();
    budget_.spend(1);
    if (name != tree_.names.end())
      scope.values.emplace_back(static_cast<int>(name - tree_.names.begin()),
                                Value(std::make_shared<const Loop>(Loop{items, i, last})));
    assign(s.target, items->items[i]);
    if (exec(s.body) == Flow::kBreak) break;
  }
  return Flow::kOn;
}

/// Runs the block of a `with`. The values of its variables are computed outside the block.
Interpreter::Flow Interpreter::exec_with(const Statement& s) {
  Scope scope{{}, scope_};
  for (size_t i = 0; i < s.values.size(); ++i) assign(scope, s.target.ids[i], eval(*s.values[i]));
  struct Restore {
    Scope*& place;
    Scope* value;
    ~Restore() { place = value; }
  } restore{scope_, scope_};
  scope_ = &scope;
  return exec(s.body);
}

/// Returns the output of a block after its filters.
std::string Interpreter::captured(const Statement& s) {
  Scope scope{{}, scope_};
  struct Restore {
    Interpreter& self;
    Scope* scope;
    std::string out;
    ~Restore() { self.scope_ = scope, self.out_.swap(out); }
  } restore{*this, scope_, {}};
  out_.swap(restore.out);
  scope_ = &scope;
  exec(s.body);
  std::string written = std::move(out_);
  if (!s.value) return written;
  // The innermost filter's operand is the output of the block.
  const Expression* inner = s.value.get();
  while (inner->kind != Expression::kName) inner = inner->parts[0].get();
  assign(scope, inner->id, paid_text(budget_, std::move(written)));
  return str(eval(*s.value), budget_);
}

void Interpreter::assign(Scope& scope, int id, Value value) {
  for (auto& [known, old] : scope.values)
    if (known == id) return void(old = std::move(value));
  scope.values.emplace_back(id, std::move(value));
}

void Interpreter::assign(const Target& target, Value value) {
  if (!target.attribute.empty()) {
    const Scope* scope = scope_;
    for (; scope != nullptr; scope = scope->parent) {
      for (const auto& [id, known] : scope->values) {
        if (id != target.ids[0]) continue;
        if (!known.is_namespace()) throw Fault("only attributes of a namespace can be set");
        if (value.depth() >= kMaxDepth) throw Fault("values are nested too deeply");
        return known.names().values.set(target.attribute, std::move(value));
      }
    }
    throw Fault(concat("'", tree_.names[static_cast<size_t>(target.ids[0])], "' is undefined"));
  }
  if (!target.unpacks) return assign(*scope_, target.ids[0], std::move(value));
  const auto items = iterate(value, budget_);
  if (items->items.size() != target.ids.size())
    throw Fault(concat("cannot unpack ", items->items.size(), " values into ", target.ids.size(),
                       " names"));
  for (size_t i = 0; i < target.ids.size(); ++i) assign(*scope_, target.ids[i], items->items[i]);
}

// Expressions

Value Interpreter::eval(const Expression& e) {
  const Entry entry(*this, e.line);
  const auto part = [&](size_t i) { return eval(*e.parts[i]); };
  switch (e.kind) {
    case Expression::kConstant:
      return e.constant;
    case Expression::kName:
      return name(e);
    case Expression::kAttribute:
      return attribute(part(0), e.name, budget_);
    case Expression::kItem: {
      const Value value = part(0);
      return item(value, part(1), budget_);
    }
    case Expression::kSlice: {
      const Value value = part(0);
      std::array<Value, 3> bounds;
      for (size_t i = 0; i < 3; ++i) bounds[i] = e.parts[i + 1] ? part(i + 1) : Value(None{});
      return slice(value, bounds, budget_);
    }
    case Expression::kCall:
      return call(e);
    case Expression::kFilter: {
      if (e.filter == nullptr) throw Fault(unknown_filter(e.name));
      const Value value = part(0);
      return e.filter(budget_, value, arguments(e));
    }
    case Expression::kTest: {
      const Value value = part(0);
      return e.test(budget_, value, arguments(e));
    }
    case Expression::kNot:
      return !truth(part(0));
    case Expression::kNegative:
    case Expression::kPositive:
      return with_sign(part(0), e.kind == Expression::kNegative);
    case Expression::kAnd: {
      Value left = part(0);
      return truth(left) ? part(1) : left;
    }
    case Expression::kOr: {
      Value left = part(0);
      return truth(left) ? left : part(1);
    }
    case Expression::kConcat: {
      std::string out;
      for (size_t i = 0; i < e.parts.size(); ++i) out += str(part(i), budget_);
      return paid_text(budget_, std::move(out));
    }
    case Expression::kArithmetic: {
      const Value left = part(0);
      return arithmetic(e.name, left, part(1), max_output_, budget_);
    }
    case Expression::kCompare:
      return compare_chain(e);
    case Expression::kCondition:
      if (truth(part(0))) return part(1);
      return e.parts[2] ? part(2) : Value();
    case Expression::kList:
    case Expression::kTuple: {
      std::vector<Value> items;
      for (size_t i = 0; i < e.parts.size(); ++i) items.push_back(part(i));
      return paid_list(budget_, std::move(items), e.kind == Expression::kTuple);
    }
    case Expression::kMap: {
      Map map;
      for (size_t i = 0; i < e.parts.size(); i += 2) {
        const Value key = part(i);
        if (!key.is_text())
          throw Fault("a dict with keys that are not strings is not supported here");
        map.set(key.text(), part(i + 1));
      }
      return make_map(std::move(map));
    }
  }
  return {};
}

Value Interpreter::name(const Expression& e) {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent)
    for (const auto& [id, value] : scope->values)
      if (id == e.id) return value;
  const Global global = find_global(e.name);
  if (global == Global::kNone) return Value::undefined(e.name);
  Callable callable;
  callable.global = global;
  return Value(std::make_shared<const Callable>(std::move(callable)));
}

Value Interpreter::compare_chain(const Expression& e) {
  Value left = eval(*e.parts[0]);
  for (size_t i = 0; i < e.signs.size(); ++i) {
    Value right = eval(*e.parts[i + 1]);
    const std::string& sign = e.signs[i];
    bool holds = false;
    if (sign == "==" || sign == "!=") {
      holds = equal(left, right, budget_) == (sign == "==");
    } else if (sign == "in" || sign == "not in") {
      holds = contains(left, right, budget_) == (sign == "in");
    } else {
      want_defined(left);
      want_defined(right);
      const int order = compare(left, right, budget_);
      holds = sign == "<"    ? order < 0
              : sign == "<=" ? order <= 0
              : sign == ">"  ? order > 0
                             : order >= 0;
    }
    if (!holds) return false;
    left = std::move(right);
  }
  return true;
}

Arguments Interpreter::arguments(const Expression& e) {
  Arguments out;
  for (size_t i = 1; i < e.parts.size(); ++i) out.values.push_back(eval(*e.parts[i]));
  for (const auto& [key, value] : e.named) out.named.emplace_back(key, eval(*value));
  return out;
}

Value Interpreter::call(const Expression& e) {
  const Value callee = eval(*e.parts[0]);
  if (callee.is_undefined()) {
    const auto& name = callee.missing().name;
    throw Fault(concat("unknown function '", name ? *name : "undefined", "'"));
  }
  if (!callee.is_callable()) throw Fault(concat("a ", callee.kind(), " cannot be called"));
  const Callable& callable = callee.callable();
  const Arguments given = arguments(e);
  line_ = e.line;
  if (callable.block > 0) return call_block(callable, given);
  if (callable.macro != nullptr) return call_macro(*callable.macro, given, root_);
  if (callable.global != Global::kNone) return call_global(callable.global, given);
  return call_method(budget_, callable.self, callable.method, given);
}

/// Returns the output of {% call %}: a call of a macro with a block, which the macro may call.
std::string Interpreter::called_with_block(const Statement& s) {
  const Value callee = eval(*s.value->parts[0]);
  const bool macro = callee.is_callable() && callee.callable().macro != nullptr;
  if (!macro || callee.callable().block > 0) throw Fault("{% call %} needs a call of a macro");
  const Arguments given = arguments(*s.value);
  Callable block;
  block.macro = s.macro.get();
  block.block = ++last_block_;
  blocks_.push_back({block.block, scope_});
  const Value caller(std::make_shared<const Callable>(std::move(block)));
  const Value written = call_macro(*callee.callable().macro, given, root_, &caller);
  blocks_.pop_back();
  return written.text();
}

Value Interpreter::call_block(const Callable& block, const Arguments& given) {
  for (const CalledBlock& at_work : blocks_)
    if (at_work.number == block.block) return call_macro(*block.macro, given, *at_work.scope);
  throw Fault("'caller' is valid only within its {% call %}");
}

/// Calls a macro. `around`: the variables outside the macro, which it may read.
Value Interpreter::call_macro(const Macro& macro, const Arguments& given, Scope& around,
                              const Value* caller) {
  if (given.values.size() > macro.parameters.size())
    throw Fault(concat("the macro '", macro.name, "' has too many arguments"));
  for (const auto& [key, value] : given.named) {
    const auto& names = macro.parameter_names;
    if (std::find(names.begin(), names.end(), key) == names.end())
      throw Fault(concat("the macro '", macro.name, "' takes no argument '", key, "'"));
  }
  Scope scope{{}, &around};
  struct Restore {
    Interpreter& self;
    Scope* scope;
    std::string out;
    ~Restore() { self.scope_ = scope, self.out_.swap(out); }
  } restore{*this, scope_, {}};
  out_.swap(restore.out);
  scope_ = &scope;
  for (size_t i = 0; i < macro.parameters.size(); ++i) {
    const auto& [id, absent] = macro.parameters[i];
    const Value* value = given.get(i, macro.parameter_names[i]);
    if (value != nullptr) {
      assign(scope, id, *value);
    } else {
      assign(scope, id, absent ? eval(*absent) : Value::undefined(macro.parameter_names[i]));
    }
  }
  static const std::string kCaller = "caller";
  const auto name = std::find(tree_.names.begin(), tree_.names.end(), kCaller);
  if (name != tree_.names.end())
    assign(scope, static_cast<int>(name - tree_.names.begin()),
           caller != nullptr ? *caller : Value::undefined(kCaller));
  exec(macro.body);
  return paid_text(budget_, std::move(out_));
}

Value Interpreter::call_global(Global global, const Arguments& given) {
  switch (global) {
    case Global::kRaise: {
      given.check("raise_exception", 1);
      const Value* message = given.get(0);
      throw Fault(message != nullptr ? str(*message, budget_).substr(0, 1000)
                                     : "raise_exception()");
    }
    case Global::kStrftimeNow: {
      given.check("strftime_now", 1);
      const Value* format = given.get(0);
      if (format == nullptr || !format->is_text() || format->text().size() > 200)
        throw Fault("strftime_now() takes a text of at most 200 bytes");
      return paid_text(budget_, local_text(now_, format->text()));
    }
    case Global::kNamespace:
    case Global::kDict: {
      budget_.spend(10);
      Map map;
      if (!given.values.empty()) {
        if (given.values.size() > 1 || !given.values[0].is_map())
          throw Fault("namespace() and dict() take at most one dict, and named arguments");
        map = given.values[0].map();
        budget_.spend(4 * map.entries().size());
      }
      for (const auto& [key, value] : given.named) map.set(key, value);
      if (global == Global::kDict) return make_map(std::move(map));
      namespaces_.push_back({std::move(map)});
      return Value(&namespaces_.back());
    }
    case Global::kRange: {
      given.check("range", 3);
      int64_t numbers[3] = {0, 0, 1};
      const size_t count = given.values.size();
      for (size_t i = 0; i < count; ++i) {
        if (!given.values[i].is_int()) throw Fault("range() takes integers");
        numbers[count == 1 ? 1 : i] = given.values[i].integer();
      }
      if (count == 0 || numbers[2] == 0)
        throw Fault("range() needs an end, and a step other than zero");
      constexpr int64_t kMost = 100'000;  // the limit of Jinja's sandbox
      std::vector<Value> items;
      for (int64_t at = numbers[0]; numbers[2] > 0 ? at < numbers[1] : at > numbers[1];) {
        if (static_cast<int64_t>(items.size()) >= kMost) throw Fault("range() is too long");
        items.emplace_back(at);
        if (__builtin_add_overflow(at, numbers[2], &at)) break;
      }
      return paid_list(budget_, std::move(items));
    }
    case Global::kNone:
      break;
  }
  return {};
}

}  // namespace syrinx::jinja
