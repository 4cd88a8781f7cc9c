// Python's operations on texts and lists for filters, tests and methods, and checks of the types of
// arguments: another type throws a Fault. Thread-safe free functions. Work that grows with the data
// is subtracted from the Budget.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/ast.h"

namespace syrinx::jinja {

/// Returns the row of that name, or null if the table has no such row.
template <typename Entry, size_t N>
const Entry* find_row(const std::array<Entry, N>& table, std::string_view name) {
  const auto at = std::find_if(table.begin(), table.end(),
                               [&](const Entry& entry) { return entry.name == name; });
  return at == table.end() ? nullptr : &*at;
}

/// Returns the text of a value. For another type, throws the Fault "'FUNCTION' takes a str".
const std::string& want_text(const Value& value, std::string_view function);
/// Returns the int of a value; for another type throws a Fault that names the function.
int64_t want_int(const Value& value, std::string_view function);
/// Returns the first argument, with which a test compares its value.
const Value& want_other(const Arguments& given);

/// Throws a Fault that names the value if the value is undefined.
void want_defined(const Value& value);

/// Makes a text, and subtracts its size from the Budget.
Value paid_text(Budget& budget, std::string text);
/// Makes a list, and subtracts its number of items from the Budget.
Value paid_list(Budget& budget, std::vector<Value> items, bool tuple = false);

/// Computes Python's str.upper().
std::string upper(std::string_view text);
/// Computes Python's str.lower().
std::string lower(std::string_view text);
/// Changes the first letter of the text or, with `words`, of each word to upper case, and the other
/// letters to lower case.
std::string capitalized(std::string_view text, bool words);
/// Computes Python's str.isspace() of one code point.
bool is_blank_point(char32_t code);
/// Removes white space, or the characters of `chars`, from the ends of a text.
std::string_view stripped(std::string_view text, const std::string* chars, bool left, bool right);
/// Splits at `by` into at most `most` parts; a negative `most` sets no limit.
std::vector<Value> split_by(std::string_view text, std::string_view by, int64_t most);
/// Computes Python's str.splitlines(); returns views of the text.
std::vector<std::string_view> lines_of(std::string_view text);
/// Replaces `from` by `to` at most `most` times; a negative `most` sets no limit.
std::string replaced(Budget& budget, std::string_view text, std::string_view from,
                     std::string_view to, int64_t most);
/// Joins the items' texts with `between`, and subtracts the size from the Budget.
std::string joined(Budget& budget, const std::vector<Value>& items, std::string_view between);
/// Returns a tuple (key, value) for each entry.
std::vector<Value> items_of(Budget& budget, const Map& map);

}  // namespace syrinx::jinja
