#include "text/jinja/builtins.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "text/jinja/interpreter.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::jinja {
namespace {

template <typename Entry, size_t N>
const Entry* find_row(const std::array<Entry, N>& table, std::string_view name) {
  const auto at = std::find_if(table.begin(), table.end(),
                               [&](const Entry& entry) { return entry.name == name; });
  return at == table.end() ? nullptr : &*at;
}

// Text

char32_t upper_of(char32_t code) {
  return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code)));
}
char32_t lower_of(char32_t code) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}

/// Each code point through `map(code, begins)`: whether it begins the text or, with `words`, a
/// word.
template <typename MapPoint>
std::string map_points(std::string_view text, bool words, MapPoint map) {
  std::string out;
  bool begins = true;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = utf8_at(text, at);
    utf8_append(out, map(point.value, begins));
    begins = words && !is_letter(point.value);
    at += point.size;
  }
  return out;
}
std::string upper(std::string_view text) {
  return map_points(text, false, [](char32_t c, bool) { return upper_of(c); });
}
std::string lower(std::string_view text) {
  return map_points(text, false, [](char32_t c, bool) { return lower_of(c); });
}
std::string capitalized(std::string_view text, bool words) {
  return map_points(text, words,
                    [](char32_t c, bool begins) { return begins ? upper_of(c) : lower_of(c); });
}

/// Python's str.isspace() of one code point.
bool is_blank_point(char32_t code) { return is_space(code) || (code >= 0x1c && code <= 0x1f); }

const std::string& want_text(const Value& value, std::string_view function) {
  if (!value.is_text()) throw Fault(concat("'", function, "' takes a str, not ", value.kind()));
  return value.text();
}

int64_t want_int(const Value& value, std::string_view function) {
  if (!value.is_int() && !value.is_bool())
    throw Fault(concat("'", function, "' takes an int, not ", value.kind()));
  return value.whole();
}

std::vector<Value> split_blanks(std::string_view text, int64_t most) {
  std::vector<Value> out;
  for (;;) {
    text = stripped(text, nullptr, true, false);
    if (text.empty()) return out;
    if (most >= 0 && static_cast<int64_t>(out.size()) == most) {
      out.emplace_back(stripped(text, nullptr, false, true));
      return out;
    }
    size_t end = 0;
    while (end < text.size()) {
      const CodePoint point = utf8_at(text, end);
      if (is_blank_point(point.value)) break;
      end += point.size;
    }
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::vector<Value> split_by(std::string_view text, std::string_view by, int64_t most) {
  std::vector<Value> out;
  for (;;) {
    const bool more = most < 0 || static_cast<int64_t>(out.size()) < most;
    const size_t at = more ? text.find(by) : text.npos;
    out.emplace_back(text.substr(0, at));
    if (at == text.npos) return out;
    text.remove_prefix(at + by.size());
  }
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = text.find_first_of("\r\n\v\f\x1c\x1d\x1e");
    out.push_back(text.substr(0, end));
    if (end == text.npos) break;
    const bool both = text[end] == '\r' && end + 1 < text.size() && text[end + 1] == '\n';
    text.remove_prefix(end + (both ? 2 : 1));
  }
  return out;
}

std::string replaced(Interpreter& run, std::string_view text, std::string_view from,
                     std::string_view to, int64_t most) {
  if (from.empty()) throw Fault("'replace' of nothing is not supported");
  run.budget().spend_bytes(text.size() * (1 + from.size() / 64));
  std::string out;
  for (int64_t done = 0;; ++done) {
    const size_t at = most >= 0 && done >= most ? text.npos : text.find(from);
    out += text.substr(0, at);
    if (at == text.npos) return out;
    run.budget().spend_bytes(to.size() + 8);
    out += to;
    text.remove_prefix(at + from.size());
  }
}

/// Whether the text has one of the ends: a str, or a tuple of them.
bool has_end(const std::string& text, const Value& ends, bool begin, std::string_view function) {
  const auto has = [&](const Value& end) {
    const std::string& part = want_text(end, function);
    return begin ? text.starts_with(part) : text.ends_with(part);
  };
  if (!ends.is_list()) return has(ends);
  return std::any_of(ends.items().begin(), ends.items().end(), has);
}

std::string joined(Interpreter& run, const std::vector<Value>& items, std::string_view between) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += between;
    run.budget().spend(1 + between.size() / 8);
    out += str(items[i], run.budget());
  }
  return out;
}

// Methods

enum class Method {
  kStrip,
  kLstrip,
  kRstrip,
  kSplit,
  kRsplit,
  kSplitlines,
  kStartswith,
  kEndswith,
  kReplace,
  kUpper,
  kLower,
  kTitle,
  kCapitalize,
  kJoin,
  kFind,
  kCount,
  kIsdigit,
  kGet,
  kItems,
  kKeys,
  kValues,
  kIndex,
};

struct MethodRow {
  std::string_view name;
  Method method;
};
constexpr std::array<MethodRow, 17> kTextMethods{{
    {"strip", Method::kStrip},
    {"lstrip", Method::kLstrip},
    {"rstrip", Method::kRstrip},
    {"split", Method::kSplit},
    {"rsplit", Method::kRsplit},
    {"splitlines", Method::kSplitlines},
    {"startswith", Method::kStartswith},
    {"endswith", Method::kEndswith},
    {"replace", Method::kReplace},
    {"upper", Method::kUpper},
    {"lower", Method::kLower},
    {"title", Method::kTitle},
    {"capitalize", Method::kCapitalize},
    {"join", Method::kJoin},
    {"find", Method::kFind},
    {"count", Method::kCount},
    {"isdigit", Method::kIsdigit},
}};
constexpr std::array<MethodRow, 4> kMapMethods{{
    {"get", Method::kGet},
    {"items", Method::kItems},
    {"keys", Method::kKeys},
    {"values", Method::kValues},
}};
constexpr std::array<MethodRow, 2> kListMethods{{
    {"index", Method::kIndex},
    {"count", Method::kCount},
}};

const MethodRow* find_method(const Value& self, std::string_view name) {
  if (self.is_text()) return find_row(kTextMethods, name);
  if (self.is_map()) return find_row(kMapMethods, name);
  if (self.is_list()) return find_row(kListMethods, name);
  return nullptr;
}

std::vector<Value> items_of(Interpreter& run, const Map& map) {
  run.budget().spend(6 * map.entries().size());
  std::vector<Value> out;
  for (const auto& [key, value] : map.entries())
    out.push_back(make_list({Value(key), value}, true));
  return out;
}

Value split(Interpreter& run, const std::string& text, const Arguments& given, bool from_right) {
  const Value* by = given.get(0, "sep");
  const Value* most = given.get(1, "maxsplit");
  const int64_t limit = most == nullptr ? -1 : want_int(*most, "split");
  run.budget().spend_bytes(text.size());
  if (by == nullptr || by->is_none()) {
    if (from_right && limit >= 0) throw Fault("'rsplit' at blanks, with a limit, is not supported");
    return run.list(split_blanks(text, limit));
  }
  const std::string& mark = want_text(*by, "split");
  if (mark.empty()) throw Fault("'split' at nothing");
  run.budget().spend_bytes(text.size() * (mark.size() / 64));
  if (!from_right || limit < 0) return run.list(split_by(text, mark, limit));
  std::vector<Value> out;
  std::string_view rest = text;
  for (int64_t i = 0; i < limit; ++i) {
    const size_t at = rest.rfind(mark);
    if (at == rest.npos) break;
    out.emplace_back(rest.substr(at + mark.size()));
    rest = rest.substr(0, at);
  }
  out.emplace_back(rest);
  std::reverse(out.begin(), out.end());
  return run.list(std::move(out));
}

Value text_method(Interpreter& run, const std::string& self, Method method, std::string_view name,
                  const Arguments& given) {
  const auto need = [&](size_t i) -> const Value& {
    const Value* value = given.get(i);
    if (value == nullptr) throw Fault(concat("'", name, "' lacks an argument"));
    return *value;
  };
  given.check(name, 3, {"sep", "maxsplit"});
  run.budget().spend_bytes(self.size());
  switch (method) {
    case Method::kStrip:
    case Method::kLstrip:
    case Method::kRstrip: {
      const Value* chars = given.get(0);
      const bool all = chars == nullptr || chars->is_none();
      if (!all) run.budget().spend_bytes(self.size() * want_text(*chars, name).size());
      return run.text(std::string(stripped(self, all ? nullptr : &want_text(*chars, name),
                                           method != Method::kRstrip, method != Method::kLstrip)));
    }
    case Method::kSplit:
      return split(run, self, given, false);
    case Method::kRsplit:
      return split(run, self, given, true);
    case Method::kSplitlines: {
      std::vector<Value> out;
      for (const std::string_view line : lines_of(self)) out.emplace_back(line);
      return run.list(std::move(out));
    }
    case Method::kStartswith:
      return has_end(self, need(0), true, name);
    case Method::kEndswith:
      return has_end(self, need(0), false, name);
    case Method::kReplace:
      return run.text(replaced(run, self, want_text(need(0), name), want_text(need(1), name),
                               given.get(2) ? want_int(*given.get(2), name) : -1));
    case Method::kUpper:
      return run.text(upper(self));
    case Method::kLower:
      return run.text(lower(self));
    case Method::kTitle:
      return run.text(capitalized(self, true));
    case Method::kCapitalize:
      return run.text(capitalized(self, false));
    case Method::kJoin: {
      const auto items = iterate(need(0), run.budget());
      for (const Value& item : items->items) want_text(item, name);
      return run.text(joined(run, items->items, self));
    }
    case Method::kFind: {
      const std::string& part = want_text(need(0), name);
      run.budget().spend_bytes(self.size() * (1 + part.size() / 64));
      const size_t at = self.find(part);
      if (at == self.npos) return int64_t{-1};
      return static_cast<int64_t>(utf8_count(std::string_view(self).substr(0, at)));
    }
    case Method::kCount: {
      const std::string& part = want_text(need(0), name);
      if (part.empty()) throw Fault("'count' of nothing is not supported");
      run.budget().spend_bytes(self.size() * (1 + part.size() / 64));
      int64_t count = 0;
      for (size_t at = 0; (at = self.find(part, at)) != self.npos; at += part.size()) ++count;
      return count;
    }
    case Method::kIsdigit:
      return !self.empty() &&
             std::all_of(self.begin(), self.end(), [](char c) { return c >= '0' && c <= '9'; });
    default:
      throw Fault(concat("a str has no method '", name, "'"));
  }
}

// Filters

/// What select, reject and map go through: nothing where the value is empty or none.
std::shared_ptr<const List> iterate_if_any(const Value& value, Budget& budget) {
  return truth(value) ? iterate(value, budget) : std::make_shared<const List>();
}

Value filter_tojson(Interpreter& run, const Value& value, const Arguments& given) {
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
  return run.text(to_json(value, style, run.budget()));
}

Value filter_length(Interpreter& run, const Value& value, const Arguments&) {
  if (value.is_text()) {
    run.budget().spend_bytes(value.text().size());
    return static_cast<int64_t>(utf8_count(value.text()));
  }
  if (value.is_list()) return static_cast<int64_t>(value.items().size());
  if (value.is_map()) return static_cast<int64_t>(value.map().entries().size());
  if (value.is_undefined()) return int64_t{0};
  throw Fault(concat("a value of type ", value.kind(), " has no length"));
}

Value filter_trim(Interpreter& run, const Value& value, const Arguments& given) {
  given.check("trim", 1, {"chars"});
  const Value* chars = given.get(0, "chars");
  const bool all = chars == nullptr || chars->is_none();
  return run.text(std::string(
      stripped(str(value, run.budget()), all ? nullptr : &want_text(*chars, "trim"), true, true)));
}

Value filter_string(Interpreter& run, const Value& value, const Arguments&) {
  return value.is_text() ? value : run.text(str(value, run.budget()));
}

Value filter_default(Interpreter&, const Value& value, const Arguments& given) {
  given.check("default", 2, {"default_value", "boolean"});
  const Value* empty_too = given.get(1, "boolean");
  const bool absent =
      value.is_undefined() || (empty_too != nullptr && truth(*empty_too) && !truth(value));
  if (!absent) return value;
  const Value* other = given.get(0, "default_value");
  return other != nullptr ? *other : Value("");
}

Value filter_items(Interpreter& run, const Value& value, const Arguments&) {
  if (value.is_undefined()) return run.list({});
  if (!value.is_map()) throw Fault(concat("'items' takes a dict, not ", value.kind()));
  return run.list(items_of(run, value.map()));
}

/// Goes down "function.name".
Value down(Interpreter& run, Value value, const Value& path) {
  if (path.is_int()) return run.item(value, path);
  for (const Value& step : split_by(want_text(path, "attribute"), ".", 20)) {
    const bool digits =
        !step.text().empty() && std::all_of(step.text().begin(), step.text().end(),
                                            [](char c) { return c >= '0' && c <= '9'; });
    value = digits && step.text().size() < 9 ? run.item(value, int64_t{std::stoi(step.text())})
                                             : run.item(value, step);
  }
  return value;
}

Value filter_join(Interpreter& run, const Value& value, const Arguments& given) {
  given.check("join", 2, {"d", "attribute"});
  std::vector<Value> items = iterate(value, run.budget())->items;
  if (const Value* path = given.get(1, "attribute"))
    for (Value& item : items) item = down(run, item, *path);
  const Value* between = given.get(0, "d");
  return run.text(joined(run, items, between ? str(*between, run.budget()) : ""));
}

Value filter_upper(Interpreter& run, const Value& value, const Arguments&) {
  return run.text(upper(str(value, run.budget())));
}
Value filter_lower(Interpreter& run, const Value& value, const Arguments&) {
  return run.text(lower(str(value, run.budget())));
}
Value filter_capitalize(Interpreter& run, const Value& value, const Arguments&) {
  return run.text(capitalized(str(value, run.budget()), false));
}
Value filter_title(Interpreter& run, const Value& value, const Arguments&) {
  return run.text(capitalized(str(value, run.budget()), true));
}
Value filter_list(Interpreter& run, const Value& value, const Arguments&) {
  return run.list(iterate(value, run.budget())->items);
}
Value filter_first(Interpreter& run, const Value& value, const Arguments&) {
  const auto items = iterate(value, run.budget());
  return items->items.empty() ? Value::undefined("first item") : items->items.front();
}
Value filter_last(Interpreter& run, const Value& value, const Arguments&) {
  const auto items = iterate(value, run.budget());
  return items->items.empty() ? Value::undefined("last item") : items->items.back();
}
Value filter_reverse(Interpreter& run, const Value& value, const Arguments&) {
  std::vector<Value> items = iterate(value, run.budget())->items;
  std::reverse(items.begin(), items.end());
  return value.is_text() ? run.text(joined(run, items, "")) : run.list(std::move(items));
}

Value filter_replace(Interpreter& run, const Value& value, const Arguments& given) {
  given.check("replace", 3, {"old", "new", "count"});
  const Value *old = given.get(0, "old"), *fresh = given.get(1, "new"),
              *most = given.get(2, "count");
  if (old == nullptr || fresh == nullptr) throw Fault("'replace' lacks an argument");
  const bool all = most == nullptr || most->is_none();
  return run.text(replaced(run, str(value, run.budget()), str(*old, run.budget()),
                           str(*fresh, run.budget()), all ? -1 : want_int(*most, "replace")));
}

Value filter_indent(Interpreter& run, const Value& value, const Arguments& given) {
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
  const std::string whole = str(value, run.budget()) + "\n";
  std::string out = first != nullptr && truth(*first) ? by : "";
  const std::vector<std::string_view> lines = lines_of(whole);
  for (size_t i = 0; i < lines.size(); ++i) {
    run.budget().spend(1 + by.size() / 8);
    if (i > 0) out += '\n';
    if (i > 0 && (blanks || !lines[i].empty())) out += by;
    out += lines[i];
  }
  return run.text(std::move(out));
}

Value filter_abs(Interpreter&, const Value& value, const Arguments&) {
  if (!value.is_number()) throw Fault(concat("'abs' takes a number, not ", value.kind()));
  if (value.is_float()) return std::fabs(value.number());
  if (value.whole() == INT64_MIN) throw Fault("a number is too large");
  return std::abs(value.whole());
}

/// A number in a text, as Python's int() and float() read it.
template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  text = stripped(text, nullptr, true, true);
  if (text.starts_with('+')) text.remove_prefix(1);
  Number out{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (fault != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return out;
}

Value filter_int(Interpreter&, const Value& value, const Arguments& given) {
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

Value filter_float(Interpreter&, const Value& value, const Arguments& given) {
  given.check("float", 1, {"default"});
  if (value.is_number()) return value.number();
  if (value.is_text())
    if (const auto real = number_in<double>(value.text())) return *real;
  const Value* other = given.get(0, "default");
  return other != nullptr ? *other : Value(0.0);
}

/// What items are sorted by: texts without regard to case, unless told otherwise.
Value sort_key(const Value& value, bool case_sensitive) {
  return value.is_text() && !case_sensitive ? Value(lower(value.text())) : value;
}

bool flag_of(const Arguments& given, size_t index, std::string_view name) {
  const Value* value = given.get(index, name);
  return value != nullptr && truth(*value);
}

/// Sorts keyed values; equal ones stay in order.
std::vector<Value> sorted(Interpreter& run, std::vector<std::pair<Value, Value>> keyed,
                          bool reverse) {
  run.budget().spend(8 * keyed.size());
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    const int order = compare(a.first, b.first, run.budget());
    return reverse ? order > 0 : order < 0;
  });
  std::vector<Value> out;
  for (auto& [key, value] : keyed) out.push_back(std::move(value));
  return out;
}

Value filter_sort(Interpreter& run, const Value& value, const Arguments& given) {
  given.check("sort", 3, {"reverse", "case_sensitive", "attribute"});
  const bool exact = flag_of(given, 1, "case_sensitive");
  const Value* path = given.get(2, "attribute");
  std::vector<std::pair<Value, Value>> keyed;
  const auto list = iterate(value, run.budget());  // kept alive by name: a range-for does not
  for (const Value& item : list->items)
    keyed.emplace_back(sort_key(path ? down(run, item, *path) : item, exact), item);
  return run.list(sorted(run, std::move(keyed), flag_of(given, 0, "reverse")));
}

Value filter_dictsort(Interpreter& run, const Value& value, const Arguments& given) {
  given.check("dictsort", 3, {"case_sensitive", "by", "reverse"});
  if (!value.is_map()) throw Fault(concat("'dictsort' takes a dict, not ", value.kind()));
  const bool exact = flag_of(given, 0, "case_sensitive");
  const Value* by = given.get(1, "by");
  const bool by_value = by != nullptr && by->is_text() && by->text() == "value";
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& item : items_of(run, value.map()))
    keyed.emplace_back(sort_key(item.items()[by_value ? 1 : 0], exact), std::move(item));
  return run.list(sorted(run, std::move(keyed), flag_of(given, 2, "reverse")));
}

Value filter_unique(Interpreter& run, const Value& value, const Arguments& given) {
  given.check("unique", 2, {"case_sensitive", "attribute"});
  const bool exact = flag_of(given, 0, "case_sensitive");
  const Value* path = given.get(1, "attribute");
  std::vector<Value> keys, out;
  const auto list = iterate(value, run.budget());  // kept alive by name: a range-for does not
  for (const Value& item : list->items) {
    const Value key = sort_key(path ? down(run, item, *path) : item, exact);
    const bool known = std::any_of(keys.begin(), keys.end(), [&](const Value& other) {
      return equal(key, other, run.budget());
    });
    if (known) continue;
    keys.push_back(key);
    out.push_back(item);
  }
  return run.list(std::move(out));
}

/// The items that pass a test, or those that do not. The test's name and arguments begin at
/// `first`; without one the value itself decides.
Value chosen(Interpreter& run, const Value& value, const Arguments& given, const Value* path,
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
  const auto list =
      iterate_if_any(value, run.budget());  // kept alive by name: a range-for does not
  for (const Value& item : list->items) {
    run.budget().spend(4);
    const Value subject = path != nullptr ? down(run, item, *path) : item;
    if ((test != nullptr ? test(run, subject, rest) : truth(subject)) == keep) out.push_back(item);
  }
  return run.list(std::move(out));
}

const Value& want_path(const Arguments& given) {
  if (given.values.empty()) throw Fault("'selectattr' lacks an attribute");
  return given.values[0];
}
Value filter_select(Interpreter& run, const Value& value, const Arguments& given) {
  return chosen(run, value, given, nullptr, 0, true);
}
Value filter_reject(Interpreter& run, const Value& value, const Arguments& given) {
  return chosen(run, value, given, nullptr, 0, false);
}
Value filter_selectattr(Interpreter& run, const Value& value, const Arguments& given) {
  return chosen(run, value, given, &want_path(given), 1, true);
}
Value filter_rejectattr(Interpreter& run, const Value& value, const Arguments& given) {
  return chosen(run, value, given, &want_path(given), 1, false);
}

Value filter_map(Interpreter& run, const Value& value, const Arguments& given) {
  std::vector<Value> out;
  const auto items = iterate_if_any(value, run.budget());
  if (given.values.empty()) {
    given.check("map", 0, {"attribute", "default"});
    const Value *path = given.get(0, "attribute"), *absent = given.get(1, "default");
    if (path == nullptr) throw Fault("'map' lacks a filter or an attribute");
    for (const Value& item : items->items) {
      run.budget().spend(4);
      Value found = down(run, item, *path);
      out.push_back(found.is_undefined() && absent != nullptr ? *absent : std::move(found));
    }
    return run.list(std::move(out));
  }
  const Filter filter = find_filter(want_text(given.values[0], "map"));
  if (filter == nullptr) throw Fault(unknown_filter(given.values[0].text()));
  Arguments rest{{given.values.begin() + 1, given.values.end()}, given.named};
  for (const Value& item : items->items) {
    run.budget().spend(4);
    out.push_back(filter(run, item, rest));
  }
  return run.list(std::move(out));
}

Value filter_same(Interpreter&, const Value& value, const Arguments&) { return value; }

struct FilterRow {
  std::string_view name;
  Filter filter;
};
constexpr std::array<FilterRow, 31> kFilters{{
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
    {"select", filter_select},
    {"reject", filter_reject},
    {"selectattr", filter_selectattr},
    {"rejectattr", filter_rejectattr},
    {"map", filter_map},
    {"safe", filter_same},
}};

// Tests

const Value& other(const Arguments& given) {
  if (given.values.empty()) throw Fault("a test lacks what to compare with");
  return given.values[0];
}
bool test_defined(Interpreter&, const Value& v, const Arguments&) { return !v.is_undefined(); }
bool test_undefined(Interpreter&, const Value& v, const Arguments&) { return v.is_undefined(); }
bool test_none(Interpreter&, const Value& v, const Arguments&) { return v.is_none(); }
bool test_string(Interpreter&, const Value& v, const Arguments&) { return v.is_text(); }
bool test_mapping(Interpreter&, const Value& v, const Arguments&) { return v.is_map(); }
bool test_iterable(Interpreter&, const Value& v, const Arguments&) {
  return v.is_text() || v.is_list() || v.is_map() || v.is_undefined();
}
bool test_number(Interpreter&, const Value& v, const Arguments&) { return v.is_number(); }
bool test_integer(Interpreter&, const Value& v, const Arguments&) { return v.is_int(); }
bool test_float(Interpreter&, const Value& v, const Arguments&) { return v.is_float(); }
bool test_boolean(Interpreter&, const Value& v, const Arguments&) { return v.is_bool(); }
bool test_true(Interpreter&, const Value& v, const Arguments&) { return v.is_bool() && v.flag(); }
bool test_false(Interpreter&, const Value& v, const Arguments&) { return v.is_bool() && !v.flag(); }
bool test_callable(Interpreter&, const Value& v, const Arguments&) { return v.is_callable(); }
bool test_eq(Interpreter& run, const Value& v, const Arguments& given) {
  return equal(v, other(given), run.budget());
}
/// Of texts, numbers, ... that are the same object in Python: equal ones of one type.
bool test_same(Interpreter& run, const Value& v, const Arguments& given) {
  const Value& with = other(given);
  return std::string_view(v.kind()) == with.kind() && equal(v, with, run.budget());
}
bool test_ne(Interpreter& run, const Value& v, const Arguments& given) {
  return !equal(v, other(given), run.budget());
}
bool test_lt(Interpreter& run, const Value& v, const Arguments& given) {
  return compare(v, other(given), run.budget()) < 0;
}
bool test_le(Interpreter& run, const Value& v, const Arguments& given) {
  return compare(v, other(given), run.budget()) <= 0;
}
bool test_gt(Interpreter& run, const Value& v, const Arguments& given) {
  return compare(v, other(given), run.budget()) > 0;
}
bool test_ge(Interpreter& run, const Value& v, const Arguments& given) {
  return compare(v, other(given), run.budget()) >= 0;
}
bool test_in(Interpreter& run, const Value& v, const Arguments& given) {
  return run.contains(v, other(given));
}
int64_t rest_of(const Value& v, int64_t by) {
  if (!v.is_int() && !v.is_bool()) throw Fault("only an int is odd, even or divisible");
  if (by == 0) throw Fault("divides by zero");
  return by == -1 ? 0 : v.whole() % by;
}
bool test_odd(Interpreter&, const Value& v, const Arguments&) { return rest_of(v, 2) != 0; }
bool test_even(Interpreter&, const Value& v, const Arguments&) { return rest_of(v, 2) == 0; }
bool test_divisibleby(Interpreter&, const Value& v, const Arguments& given) {
  return rest_of(v, want_int(other(given), "divisibleby")) == 0;
}

struct TestRow {
  std::string_view name;
  Test test;
};
constexpr std::array<TestRow, 29> kTests{{
    {"defined", test_defined},
    {"undefined", test_undefined},
    {"none", test_none},
    {"string", test_string},
    {"mapping", test_mapping},
    {"iterable", test_iterable},
    {"sequence", test_iterable},
    {"number", test_number},
    {"integer", test_integer},
    {"float", test_float},
    {"boolean", test_boolean},
    {"true", test_true},
    {"false", test_false},
    {"callable", test_callable},
    {"eq", test_eq},
    {"equalto", test_eq},
    {"sameas", test_same},
    {"ne", test_ne},
    {"lt", test_lt},
    {"lessthan", test_lt},
    {"le", test_le},
    {"gt", test_gt},
    {"greaterthan", test_gt},
    {"ge", test_ge},
    {"in", test_in},
    {"odd", test_odd},
    {"even", test_even},
    {"divisibleby", test_divisibleby},
    {"==", test_eq},
}};

struct GlobalRow {
  std::string_view name;
  Global global;
};
constexpr std::array<GlobalRow, 5> kGlobals{{
    {"raise_exception", Global::kRaise},
    {"strftime_now", Global::kStrftimeNow},
    {"namespace", Global::kNamespace},
    {"range", Global::kRange},
    {"dict", Global::kDict},
}};

}  // namespace

std::string unknown_filter(std::string_view name) {
  return concat("the filter '", name, "' is not supported");
}

Filter find_filter(std::string_view name) {
  const FilterRow* row = find_row(kFilters, name);
  return row == nullptr ? nullptr : row->filter;
}

Test find_test(std::string_view name) {
  const TestRow* row = find_row(kTests, name);
  return row == nullptr ? nullptr : row->test;
}

Global find_global(std::string_view name) {
  const GlobalRow* row = find_row(kGlobals, name);
  return row == nullptr ? Global::kNone : row->global;
}

bool has_method(const Value& self, std::string_view name) {
  return find_method(self, name) != nullptr;
}

Value call_method(Interpreter& run, const Value& self, std::string_view name,
                  const Arguments& given) {
  const Method method = find_method(self, name)->method;
  if (self.is_text()) return text_method(run, self.text(), method, name, given);
  given.check(name, 2);
  if (self.is_list()) {
    const auto& items = self.items();
    const auto same = [&](const Value& item) { return equal(item, other(given), run.budget()); };
    if (method == Method::kCount)
      return static_cast<int64_t>(std::count_if(items.begin(), items.end(), same));
    const auto at = std::find_if(items.begin(), items.end(), same);
    if (at == items.end()) throw Fault("the list has no such item");
    return static_cast<int64_t>(at - items.begin());
  }
  const Map& map = self.map();
  if (method == Method::kItems) return run.list(items_of(run, map));
  if (method == Method::kGet) {
    const Value& key = other(given);
    const Value* found = key.is_text() ? map.find(key.text()) : nullptr;
    if (found != nullptr) return *found;
    return given.get(1) != nullptr ? *given.get(1) : Value(None{});
  }
  std::vector<Value> out;
  for (const auto& [key, value] : map.entries())
    out.push_back(method == Method::kKeys ? Value(key) : value);
  return run.list(std::move(out));
}

std::string_view stripped(std::string_view text, const std::string* chars, bool left, bool right) {
  const auto goes = [&](char32_t code) {
    if (chars == nullptr) return is_blank_point(code);
    for (size_t at = 0; at < chars->size();) {
      const CodePoint point = utf8_at(*chars, at);
      if (point.value == code) return true;
      at += point.size;
    }
    return false;
  };
  while (left && !text.empty()) {
    const CodePoint point = utf8_at(text, 0);
    if (!goes(point.value)) break;
    text.remove_prefix(point.size);
  }
  while (right && !text.empty()) {
    const CodePoint point = utf8_before(text, text.size());
    if (!goes(point.value)) break;
    text.remove_suffix(point.size);
  }
  return text;
}

}  // namespace syrinx::jinja
