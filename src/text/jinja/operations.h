// What filters, tests and methods of templates do with texts and lists, as Python does it, and how
// they ask for what they are given: a Fault where that is of another type. Free functions; any
// thread. What may take long is paid for.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/ast.h"

namespace syrinx::jinja {

/// The row of that name; null: there is none.
template <typename Entry, size_t N>
const Entry* find_row(const std::array<Entry, N>& table, std::string_view name) {
  const auto at = std::find_if(table.begin(), table.end(),
                               [&](const Entry& entry) { return entry.name == name; });
  return at == table.end() ? nullptr : &*at;
}

/// "'FUNCTION' takes a str".
const std::string& want_text(const Value& value, std::string_view function);
/// The int of a value, or a Fault that names the function.
int64_t want_int(const Value& value, std::string_view function);
/// The first argument, to compare with.
const Value& want_other(const Arguments& given);

/// A Fault that names what is undefined.
void want_defined(const Value& value);

/// New values, paid for by their size.
Value paid_text(Budget& budget, std::string text);
/// A list, paid for by its number of items.
Value paid_list(Budget& budget, std::vector<Value> items, bool tuple = false);

/// Python's str.upper().
std::string upper(std::string_view text);
/// Python's str.lower().
std::string lower(std::string_view text);
/// The first letter of the text or, with `words`, of each of its words is upper case, others lower.
std::string capitalized(std::string_view text, bool words);
/// Python's str.isspace() of one code point.
bool is_blank_point(char32_t code);
/// The text without white space, or the characters of `chars`, at its ends.
std::string_view stripped(std::string_view text, const std::string* chars, bool left, bool right);
/// Splits at `by` into at most `most` parts; < 0: all.
std::vector<Value> split_by(std::string_view text, std::string_view by, int64_t most);
/// Python's str.splitlines(); views of the text.
std::vector<std::string_view> lines_of(std::string_view text);
/// Replaces at most the given number of times; < 0: everywhere.
std::string replaced(Budget& budget, std::string_view text, std::string_view from,
                     std::string_view to, int64_t most);
/// The items' texts with `between` between them; paid for by size.
std::string joined(Budget& budget, const std::vector<Value>& items, std::string_view between);
/// (key, value) of each.
std::vector<Value> items_of(Budget& budget, const Map& map);

}  // namespace syrinx::jinja
