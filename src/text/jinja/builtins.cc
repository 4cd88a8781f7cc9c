#include "text/jinja/builtins.h"

#include <array>

#include "base/check.h"
#include "text/jinja/access.h"
#include "text/jinja/calls.h"
#include "text/jinja/operations.h"

namespace syrinx::jinja {
namespace {

bool test_defined(Budget&, const Value& v, const Arguments&) { return !v.is_undefined(); }
bool test_undefined(Budget&, const Value& v, const Arguments&) { return v.is_undefined(); }
bool test_none(Budget&, const Value& v, const Arguments&) { return v.is_none(); }
bool test_string(Budget&, const Value& v, const Arguments&) { return v.is_text(); }
bool test_mapping(Budget&, const Value& v, const Arguments&) { return v.is_map(); }
bool test_iterable(Budget&, const Value& v, const Arguments&) {
  return v.is_text() || v.is_list() || v.is_map() || v.is_undefined();
}
bool test_number(Budget&, const Value& v, const Arguments&) { return v.is_number(); }
bool test_integer(Budget&, const Value& v, const Arguments&) { return v.is_int(); }
bool test_float(Budget&, const Value& v, const Arguments&) { return v.is_float(); }
bool test_boolean(Budget&, const Value& v, const Arguments&) { return v.is_bool(); }
bool test_true(Budget&, const Value& v, const Arguments&) { return v.is_bool() && v.flag(); }
bool test_false(Budget&, const Value& v, const Arguments&) { return v.is_bool() && !v.flag(); }
bool test_callable(Budget&, const Value& v, const Arguments&) { return v.is_callable(); }
bool test_eq(Budget& budget, const Value& v, const Arguments& given) {
  return equal(v, want_other(given), budget);
}
/// Returns whether two values are the same object in Python. For texts, numbers and other plain
/// values: whether they are equal and of one type.
bool test_same(Budget& budget, const Value& v, const Arguments& given) {
  const Value& with = want_other(given);
  return std::string_view(v.kind()) == with.kind() && equal(v, with, budget);
}
bool test_ne(Budget& budget, const Value& v, const Arguments& given) {
  return !equal(v, want_other(given), budget);
}
bool test_lt(Budget& budget, const Value& v, const Arguments& given) {
  return compare(v, want_other(given), budget) < 0;
}
bool test_le(Budget& budget, const Value& v, const Arguments& given) {
  return compare(v, want_other(given), budget) <= 0;
}
bool test_gt(Budget& budget, const Value& v, const Arguments& given) {
  return compare(v, want_other(given), budget) > 0;
}
bool test_ge(Budget& budget, const Value& v, const Arguments& given) {
  return compare(v, want_other(given), budget) >= 0;
}
bool test_in(Budget& budget, const Value& v, const Arguments& given) {
  return contains(v, want_other(given), budget);
}
int64_t rest_of(const Value& v, int64_t by) {
  if (!v.is_int() && !v.is_bool()) throw Fault("odd, even and divisibleby take an int");
  if (by == 0) throw Fault("divides by zero");
  return by == -1 ? 0 : v.whole() % by;
}
bool test_odd(Budget&, const Value& v, const Arguments&) { return rest_of(v, 2) != 0; }
bool test_even(Budget&, const Value& v, const Arguments&) { return rest_of(v, 2) == 0; }
bool test_divisibleby(Budget&, const Value& v, const Arguments& given) {
  return rest_of(v, want_int(want_other(given), "divisibleby")) == 0;
}

struct TestRow {
  std::string_view name;
  Test test;
};
constexpr std::array<TestRow, 34> kTests{{
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
    {"!=", test_ne},
    {"<", test_lt},
    {"<=", test_le},
    {">", test_gt},
    {">=", test_ge},
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

Test find_test(std::string_view name) {
  const TestRow* row = find_row(kTests, name);
  return row == nullptr ? nullptr : row->test;
}

Global find_global(std::string_view name) {
  const GlobalRow* row = find_row(kGlobals, name);
  return row == nullptr ? Global::kNone : row->global;
}

}  // namespace syrinx::jinja
