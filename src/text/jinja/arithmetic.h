// Python's arithmetic of a template's values: numbers; texts and lists joined by +; texts repeated
// by *. Free functions; any thread. A Fault where there is no such thing, where a number leaves 64
// bits, and where a text would be too long.
#pragma once

#include <string_view>

#include "text/jinja/value.h"

namespace syrinx::jinja {

/// `a sign b`, for + - * / // % **; a text that is repeated has at most `max_text` bytes.
Value arithmetic(std::string_view sign, const Value& a, const Value& b, size_t max_text,
                 Budget& budget);
/// `+value` and `-value`.
Value with_sign(const Value& value, bool minus);

}  // namespace syrinx::jinja
