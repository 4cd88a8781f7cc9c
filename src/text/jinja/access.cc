#include "text/jinja/access.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "text/jinja/calls.h"
#include "text/jinja/operations.h"
#include "text/utf8.h"

namespace syrinx::jinja {
namespace {

/// Converts a Python index to a position among `count` items; negative indices count from the end.
std::optional<size_t> place(const Value& index, size_t count) {
  if (!index.is_int() && !index.is_bool()) return {};
  int64_t at = index.whole();
  if (at < 0) at += static_cast<int64_t>(count);
  if (at < 0 || at >= static_cast<int64_t>(count)) return {};
  return static_cast<size_t>(at);
}

/// Returns the byte offsets of the code points of a text, and of its end.
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

Value attribute(const Value& value, std::string_view name, Budget& budget) {
  want_defined(value);
  if (has_method(value, name)) {
    Callable callable;
    callable.method = name;
    callable.self = value;
    return Value(std::make_shared<const Callable>(std::move(callable)));
  }
  if (value.is_loop()) return loop_attribute(value.loop(), name);
  if (value.is_list() && value.list()->group && (name == "grouper" || name == "list"))
    return value.items()[name == "list" ? 1 : 0];
  const Map* map = value.is_map()         ? &value.map()
                   : value.is_namespace() ? &value.names().values
                                          : nullptr;
  if (map != nullptr) {
    budget.spend(1);
    if (const Value* found = map->find(name)) return *found;
  }
  return Value::undefined(concat(value.kind(), ".", name));
}

Value item(const Value& value, const Value& index, Budget& budget) {
  want_defined(value);
  if (index.is_text() && !value.is_list() && !value.is_text()) {
    if (value.is_map()) {
      if (const Value* found = value.map().find(index.text())) return *found;
      return Value::undefined(concat("dict['", index.text().substr(0, 100), "']"));
    }
    return attribute(value, index.text(), budget);
  }
  if (value.is_list()) {
    const auto at = place(index, value.items().size());
    return at ? value.items()[*at] : Value::undefined("list[...]");
  }
  if (value.is_text()) {
    const std::string& text = value.text();
    budget.spend_bytes(text.size());
    const std::vector<size_t> points = points_of(text);
    const auto at = place(index, points.size() - 1);
    if (!at) return Value::undefined("str[...]");
    return Value(text.substr(points[*at], points[*at + 1] - points[*at]));
  }
  return Value::undefined(concat(value.kind(), "[...]"));
}

Value slice(const Value& value, const std::array<Value, 3>& bounds, Budget& budget) {
  want_defined(value);
  if (!value.is_list() && !value.is_text())
    throw Fault(concat("cannot take a slice of a ", value.kind()));
  std::optional<int64_t> given[3];
  for (size_t i = 0; i < 3; ++i) {
    if (bounds[i].is_none()) continue;
    if (!bounds[i].is_int() && !bounds[i].is_bool())
      throw Fault("a slice's bounds must be integers");
    given[i] = bounds[i].whole();
  }
  std::vector<size_t> points;
  if (value.is_text()) {
    budget.spend(value.text().size() / 2);
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
  // Every larger step returns the same single item; the limit prevents an overflow of at + step.
  const int64_t stride = std::clamp(step, -count - 1, count + 1);
  for (int64_t at = begin; stride > 0 ? at < end : at > end; at += stride) {
    const auto i = static_cast<size_t>(at);
    if (value.is_text()) {
      chars.append(value.text(), points[i], points[i + 1] - points[i]);
    } else {
      items.push_back(value.items()[i]);
    }
  }
  if (value.is_text()) return paid_text(budget, std::move(chars));
  return paid_list(budget, std::move(items), value.list()->tuple);
}

bool contains(const Value& value, const Value& in, Budget& budget) {
  if (in.is_text()) {
    if (!value.is_text()) throw Fault(concat("a ", value.kind(), " cannot be in a str"));
    const std::string &part = value.text(), &whole = in.text();
    budget.spend_bytes(whole.size() * (1 + part.size() / 64));
    return whole.find(part) != whole.npos;
  }
  if (in.is_map()) {
    budget.spend(1);
    return value.is_text() && in.map().find(value.text()) != nullptr;
  }
  if (in.is_list()) {
    return std::any_of(in.items().begin(), in.items().end(),
                       [&](const Value& item) { return equal(value, item, budget); });
  }
  if (in.is_undefined()) return false;
  throw Fault(concat("cannot get an item of a value of type ", in.kind()));
}

Value down(Budget& budget, Value value, const Value& path, const Value* absent) {
  const auto step_to = [&](const Value& name) {
    value = item(value, name, budget);
    if (value.is_undefined() && absent != nullptr && !absent->is_none()) value = *absent;
  };
  if (path.is_int()) return step_to(path), value;
  for (const Value& step : split_by(want_text(path, "attribute"), ".", 20)) {
    const bool digits =
        !step.text().empty() && std::all_of(step.text().begin(), step.text().end(),
                                            [](char c) { return c >= '0' && c <= '9'; });
    step_to(digits && step.text().size() < 9 ? Value(int64_t{std::stoi(step.text())}) : step);
  }
  return value;
}

}  // namespace syrinx::jinja
