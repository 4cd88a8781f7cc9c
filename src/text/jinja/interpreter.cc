#include "text/jinja/interpreter.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "text/utf8.h"

namespace syrinx::jinja {
namespace {

constexpr int kMaxCalls = 500;  // of exec() and eval() in one another

[[noreturn]] void fail_undefined(const Value& value) {
  const auto& name = value.missing().name;
  throw Fault(name ? concat("'", *name, "' is undefined") : "a value is undefined");
}

/// A Fault for what has no arithmetic.
[[noreturn]] void fail_operands(std::string_view sign, const Value& a, const Value& b) {
  if (a.is_undefined()) fail_undefined(a);
  if (b.is_undefined()) fail_undefined(b);
  throw Fault(concat("cannot take ", a.kind(), " ", sign, " ", b.kind()));
}

/// An index of Python into `count` items: negative ones count from the end.
std::optional<size_t> place(const Value& index, size_t count) {
  if (!index.is_int() && !index.is_bool()) return {};
  int64_t at = index.whole();
  if (at < 0) at += static_cast<int64_t>(count);
  if (at < 0 || at >= static_cast<int64_t>(count)) return {};
  return static_cast<size_t>(at);
}

/// Where the code points of a text begin, and its end.
std::vector<size_t> points_of(std::string_view text) {
  std::vector<size_t> out;
  for (size_t at = 0; at < text.size(); at += utf8_at(text, at).size) out.push_back(at);
  out.push_back(text.size());
  return out;
}

Value loop_attribute(const Loop& loop, std::string_view name) {
  const auto at = static_cast<int64_t>(loop.at);
  const auto count = static_cast<int64_t>(loop.items->items.size());
  if (name == "index0") return at;
  if (name == "index") return at + 1;
  if (name == "first") return at == 0;
  if (name == "last") return at + 1 == count;
  if (name == "length") return count;
  if (name == "revindex") return count - at;
  if (name == "revindex0") return count - at - 1;
  if (name == "previtem" && at > 0) return loop.items->items[loop.at - 1];
  if (name == "nextitem" && at + 1 < count) return loop.items->items[loop.at + 1];
  return Value::undefined(concat("loop.", name));
}

}  // namespace

/// Counts how deep the interpreter is.
class Interpreter::Entry {
 public:
  Entry(Interpreter& interpreter, int line) : interpreter_(interpreter) {
    interpreter.line_ = line;
    interpreter.budget_.spend(1);
    if (++interpreter.depth_ > kMaxCalls) throw Fault("calls itself too deeply");
  }
  ~Entry() { --interpreter_.depth_; }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  Interpreter& interpreter_;
};

const Value* Arguments::get(size_t index, std::string_view name) const {
  if (index < values.size()) return &values[index];
  for (const auto& [key, value] : named)
    if (!name.empty() && key == name) return &value;
  return nullptr;
}

void Arguments::check(std::string_view function, size_t most,
                      std::initializer_list<std::string_view> names) const {
  if (values.size() > most) throw Fault(concat("'", function, "' has too many arguments"));
  for (const auto& [key, value] : named)
    if (std::find(names.begin(), names.end(), key) == names.end())
      throw Fault(concat("'", function, "' takes no argument '", key, "' here"));
}

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
      assign(s.target, text(captured(s)));
      break;
    case Statement::kFilterBlock:
      write(captured(s));
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
    items = list(std::move(kept)).list();
  }
  scope_ = restore.value;
  if (items->items.empty()) return exec(s.otherwise);
  static const std::string kLoop = "loop";
  const auto name = std::find(tree_.names.begin(), tree_.names.end(), kLoop);
  for (size_t i = 0; i < items->items.size(); ++i) {
    scope_ = &scope;
    scope.values.clear();
    budget_.spend(1);
    if (name != tree_.names.end())
      scope.values.emplace_back(static_cast<int>(name - tree_.names.begin()),
                                Value(std::make_shared<const Loop>(Loop{items, i})));
    assign(s.target, items->items[i]);
    if (exec(s.body) == Flow::kBreak) break;
  }
  return Flow::kOn;
}

/// What a block writes, through its filters.
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
  // The innermost subject of the filters stands for what was written.
  const Expression* inner = s.value.get();
  while (inner->kind != Expression::kName) inner = inner->parts[0].get();
  assign(scope, inner->id, text(std::move(written)));
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
        if (value.depth() >= kMaxDepth) throw Fault("nests values too deeply");
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
      return attribute(part(0), e.name);
    case Expression::kItem: {
      const Value value = part(0);
      return item(value, part(1));
    }
    case Expression::kSlice:
      return slice(e);
    case Expression::kCall:
      return call(e);
    case Expression::kFilter: {
      if (e.filter == nullptr) throw Fault(unknown_filter(e.name));
      const Value value = part(0);
      return e.filter(*this, value, arguments(e));
    }
    case Expression::kTest: {
      const Value value = part(0);
      return e.test(*this, value, arguments(e));
    }
    case Expression::kNot:
      return !truth(part(0));
    case Expression::kNegative:
    case Expression::kPositive: {
      const Value value = part(0);
      if (value.is_undefined()) fail_undefined(value);
      if (!value.is_number()) throw Fault(concat("cannot take the sign of a ", value.kind()));
      const bool minus = e.kind == Expression::kNegative;
      if (value.is_float()) return minus ? -value.number() : value.number();
      if (minus && value.whole() == INT64_MIN) throw Fault("a number is too large");
      return minus ? -value.whole() : value.whole();
    }
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
      return text(std::move(out));
    }
    case Expression::kArithmetic:
      return arithmetic(e);
    case Expression::kCompare:
      return compare_chain(e);
    case Expression::kCondition:
      if (truth(part(0))) return part(1);
      return e.parts[2] ? part(2) : Value();
    case Expression::kList:
    case Expression::kTuple: {
      std::vector<Value> items;
      for (size_t i = 0; i < e.parts.size(); ++i) items.push_back(part(i));
      budget_.spend(4 * items.size());
      return make_list(std::move(items), e.kind == Expression::kTuple);
    }
    case Expression::kMap: {
      Map map;
      for (size_t i = 0; i < e.parts.size(); i += 2) {
        const Value key = part(i);
        if (!key.is_text()) throw Fault("a dict whose keys are no strings is not supported here");
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

Value Interpreter::attribute(const Value& value, std::string_view name) {
  if (value.is_undefined()) fail_undefined(value);
  if (value.is_loop()) return loop_attribute(value.loop(), name);
  if (has_method(value, name)) {
    Callable callable;
    callable.method = name;
    callable.self = value;
    return Value(std::make_shared<const Callable>(std::move(callable)));
  }
  const Map* map = value.is_map()         ? &value.map()
                   : value.is_namespace() ? &value.names().values
                                          : nullptr;
  if (map != nullptr) {
    budget_.spend(1);
    if (const Value* found = map->find(name)) return *found;
  }
  return Value::undefined(concat(value.kind(), ".", name));
}

Value Interpreter::item(const Value& value, const Value& index) {
  if (value.is_undefined()) fail_undefined(value);
  if (index.is_text() && !value.is_list() && !value.is_text()) {
    if (value.is_map()) {
      if (const Value* found = value.map().find(index.text())) return *found;
      return Value::undefined(concat("dict['", index.text().substr(0, 100), "']"));
    }
    return attribute(value, index.text());
  }
  if (value.is_list()) {
    const auto at = place(index, value.items().size());
    return at ? value.items()[*at] : Value::undefined("list[...]");
  }
  if (value.is_text()) {
    const std::string& text = value.text();
    budget_.spend_bytes(text.size());
    const std::vector<size_t> points = points_of(text);
    const auto at = place(index, points.size() - 1);
    if (!at) return Value::undefined("str[...]");
    return Value(text.substr(points[*at], points[*at + 1] - points[*at]));
  }
  return Value::undefined(concat(value.kind(), "[...]"));
}

Value Interpreter::slice(const Expression& e) {
  const Value value = eval(*e.parts[0]);
  if (value.is_undefined()) fail_undefined(value);
  if (!value.is_list() && !value.is_text())
    throw Fault(concat("cannot take a slice of a ", value.kind()));
  std::optional<int64_t> given[3];
  for (size_t i = 0; i < 3; ++i) {
    if (!e.parts[i + 1]) continue;
    const Value number = eval(*e.parts[i + 1]);
    if (number.is_none()) continue;
    if (!number.is_int() && !number.is_bool()) throw Fault("a slice's bounds must be integers");
    given[i] = number.whole();
  }
  std::vector<size_t> points;
  if (value.is_text()) {
    budget_.spend(value.text().size() / 2);
    points = points_of(value.text());
  }
  const auto count =
      static_cast<int64_t>(value.is_text() ? points.size() - 1 : value.items().size());
  const int64_t step = given[2].value_or(1);
  if (step == 0) throw Fault("a slice's step cannot be zero");
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? count : count - 1;
  const auto bound = [&](std::optional<int64_t> at, int64_t absent) {
    if (!at) return absent;
    return std::clamp(*at < 0 ? *at + count : *at, low, high);
  };
  const int64_t begin = bound(given[0], step > 0 ? 0 : count - 1);
  const int64_t end = bound(given[1], step > 0 ? count : -1);
  std::string chars;
  std::vector<Value> items;
  // A step beyond the count takes one item; so at + step cannot overflow.
  const int64_t stride = std::clamp(step, -count - 1, count + 1);
  for (int64_t at = begin; stride > 0 ? at < end : at > end; at += stride) {
    const auto i = static_cast<size_t>(at);
    if (value.is_text()) {
      chars.append(value.text(), points[i], points[i + 1] - points[i]);
    } else {
      items.push_back(value.items()[i]);
    }
  }
  if (value.is_text()) return text(std::move(chars));
  budget_.spend(4 * items.size());
  return make_list(std::move(items), value.list()->tuple);
}

bool Interpreter::contains(const Value& value, const Value& in) {
  if (in.is_text()) {
    if (!value.is_text()) throw Fault(concat("a ", value.kind(), " cannot be in a str"));
    const std::string &part = value.text(), &whole = in.text();
    budget_.spend_bytes(whole.size() * (1 + part.size() / 64));
    return whole.find(part) != whole.npos;
  }
  if (in.is_map()) {
    budget_.spend(1);
    return value.is_text() && in.map().find(value.text()) != nullptr;
  }
  if (in.is_list()) {
    return std::any_of(in.items().begin(), in.items().end(),
                       [&](const Value& item) { return equal(value, item, budget_); });
  }
  if (in.is_undefined()) return false;
  throw Fault(concat("cannot look into a value of type ", in.kind()));
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
      holds = contains(left, right) == (sign == "in");
    } else {
      if (left.is_undefined()) fail_undefined(left);
      if (right.is_undefined()) fail_undefined(right);
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

Value Interpreter::arithmetic(const Expression& e) {
  const Value a = eval(*e.parts[0]), b = eval(*e.parts[1]);
  const std::string& sign = e.name;
  if (sign == "+" && a.is_text() && b.is_text()) return text(a.text() + b.text());
  if (sign == "+" && a.is_list() && b.is_list() && a.list()->tuple == b.list()->tuple) {
    budget_.spend(4 * (a.items().size() + b.items().size()));
    std::vector<Value> items = a.items();
    items.insert(items.end(), b.items().begin(), b.items().end());
    return make_list(std::move(items), a.list()->tuple);
  }
  if (sign == "*" && (a.is_text() || b.is_text()) && (a.is_int() || b.is_int())) {
    const std::string& part = a.is_text() ? a.text() : b.text();
    const int64_t times = std::max<int64_t>(0, a.is_int() ? a.integer() : b.integer());
    if (!part.empty() && times > static_cast<int64_t>(max_output_ / part.size()))
      throw Fault("makes a text that is too long");
    std::string out;
    for (int64_t i = 0; i < times && !part.empty(); ++i) out += part;
    return text(std::move(out));
  }
  if (sign == "%" && a.is_text()) throw Fault("formatting by '%' is not supported");
  if (!a.is_number() || !b.is_number()) fail_operands(sign, a, b);
  const bool divides = sign == "/" || sign == "//" || sign == "%";
  if (divides && b.number() == 0) throw Fault("divides by zero");
  if (sign == "/") return a.number() / b.number();
  if (sign == "**") {
    const double power = std::pow(a.number(), b.number());
    const bool whole = !a.is_float() && !b.is_float() && b.whole() >= 0;
    if (!whole) return power;
    if (std::fabs(power) > 9e15) throw Fault("a number is too large");
    return static_cast<int64_t>(std::llround(power));
  }
  if (a.is_float() || b.is_float()) {
    const double x = a.number(), y = b.number();
    if (sign == "+") return x + y;
    if (sign == "-") return x - y;
    if (sign == "*") return x * y;
    if (sign == "//") return std::floor(x / y);
    const double rest = std::fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  }
  const int64_t x = a.whole(), y = b.whole();
  int64_t out = 0;
  bool overflow = false;
  if (sign == "+") overflow = __builtin_add_overflow(x, y, &out);
  if (sign == "-") overflow = __builtin_sub_overflow(x, y, &out);
  if (sign == "*") overflow = __builtin_mul_overflow(x, y, &out);
  if (divides) {
    overflow = x == INT64_MIN && y == -1;
    if (!overflow) {
      const int64_t rest = x % y;
      const bool down = rest != 0 && (rest < 0) != (y < 0);  // Python rounds down
      out = sign == "//" ? x / y - down : rest + (down ? y : 0);
    }
  }
  if (overflow) throw Fault("a number is too large");
  return out;
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
    throw Fault(concat("there is no function '", name ? *name : "undefined", "' here"));
  }
  if (!callee.is_callable()) throw Fault(concat("a ", callee.kind(), " cannot be called"));
  const Callable& callable = callee.callable();
  const Arguments given = arguments(e);
  line_ = e.line;
  if (callable.macro != nullptr) return call_macro(*callable.macro, given);
  if (callable.global != Global::kNone) return call_global(callable.global, given);
  return call_method(*this, callable.self, callable.method, given);
}

Value Interpreter::call_macro(const Macro& macro, const Arguments& given) {
  if (given.values.size() > macro.parameters.size())
    throw Fault(concat("the macro '", macro.name, "' has too many arguments"));
  for (const auto& [key, value] : given.named) {
    const auto& names = macro.parameter_names;
    if (std::find(names.begin(), names.end(), key) == names.end())
      throw Fault(concat("the macro '", macro.name, "' takes no argument '", key, "'"));
  }
  Scope scope{{}, &root_};
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
  exec(macro.body);
  return text(std::move(out_));
}

Value Interpreter::call_global(Global global, const Arguments& given) {
  switch (global) {
    case Global::kRaise: {
      given.check("raise_exception", 1);
      const Value* message = given.get(0);
      throw Fault(message != nullptr ? str(*message, budget_).substr(0, 1000) : "raised a fault");
    }
    case Global::kStrftimeNow: {
      given.check("strftime_now", 1);
      const Value* format = given.get(0);
      if (format == nullptr || !format->is_text() || format->text().size() > 200)
        throw Fault("strftime_now() takes a short text");
      std::tm local{};
      localtime_r(&now_, &local);
      char out[2048];
      return text(std::string(out, std::strftime(out, sizeof out, format->text().c_str(), &local)));
    }
    case Global::kNamespace:
    case Global::kDict: {
      budget_.spend(10);
      Map map;
      if (!given.values.empty()) {
        if (given.values.size() > 1 || !given.values[0].is_map())
          throw Fault("namespace() and dict() take one dict and arguments by name");
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
      if (count == 0 || numbers[2] == 0) throw Fault("range() takes an end and a step but zero");
      constexpr int64_t kMost = 100'000;  // as Jinja's sandbox
      std::vector<Value> items;
      for (int64_t at = numbers[0]; numbers[2] > 0 ? at < numbers[1] : at > numbers[1];) {
        if (static_cast<int64_t>(items.size()) >= kMost) throw Fault("range() is too long");
        items.emplace_back(at);
        if (__builtin_add_overflow(at, numbers[2], &at)) break;
      }
      return list(std::move(items));
    }
    case Global::kNone:
      break;
  }
  return {};
}

}  // namespace syrinx::jinja
