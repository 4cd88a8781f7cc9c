#include "text/jinja/arithmetic.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "text/jinja/formatting.h"
#include "text/jinja/operations.h"

namespace syrinx::jinja {
namespace {

/// Throws the Fault for operands that do not support this operation.
[[noreturn]] void fail_operands(std::string_view sign, const Value& a, const Value& b) {
  want_defined(a);
  want_defined(b);
  throw Fault(concat("cannot compute ", a.kind(), " ", sign, " ", b.kind()));
}

/// Computes + - * // % of two floats, rounded as in Python.
double of_floats(std::string_view sign, double x, double y) {
  if (sign == "+") return x + y;
  if (sign == "-") return x - y;
  if (sign == "*") return x * y;
  if (sign == "//") return std::floor(x / y);
  const double rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/// Computes + - * // % of two ints.
int64_t of_ints(std::string_view sign, int64_t x, int64_t y) {
  int64_t out = 0;
  bool overflow = false;
  if (sign == "+") overflow = __builtin_add_overflow(x, y, &out);
  if (sign == "-") overflow = __builtin_sub_overflow(x, y, &out);
  if (sign == "*") overflow = __builtin_mul_overflow(x, y, &out);
  if (sign == "//" || sign == "%") {
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

}  // namespace

Value arithmetic(std::string_view sign, const Value& a, const Value& b, size_t max_text,
                 Budget& budget) {
  if (sign == "+" && a.is_text() && b.is_text()) return paid_text(budget, a.text() + b.text());
  if (sign == "+" && a.is_list() && b.is_list() && a.list()->tuple == b.list()->tuple) {
    std::vector<Value> items = a.items();
    items.insert(items.end(), b.items().begin(), b.items().end());
    return paid_list(budget, std::move(items), a.list()->tuple);
  }
  if (sign == "*" && (a.is_text() || b.is_text()) && (a.is_int() || b.is_int())) {
    const std::string& part = a.is_text() ? a.text() : b.text();
    const int64_t times = std::max<int64_t>(0, a.is_int() ? a.integer() : b.integer());
    if (!part.empty() && times > static_cast<int64_t>(max_text / part.size()))
      throw Fault("the repeated text would be too long");
    std::string out;
    for (int64_t i = 0; i < times && !part.empty(); ++i) out += part;
    return paid_text(budget, std::move(out));
  }
  if (sign == "%" && a.is_text())
    return paid_text(budget, formatted_by_percent(a.text(), b, budget));
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
  if (a.is_float() || b.is_float()) return of_floats(sign, a.number(), b.number());
  return of_ints(sign, a.whole(), b.whole());
}

Value with_sign(const Value& value, bool minus) {
  want_defined(value);
  if (!value.is_number()) throw Fault(concat("cannot take the sign of a ", value.kind()));
  if (value.is_float()) return minus ? -value.number() : value.number();
  if (minus && value.whole() == INT64_MIN) throw Fault("a number is too large");
  return minus ? -value.whole() : value.whole();
}

}  // namespace syrinx::jinja
