#include "text/jinja/value_filters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/check.h"
#include "text/jinja/access.h"
#include "text/jinja/arithmetic.h"
#include "text/jinja/formatting.h"
#include "text/jinja/operations.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::jinja {
namespace {

constexpr size_t kMostText = 16'000'000;  // bytes

/// Returns the first item with the largest key if `wanted` is 1, with the smallest key if it is -1.
Value extreme(Budget& budget, const Value& value, const Arguments& given, int wanted) {
  given.check("max", 2, {"case_sensitive", "attribute"});
  const Value *exact = given.get(0, "case_sensitive"), *path = given.get(1, "attribute");
  const bool fold = exact == nullptr || !truth(*exact);
  const auto items = iterate(value, budget);
  if (items->items.empty()) return Value::undefined("an item of an empty list");
  const auto key = [&](const Value& item) {
    Value out = path != nullptr ? down(budget, item, *path) : item;
    return out.is_text() && fold ? Value(lower(out.text())) : out;
  };
  const Value* best = &items->items.front();
  Value best_key = key(*best);
  for (const Value& item : items->items) {
    budget.spend(2);
    Value now = key(item);
    if (compare(now, best_key, budget) * wanted > 0) best = &item, best_key = std::move(now);
  }
  return *best;
}

size_t bytes_of(std::string_view text, size_t count) {
  size_t at = 0;
  for (; count > 0 && at < text.size(); --count) at += utf8_at(text, at).size;
  return at;
}

}  // namespace

Value filter_max(Budget& budget, const Value& value, const Arguments& given) {
  return extreme(budget, value, given, 1);
}
Value filter_min(Budget& budget, const Value& value, const Arguments& given) {
  return extreme(budget, value, given, -1);
}

Value filter_sum(Budget& budget, const Value& value, const Arguments& given) {
  given.check("sum", 2, {"attribute", "start"});
  const Value *path = given.get(0, "attribute"), *start = given.get(1, "start");
  Value out = start != nullptr ? *start : Value(int64_t{0});
  const bool by_path = path != nullptr && !path->is_none();
  for (const Value& item : iterate(value, budget)->items) {
    budget.spend(2);
    out = arithmetic("+", out, by_path ? down(budget, item, *path) : item, kMostText, budget);
  }
  return out;
}

Value filter_round(Budget&, const Value& value, const Arguments& given) {
  given.check("round", 2, {"precision", "method"});
  const Value *digits = given.get(0, "precision"), *method = given.get(1, "method");
  const int64_t precision = digits != nullptr ? want_int(*digits, "round") : 0;
  if (precision < 0 || precision > 15) throw Fault("'round' takes a precision of 0 to 15");
  if (!value.is_number()) throw Fault(concat("'round' takes a number, not ", value.kind()));
  const std::string how = method != nullptr ? want_text(*method, "round") : "common";
  if (how == "common") {
    if (!value.is_float()) return value.whole();
    std::array<char, 400> text{};  // digits rounded in decimal, as Python rounds
    std::snprintf(text.data(), text.size(), "%.*f", static_cast<int>(precision), value.number());
    return std::strtod(text.data(), nullptr);
  }
  if (how != "ceil" && how != "floor") throw Fault("'round' takes 'common', 'ceil' or 'floor'");
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double large = value.number() * scale;
  return (how == "ceil" ? std::ceil(large) : std::floor(large)) / scale;
}

Value filter_truncate(Budget& budget, const Value& value, const Arguments& given) {
  given.check("truncate", 4, {"length", "killwords", "end", "leeway"});
  const Value *length = given.get(0, "length"), *kill = given.get(1, "killwords"),
              *end = given.get(2, "end"), *leeway = given.get(3, "leeway");
  const std::string text = str(value, budget), tail = end != nullptr ? str(*end, budget) : "...";
  const int64_t most = length != nullptr ? want_int(*length, "truncate") : 255;
  const bool leeway_given = leeway != nullptr && !leeway->is_none();
  const int64_t more = leeway_given ? want_int(*leeway, "truncate") : 5;
  const auto tail_size = static_cast<int64_t>(utf8_count(tail));
  if (most < tail_size || more < 0) {
    throw Fault("'truncate': length is smaller than that of 'end', or leeway is negative");
  }
  budget.spend_bytes(text.size());
  const auto size = static_cast<int64_t>(utf8_count(text));
  if (size <= more || size - more <= most) return paid_text(budget, text);
  std::string kept = text.substr(0, bytes_of(text, static_cast<size_t>(most - tail_size)));
  const size_t blank = kept.rfind(' ');
  if ((kill == nullptr || !truth(*kill)) && blank != kept.npos) kept.resize(blank);
  return paid_text(budget, kept + tail);
}

Value filter_wordcount(Budget& budget, const Value& value, const Arguments& given) {
  given.check("wordcount", 0);
  const std::string text = str(value, budget);
  budget.spend_bytes(text.size());
  int64_t count = 0;
  bool within = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = utf8_at(text, at);
    const bool word = is_letter(point.value) || is_digit(point.value) || point.value == '_';
    count += word && !within ? 1 : 0;
    within = word;
    at += point.size;
  }
  return count;
}

Value filter_escape(Budget& budget, const Value& value, const Arguments& given) {
  given.check("escape", 0);
  std::string out;
  for (const char c : str(value, budget)) {
    out += c == '&'    ? "&amp;"
           : c == '<'  ? "&lt;"
           : c == '>'  ? "&gt;"
           : c == '\'' ? "&#39;"
           : c == '"'  ? "&#34;"
                       : std::string(1, c);
  }
  return paid_text(budget, std::move(out));
}

Value filter_format(Budget& budget, const Value& value, const Arguments& given) {
  if (!given.values.empty() && !given.named.empty())
    throw Fault("'format' takes values by position or by name, not both");
  Map names;
  for (const auto& [key, one] : given.named) names.set(key, one);
  const Value with = given.named.empty() ? make_list(given.values, true) : make_map(names);
  return paid_text(budget, formatted_by_percent(str(value, budget), with, budget));
}

Value filter_center(Budget& budget, const Value& value, const Arguments& given) {
  given.check("center", 1, {"width"});
  const Value* given_width = given.get(0, "width");
  const int64_t width = given_width != nullptr ? want_int(*given_width, "center") : 80;
  if (width > 1000) throw Fault("'center' takes a width of at most 1000");
  const std::string text = str(value, budget);
  const int64_t lacks = std::max<int64_t>(0, width - static_cast<int64_t>(utf8_count(text)));
  const int64_t left = lacks / 2 + (lacks & width & 1);
  return paid_text(budget, std::string(static_cast<size_t>(left), ' ') + text +
                               std::string(static_cast<size_t>(lacks - left), ' '));
}

}  // namespace syrinx::jinja
