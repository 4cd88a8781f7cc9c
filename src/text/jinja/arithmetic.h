// Python's arithmetic of a template's values: numbers, texts and lists joined by +, texts repeated
// by *. Thread-safe free functions. They throw a Fault for other operands, for integers beyond 64
// bits, and for texts that are too long.
#pragma once

#include <string_view>

#include "text/jinja/value.h"

namespace syrinx::jinja {

/// Computes `a sign b` for + - * / // % **; a repeated text has at most `max_text` bytes.
Value arithmetic(std::string_view sign, const Value& a, const Value& b, size_t max_text,
                 Budget& budget);
/// Computes `+value` and `-value`.
Value with_sign(const Value& value, bool minus);

}  // namespace syrinx::jinja
