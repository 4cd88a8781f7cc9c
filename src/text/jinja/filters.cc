#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "base/number.h"
#include "text/jinja/access.h"
#include "text/jinja/builtins.h"
#include "text/jinja/calls.h"
#include "text/jinja/list_filters.h"
#include "text/jinja/operations.h"
#include "text/jinja/value_filters.h"
#include "text/utf8.h"

namespace syrinx::jinja {
namespace {

/// Returns the items for select, reject and map; an empty list for an empty value or `none`.
std::shared_ptr<const List> iterate_if_any(const Value& value, Budget& budget) {
  return truth(value) ? iterate(value, budget) : std::make_shared<const List>();
}

Value filter_tojson(Budget& budget, const Value& value, const Arguments& given) {
  given.check("tojson", 4, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  if (const Value* ascii = given.get(0, "ensure_ascii")) style.ascii = truth(*ascii);
  const Value* indent = given.get(1, "indent");
  if (indent != nullptr && !indent->is_none()) {
    style.indent = static_cast<int>(std::clamp<int64_t>(want_int(*indent, "tojson"), 0, 100));
    style.between = std::string(1, ',');
  }
  const Value* marks = given.get(2, "separators");
  if (marks != nullptr && !marks->is_none()) {
    if (!marks->is_list() || marks->items().size() != 2)
      throw Fault("'separators' must be two texts");
    style.between = want_text(marks->items()[0], "separators");
    style.after_key = want_text(marks->items()[1], "separators");
    if (style.between.size() + style.after_key.size() > 64) throw Fault("'separators' is too long");
  }
  if (const Value* sorted = given.get(3, "sort_keys")) style.sort_keys = truth(*sorted);
  return paid_text(budget, to_json(value, style, budget));
}

Value filter_length(Budget& budget, const Value& value, const Arguments&) {
  if (value.is_text()) {
    budget.spend_bytes(value.text().size());
    return static_cast<int64_t>(utf8_count(value.text()));
  }
  if (value.is_list()) return static_cast<int64_t>(value.items().size());
  if (value.is_map()) return static_cast<int64_t>(value.map().entries().size());
  if (value.is_undefined()) return int64_t{0};
  throw Fault(concat("a value of type ", value.kind(), " has no length"));
}

Value filter_trim(Budget& budget, const Value& value, const Arguments& given) {
  given.check("trim", 1, {"chars"});
  const Value* chars = given.get(0, "chars");
  const bool all = chars == nullptr || chars->is_none();
  return paid_text(
      budget, std::string(stripped(str(value, budget), all ? nullptr : &want_text(*chars, "trim"),
                                   true, true)));
}

Value filter_string(Budget& budget, const Value& value, const Arguments&) {
  return value.is_text() ? value : paid_text(budget, str(value, budget));
}

Value filter_default(Budget&, const Value& value, const Arguments& given) {
  given.check("default", 2, {"default_value", "boolean"});
  const Value* empty_too = given.get(1, "boolean");
  const bool absent =
      value.is_undefined() || (empty_too != nullptr && truth(*empty_too) && !truth(value));
  if (!absent) return value;
  const Value* other = given.get(0, "default_value");
  return other != nullptr ? *other : Value("");
}

Value filter_items(Budget& budget, const Value& value, const Arguments&) {
  if (value.is_undefined()) return paid_list(budget, {});
  if (!value.is_map()) throw Fault(concat("'items' takes a dict, not ", value.kind()));
  return paid_list(budget, items_of(budget, value.map()));
}

Value filter_join(Budget& budget, const Value& value, const Arguments& given) {
  given.check("join", 2, {"d", "attribute"});
  std::vector<Value> items = iterate(value, budget)->items;
  if (const Value* path = given.get(1, "attribute"))
    for (Value& item : items) item = down(budget, item, *path);
  const Value* between = given.get(0, "d");
  return paid_text(budget, joined(budget, items, between ? str(*between, budget) : ""));
}

Value filter_upper(Budget& budget, const Value& value, const Arguments&) {
  return paid_text(budget, upper(str(value, budget)));
}
Value filter_lower(Budget& budget, const Value& value, const Arguments&) {
  return paid_text(budget, lower(str(value, budget)));
}
Value filter_capitalize(Budget& budget, const Value& value, const Arguments&) {
  return paid_text(budget, capitalized(str(value, budget), false));
}
Value filter_title(Budget& budget, const Value& value, const Arguments&) {
  return paid_text(budget, capitalized(str(value, budget), true));
}
Value filter_list(Budget& budget, const Value& value, const Arguments&) {
  return paid_list(budget, iterate(value, budget)->items);
}
Value filter_first(Budget& budget, const Value& value, const Arguments&) {
  const auto items = iterate(value, budget);
  return items->items.empty() ? Value::undefined("first item") : items->items.front();
}
Value filter_last(Budget& budget, const Value& value, const Arguments&) {
  const auto items = iterate(value, budget);
  return items->items.empty() ? Value::undefined("last item") : items->items.back();
}
Value filter_reverse(Budget& budget, const Value& value, const Arguments&) {
  std::vector<Value> items = iterate(value, budget)->items;
  std::reverse(items.begin(), items.end());
  return value.is_text() ? paid_text(budget, joined(budget, items, ""))
                         : paid_list(budget, std::move(items));
}

Value filter_replace(Budget& budget, const Value& value, const Arguments& given) {
  given.check("replace", 3, {"old", "new", "count"});
  const Value *old = given.get(0, "old"), *fresh = given.get(1, "new"),
              *most = given.get(2, "count");
  if (old == nullptr || fresh == nullptr) throw Fault("'replace' lacks an argument");
  const bool all = most == nullptr || most->is_none();
  return paid_text(budget, replaced(budget, str(value, budget), str(*old, budget),
                                    str(*fresh, budget), all ? -1 : want_int(*most, "replace")));
}

Value filter_indent(Budget& budget, const Value& value, const Arguments& given) {
  given.check("indent", 3, {"width", "first", "blank"});
  const Value *width = given.get(0, "width"), *first = given.get(1, "first"),
              *blank = given.get(2, "blank");
  std::string by(4, ' ');
  if (width != nullptr && width->is_text()) {
    by = width->text().substr(0, 100);
  } else if (width != nullptr) {
    by.assign(static_cast<size_t>(std::clamp<int64_t>(want_int(*width, "indent"), 0, 100)), ' ');
  }
  const bool blanks = blank != nullptr && truth(*blank);
  const std::string whole = str(value, budget) + "\n";
  std::string out = first != nullptr && truth(*first) ? by : "";
  const std::vector<std::string_view> lines = lines_of(whole);
  for (size_t i = 0; i < lines.size(); ++i) {
    budget.spend(1 + by.size() / 8);
    if (i > 0) out += '\n';
    if (i > 0 && (blanks || !lines[i].empty())) out += by;
    out += lines[i];
  }
  return paid_text(budget, std::move(out));
}

Value filter_abs(Budget&, const Value& value, const Arguments&) {
  if (!value.is_number()) throw Fault(concat("'abs' takes a number, not ", value.kind()));
  if (value.is_float()) return std::fabs(value.number());
  if (value.whole() == INT64_MIN) throw Fault("a number is too large");
  return std::abs(value.whole());
}

/// Parses a number as Python's int() and float() do.
template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  text = stripped(text, nullptr, true, true);
  if (text.starts_with('+')) text.remove_prefix(1);
  Number out{};
  return parse_number(text, out) ? std::optional(out) : std::nullopt;
}

Value filter_int(Budget&, const Value& value, const Arguments& given) {
  given.check("int", 1, {"default"});
  std::optional<double> real;
  if (value.is_int() || value.is_bool()) return value.whole();
  if (value.is_float()) real = value.number();
  if (value.is_text()) {
    if (const auto whole = number_in<int64_t>(value.text())) return *whole;
    real = number_in<double>(value.text());
  }
  if (real && std::fabs(*real) < 9e18) return static_cast<int64_t>(*real);
  const Value* other = given.get(0, "default");
  return other != nullptr ? *other : Value(int64_t{0});
}

Value filter_float(Budget&, const Value& value, const Arguments& given) {
  given.check("float", 1, {"default"});
  if (value.is_number()) return value.number();
  if (value.is_text())
    if (const auto real = number_in<double>(value.text())) return *real;
  const Value* other = given.get(0, "default");
  return other != nullptr ? *other : Value(0.0);
}

/// Returns the items that pass a test (if `keep`), or those that fail it. The test's name and
/// arguments begin at argument `first`. Without a name, the test is whether the item is true.
Value chosen(Budget& budget, const Value& value, const Arguments& given, const Value* path,
             size_t first, bool keep) {
  Test test = nullptr;
  Arguments rest;
  if (const Value* name = given.get(first)) {
    test = find_test(want_text(*name, "select"));
    if (test == nullptr) throw Fault(concat("the test '", name->text(), "' is not supported"));
    rest.values.assign(given.values.begin() + static_cast<ptrdiff_t>(first) + 1,
                       given.values.end());
  }
  std::vector<Value> out;
  const auto list = iterate_if_any(value, budget);  // keeps the list alive during the loop
  for (const Value& item : list->items) {
    budget.spend(4);
    const Value subject = path != nullptr ? down(budget, item, *path) : item;
    if ((test != nullptr ? test(budget, subject, rest) : truth(subject)) == keep)
      out.push_back(item);
  }
  return paid_list(budget, std::move(out));
}

const Value& want_path(const Arguments& given) {
  if (given.values.empty()) throw Fault("'selectattr' lacks an attribute");
  return given.values[0];
}
Value filter_select(Budget& budget, const Value& value, const Arguments& given) {
  return chosen(budget, value, given, nullptr, 0, true);
}
Value filter_reject(Budget& budget, const Value& value, const Arguments& given) {
  return chosen(budget, value, given, nullptr, 0, false);
}
Value filter_selectattr(Budget& budget, const Value& value, const Arguments& given) {
  return chosen(budget, value, given, &want_path(given), 1, true);
}
Value filter_rejectattr(Budget& budget, const Value& value, const Arguments& given) {
  return chosen(budget, value, given, &want_path(given), 1, false);
}

Value filter_map(Budget& budget, const Value& value, const Arguments& given) {
  std::vector<Value> out;
  const auto items = iterate_if_any(value, budget);
  if (given.values.empty()) {
    given.check("map", 0, {"attribute", "default"});
    const Value *path = given.get(0, "attribute"), *absent = given.get(1, "default");
    if (path == nullptr) throw Fault("'map' lacks a filter or an attribute");
    for (const Value& item : items->items) {
      budget.spend(4);
      out.push_back(down(budget, item, *path, absent));
    }
    return paid_list(budget, std::move(out));
  }
  const Filter filter = find_filter(want_text(given.values[0], "map"));
  if (filter == nullptr) throw Fault(unknown_filter(given.values[0].text()));
  Arguments rest{{given.values.begin() + 1, given.values.end()}, given.named};
  for (const Value& item : items->items) {
    budget.spend(4);
    out.push_back(filter(budget, item, rest));
  }
  return paid_list(budget, std::move(out));
}

Value filter_same(Budget&, const Value& value, const Arguments&) { return value; }

struct FilterRow {
  std::string_view name;
  Filter filter;
};
constexpr std::array<FilterRow, 45> kFilters{{
    {"max", filter_max},
    {"min", filter_min},
    {"sum", filter_sum},
    {"round", filter_round},
    {"truncate", filter_truncate},
    {"wordcount", filter_wordcount},
    {"escape", filter_escape},
    {"e", filter_escape},
    {"forceescape", filter_escape},
    {"format", filter_format},
    {"center", filter_center},
    {"tojson", filter_tojson},
    {"length", filter_length},
    {"count", filter_length},
    {"trim", filter_trim},
    {"string", filter_string},
    {"default", filter_default},
    {"d", filter_default},
    {"items", filter_items},
    {"join", filter_join},
    {"upper", filter_upper},
    {"lower", filter_lower},
    {"capitalize", filter_capitalize},
    {"title", filter_title},
    {"list", filter_list},
    {"first", filter_first},
    {"last", filter_last},
    {"reverse", filter_reverse},
    {"replace", filter_replace},
    {"indent", filter_indent},
    {"abs", filter_abs},
    {"int", filter_int},
    {"float", filter_float},
    {"sort", filter_sort},
    {"dictsort", filter_dictsort},
    {"unique", filter_unique},
    {"groupby", filter_groupby},
    {"batch", filter_batch},
    {"slice", filter_slice},
    {"select", filter_select},
    {"reject", filter_reject},
    {"selectattr", filter_selectattr},
    {"rejectattr", filter_rejectattr},
    {"map", filter_map},
    {"safe", filter_same},
}};

}  // namespace

std::string unknown_filter(std::string_view name) {
  return concat("the filter '", name, "' is not supported");
}

Filter find_filter(std::string_view name) {
  const FilterRow* row = find_row(kFilters, name);
  return row == nullptr ? nullptr : row->filter;
}

}  // namespace syrinx::jinja
