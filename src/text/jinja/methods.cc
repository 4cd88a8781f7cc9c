#include <algorithm>
#include <array>

#include "base/check.h"
#include "text/jinja/builtins.h"
#include "text/jinja/calls.h"
#include "text/jinja/formatting.h"
#include "text/jinja/operations.h"
#include "text/utf8.h"

namespace syrinx::jinja {
namespace {

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
  kFormat,
  kRemoveprefix,
  kRemovesuffix,
  kRfind,
  kChanged,
  kCycle,
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
constexpr std::array<MethodRow, 21> kTextMethods{{
    {"format", Method::kFormat},
    {"removeprefix", Method::kRemoveprefix},
    {"removesuffix", Method::kRemovesuffix},
    {"rfind", Method::kRfind},
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

constexpr std::array<MethodRow, 2> kLoopMethods{{
    {"changed", Method::kChanged},
    {"cycle", Method::kCycle},
}};

const MethodRow* find_method(const Value& self, std::string_view name) {
  if (self.is_text()) return find_row(kTextMethods, name);
  if (self.is_map()) return find_row(kMapMethods, name);
  if (self.is_list()) return find_row(kListMethods, name);
  if (self.is_loop()) return find_row(kLoopMethods, name);
  return nullptr;
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

/// Returns whether the text begins (`begin`) or ends with a str, or with any str of a tuple.
bool has_end(const std::string& text, const Value& ends, bool begin, std::string_view function) {
  const auto has = [&](const Value& end) {
    const std::string& part = want_text(end, function);
    return begin ? text.starts_with(part) : text.ends_with(part);
  };
  if (!ends.is_list()) return has(ends);
  return std::any_of(ends.items().begin(), ends.items().end(), has);
}

Value split(Budget& budget, const std::string& text, const Arguments& given, bool from_right) {
  const Value* by = given.get(0, "sep");
  const Value* most = given.get(1, "maxsplit");
  const int64_t limit = most == nullptr ? -1 : want_int(*most, "split");
  budget.spend_bytes(text.size());
  if (by == nullptr || by->is_none()) {
    if (from_right && limit >= 0) throw Fault("'rsplit' at blanks, with a limit, is not supported");
    return paid_list(budget, split_blanks(text, limit));
  }
  const std::string& mark = want_text(*by, "split");
  if (mark.empty()) throw Fault("'split' takes a separator that is not empty");
  budget.spend_bytes(text.size() * (mark.size() / 64));
  if (!from_right || limit < 0) return paid_list(budget, split_by(text, mark, limit));
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
  return paid_list(budget, std::move(out));
}

Value text_method(Budget& budget, const std::string& self, Method method, std::string_view name,
                  const Arguments& given) {
  const auto need = [&](size_t i) -> const Value& {
    const Value* value = given.get(i);
    if (value == nullptr) throw Fault(concat("'", name, "' lacks an argument"));
    return *value;
  };
  if (method == Method::kFormat) return paid_text(budget, formatted_by_fields(self, given, budget));
  given.check(name, 3, {"sep", "maxsplit"});
  budget.spend_bytes(self.size());
  switch (method) {
    case Method::kStrip:
    case Method::kLstrip:
    case Method::kRstrip: {
      const Value* chars = given.get(0);
      const bool all = chars == nullptr || chars->is_none();
      if (!all) budget.spend_bytes(self.size() * want_text(*chars, name).size());
      return paid_text(budget,
                       std::string(stripped(self, all ? nullptr : &want_text(*chars, name),
                                            method != Method::kRstrip, method != Method::kLstrip)));
    }
    case Method::kSplit:
      return split(budget, self, given, false);
    case Method::kRsplit:
      return split(budget, self, given, true);
    case Method::kSplitlines: {
      std::vector<Value> out;
      for (const std::string_view line : lines_of(self)) out.emplace_back(line);
      return paid_list(budget, std::move(out));
    }
    case Method::kStartswith:
      return has_end(self, need(0), true, name);
    case Method::kEndswith:
      return has_end(self, need(0), false, name);
    case Method::kReplace:
      return paid_text(budget,
                       replaced(budget, self, want_text(need(0), name), want_text(need(1), name),
                                given.get(2) ? want_int(*given.get(2), name) : -1));
    case Method::kUpper:
      return paid_text(budget, upper(self));
    case Method::kLower:
      return paid_text(budget, lower(self));
    case Method::kTitle:
      return paid_text(budget, capitalized(self, true));
    case Method::kCapitalize:
      return paid_text(budget, capitalized(self, false));
    case Method::kJoin: {
      const auto items = iterate(need(0), budget);
      for (const Value& item : items->items) want_text(item, name);
      return paid_text(budget, joined(budget, items->items, self));
    }
    case Method::kRemoveprefix: {
      const std::string& part = want_text(need(0), name);
      return paid_text(budget, self.starts_with(part) ? self.substr(part.size()) : self);
    }
    case Method::kRemovesuffix: {
      const std::string& part = want_text(need(0), name);
      const size_t kept = self.size() - (self.ends_with(part) ? part.size() : 0);
      return paid_text(budget, self.substr(0, kept));
    }
    case Method::kRfind: {
      const size_t at = self.rfind(want_text(need(0), name));
      if (at == self.npos) return int64_t{-1};
      return static_cast<int64_t>(utf8_count(std::string_view(self).substr(0, at)));
    }
    case Method::kFind: {
      const std::string& part = want_text(need(0), name);
      budget.spend_bytes(self.size() * (1 + part.size() / 64));
      const size_t at = self.find(part);
      if (at == self.npos) return int64_t{-1};
      return static_cast<int64_t>(utf8_count(std::string_view(self).substr(0, at)));
    }
    case Method::kCount: {
      const std::string& part = want_text(need(0), name);
      if (part.empty()) throw Fault("'count' of an empty text is not supported");
      budget.spend_bytes(self.size() * (1 + part.size() / 64));
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

Value loop_method(Budget& budget, const Loop& loop, Method method, const Arguments& given) {
  given.check(method == Method::kCycle ? "cycle" : "changed", 100);
  if (method == Method::kCycle) {
    if (given.values.empty()) throw Fault("cycle() lacks its items");
    return given.values[loop.at % given.values.size()];
  }
  auto& last = *loop.last;
  const bool same = last && last->size() == given.values.size() &&
                    std::equal(last->begin(), last->end(), given.values.begin(),
                               [&](const Value& a, const Value& b) { return equal(a, b, budget); });
  if (!same) last = given.values;
  return !same;
}

}  // namespace

bool is_method(std::string_view name) {
  return find_row(kTextMethods, name) != nullptr || find_row(kMapMethods, name) != nullptr ||
         find_row(kListMethods, name) != nullptr || find_row(kLoopMethods, name) != nullptr;
}

bool has_method(const Value& self, std::string_view name) {
  return find_method(self, name) != nullptr;
}

Value call_method(Budget& budget, const Value& self, std::string_view name,
                  const Arguments& given) {
  const Method method = find_method(self, name)->method;
  if (self.is_loop()) return loop_method(budget, self.loop(), method, given);
  if (self.is_text()) return text_method(budget, self.text(), method, name, given);
  given.check(name, 2);
  if (self.is_list()) {
    const auto& items = self.items();
    const auto same = [&](const Value& item) { return equal(item, want_other(given), budget); };
    if (method == Method::kCount)
      return static_cast<int64_t>(std::count_if(items.begin(), items.end(), same));
    const auto at = std::find_if(items.begin(), items.end(), same);
    if (at == items.end()) throw Fault("the list has no such item");
    return static_cast<int64_t>(at - items.begin());
  }
  const Map& map = self.map();
  if (method == Method::kItems) return paid_list(budget, items_of(budget, map));
  if (method == Method::kGet) {
    const Value& key = want_other(given);
    const Value* found = key.is_text() ? map.find(key.text()) : nullptr;
    if (found != nullptr) return *found;
    return given.get(1) != nullptr ? *given.get(1) : Value(None{});
  }
  std::vector<Value> out;
  for (const auto& [key, value] : map.entries())
    out.push_back(method == Method::kKeys ? Value(key) : value);
  return paid_list(budget, std::move(out));
}

}  // namespace syrinx::jinja
