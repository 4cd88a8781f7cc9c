// Python's `text % values` and `text.format(...)`. Thread-safe free functions. They throw a Fault
// for Python's errors and for unsupported formats: widths over 1000, and in format() attributes or
// items after a name.
#pragma once

#include <string>

#include "text/jinja/calls.h"
#include "text/jinja/value.h"

namespace syrinx::jinja {

/// Computes `text % with`. A tuple holds a value for each conversion; a dict holds values by name.
/// Any other `with` is the only value. Conversions: s r a d i u f F e E g G x X o c %.
std::string formatted_by_percent(const std::string& text, const Value& with, Budget& budget);
/// Computes `text.format(given)`. Fields: {}, {0}, {name}, each with !r or !s and a specification
/// of fill, alignment, sign, #, 0, width, "," or "_", precision and type.
std::string formatted_by_fields(const std::string& text, const Arguments& given, Budget& budget);

}  // namespace syrinx::jinja
