// Texts with values put into them, as Python does it: `text % values` and `text.format(...)`. Free
// functions; any thread. A Fault for what Python raises an error for and for what is not supported:
// widths over 1000, and in format() attributes and items behind names.
#pragma once

#include <string>

#include "text/jinja/calls.h"
#include "text/jinja/value.h"

namespace syrinx::jinja {

/// `text % with`: a tuple has a value for each place, a dict those of named places, anything else is
/// the only value. Conversions: s r a d i u f F e E g G x X o c %.
std::string formatted_by_percent(const std::string& text, const Value& with, Budget& budget);
/// `text.format(given)`: fields {}, {0}, {name}, each with !r or !s and a specification of fill,
/// alignment, sign, #, 0, width, "," or "_", precision and type.
std::string formatted_by_fields(const std::string& text, const Arguments& given, Budget& budget);

}  // namespace syrinx::jinja
