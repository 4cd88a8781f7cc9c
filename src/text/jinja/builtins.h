// Filters, tests, functions and the methods of values that templates may use. Tables of free
// functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/ast.h"

namespace syrinx::jinja {

std::string unknown_filter(std::string_view name);
/// Null: there is no such thing here.
Filter find_filter(std::string_view name);
/// The test of that name; null: there is none.
Test find_test(std::string_view name);

/// A function that every template knows, by its name.
enum class Global { kNone, kRaise, kStrftimeNow, kNamespace, kRange, kDict };
/// The global function of that name; kNone: there is none.
Global find_global(std::string_view name);

/// Whether values of any kind have that method.
bool is_method(std::string_view name);
/// Whether a value of this kind has that method.
bool has_method(const Value& self, std::string_view name);
/// Calls a method that has_method(); throws a Fault for wrong arguments.
Value call_method(Budget& budget, const Value& self, std::string_view name,
                  const Arguments& arguments);

}  // namespace syrinx::jinja
