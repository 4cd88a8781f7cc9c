#include "text/jinja/operations.h"

#include <utf8proc.h>

#include "base/check.h"
#include "text/jinja/calls.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::jinja {
namespace {

char32_t upper_of(char32_t code) {
  return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code)));
}
char32_t lower_of(char32_t code) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}

/// Replaces each code point by map(code, begins). `begins`: the code point is the first of the text
/// or, with `words`, the first of a word.
template <typename MapPoint>
std::string map_points(std::string_view text, bool words, MapPoint map) {
  std::string out;
  bool begins = true;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = utf8_at(text, at);
    utf8_append(out, map(point.value, begins));
    begins = words && !is_letter(point.value);
    at += point.size;
  }
  return out;
}

}  // namespace

std::string upper(std::string_view text) {
  return map_points(text, false, [](char32_t c, bool) { return upper_of(c); });
}
std::string lower(std::string_view text) {
  return map_points(text, false, [](char32_t c, bool) { return lower_of(c); });
}
std::string capitalized(std::string_view text, bool words) {
  return map_points(text, words,
                    [](char32_t c, bool begins) { return begins ? upper_of(c) : lower_of(c); });
}

const std::string& want_text(const Value& value, std::string_view function) {
  if (!value.is_text()) throw Fault(concat("'", function, "' takes a str, not ", value.kind()));
  return value.text();
}

int64_t want_int(const Value& value, std::string_view function) {
  if (!value.is_int() && !value.is_bool())
    throw Fault(concat("'", function, "' takes an int, not ", value.kind()));
  return value.whole();
}

void want_defined(const Value& value) {
  if (!value.is_undefined()) return;
  const auto& name = value.missing().name;
  throw Fault(name ? concat("'", *name, "' is undefined") : "a value is undefined");
}

Value paid_text(Budget& budget, std::string text) {
  budget.spend_bytes(text.size());
  return Value(std::move(text));
}
Value paid_list(Budget& budget, std::vector<Value> items, bool tuple) {
  budget.spend(4 * items.size());
  return make_list(std::move(items), tuple);
}

std::vector<Value> split_by(std::string_view text, std::string_view by, int64_t most) {
  std::vector<Value> out;
  for (;;) {
    const bool more = most < 0 || static_cast<int64_t>(out.size()) < most;
    const size_t at = more ? text.find(by) : text.npos;
    out.emplace_back(text.substr(0, at));
    if (at == text.npos) return out;
    text.remove_prefix(at + by.size());
  }
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = text.find_first_of("\r\n\v\f\x1c\x1d\x1e");
    out.push_back(text.substr(0, end));
    if (end == text.npos) break;
    const bool both = text[end] == '\r' && end + 1 < text.size() && text[end + 1] == '\n';
    text.remove_prefix(end + (both ? 2 : 1));
  }
  return out;
}

std::string replaced(Budget& budget, std::string_view text, std::string_view from,
                     std::string_view to, int64_t most) {
  if (from.empty()) throw Fault("'replace' of an empty text is not supported");
  budget.spend_bytes(text.size() * (1 + from.size() / 64));
  std::string out;
  for (int64_t done = 0;; ++done) {
    const size_t at = most >= 0 && done >= most ? text.npos : text.find(from);
    out += text.substr(0, at);
    if (at == text.npos) return out;
    budget.spend_bytes(to.size() + 8);
    out += to;
    text.remove_prefix(at + from.size());
  }
}

std::string joined(Budget& budget, const std::vector<Value>& items, std::string_view between) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += between;
    budget.spend(1 + between.size() / 8);
    out += str(items[i], budget);
  }
  return out;
}

const Value& want_other(const Arguments& given) {
  if (given.values.empty()) throw Fault("a test lacks its argument");
  return given.values[0];
}

std::vector<Value> items_of(Budget& budget, const Map& map) {
  budget.spend(6 * map.entries().size());
  std::vector<Value> out;
  for (const auto& [key, value] : map.entries())
    out.push_back(make_list({Value(key), value}, true));
  return out;
}

/// Computes Python's str.isspace() of one code point.
bool is_blank_point(char32_t code) { return is_space(code) || (code >= 0x1c && code <= 0x1f); }

std::string_view stripped(std::string_view text, const std::string* chars, bool left, bool right) {
  const auto goes = [&](char32_t code) {
    if (chars == nullptr) return is_blank_point(code);
    for (size_t at = 0; at < chars->size();) {
      const CodePoint point = utf8_at(*chars, at);
      if (point.value == code) return true;
      at += point.size;
    }
    return false;
  };
  while (left && !text.empty()) {
    const CodePoint point = utf8_at(text, 0);
    if (!goes(point.value)) break;
    text.remove_prefix(point.size);
  }
  while (right && !text.empty()) {
    const CodePoint point = utf8_before(text, text.size());
    if (!goes(point.value)) break;
    text.remove_suffix(point.size);
  }
  return text;
}

}  // namespace syrinx::jinja
