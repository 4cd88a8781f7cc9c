// Tables of the filters, tests, functions and methods that templates may use. All functions are
// thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/ast.h"

namespace syrinx::jinja {

std::string unknown_filter(std::string_view name);
/// Returns the filter of that name, or null for an unknown name.
Filter find_filter(std::string_view name);
/// Returns the test of that name, or null for an unknown name.
Test find_test(std::string_view name);

/// The functions that every template has.
enum class Global { kNone, kRaise, kStrftimeNow, kNamespace, kRange, kDict };
/// Returns the function of that name, or kNone for an unknown name.
Global find_global(std::string_view name);

/// Returns whether any kind of value has that method.
bool is_method(std::string_view name);
/// Returns whether a value of this kind has that method.
bool has_method(const Value& self, std::string_view name);
/// Calls a method for which has_method() is true; throws a Fault for wrong arguments.
Value call_method(Budget& budget, const Value& self, std::string_view name,
                  const Arguments& arguments);

}  // namespace syrinx::jinja
