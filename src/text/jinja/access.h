// Access to a value of a template: its attributes and items, and parts of it, as Python and Jinja
// find them. Free functions; any thread. A Fault where the value is undefined or has no such thing;
// what may take long is paid for.
#pragma once

#include <array>
#include <string_view>

#include "text/jinja/value.h"

namespace syrinx::jinja {

/// Returns `value.name`; methods are bound to the value.
Value attribute(const Value& value, std::string_view name, Budget& budget);
/// Returns `value[index]`.
Value item(const Value& value, const Value& index, Budget& budget);
/// Returns `value[bounds[0]:bounds[1]:bounds[2]]`; a bound of none is left out.
Value slice(const Value& value, const std::array<Value, 3>& bounds, Budget& budget);
/// Follows a path like "function.name", or gets item `path`. An undefined result becomes `absent`,
/// unless that is null or none.
Value down(Budget& budget, Value value, const Value& path, const Value* absent = nullptr);
/// Returns `value in in`.
bool contains(const Value& value, const Value& in, Budget& budget);

}  // namespace syrinx::jinja
