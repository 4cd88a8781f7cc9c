// Finds attributes, items and parts of a template's values, as Python and Jinja do. The functions
// are thread-safe. They throw a Fault if the value is undefined or lacks the attribute or item.
// Work that grows with the data is subtracted from the Budget.
#pragma once

#include <array>
#include <string_view>

#include "text/jinja/value.h"

namespace syrinx::jinja {

/// Returns `value.name`; methods are bound to the value.
Value attribute(const Value& value, std::string_view name, Budget& budget);
/// Returns `value[index]`.
Value item(const Value& value, const Value& index, Budget& budget);
/// Returns `value[bounds[0]:bounds[1]:bounds[2]]`; each bound may be the value `none`.
Value slice(const Value& value, const std::array<Value, 3>& bounds, Budget& budget);
/// Follows a path like "function.name"; if `path` is an int, returns that item. Replaces an
/// undefined result by `absent`, unless `absent` is null or none.
Value down(Budget& budget, Value value, const Value& path, const Value* absent = nullptr);
/// Returns the result of Python's `value in in`.
bool contains(const Value& value, const Value& in, Budget& budget);

}  // namespace syrinx::jinja
