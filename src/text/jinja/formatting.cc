#include "text/jinja/formatting.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/check.h"
#include "text/jinja/operations.h"
#include "text/utf8.h"

namespace syrinx::jinja {
namespace {

constexpr int kMostWidth = 1000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The format of one value, for % and for format().
struct Spec {
  std::string fill = " ";
  char align = 0;   // one of < > = ^; 0: the type of the value decides
  char sign = '-';  // + or a space is written before numbers >= 0; - writes nothing
  bool alternate = false;
  char group = 0;  // separator of groups of digits: , or _
  int width = 0, precision = -1;
  char type = 0;
};

/// Reads digits at `at` and moves `at` after them. Returns -1 if `at` is not a digit.
int read_number(std::string_view text, size_t& at) {
  int out = -1;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    out = std::max(out, 0) * 10 + (text[at] - '0');
    if (out > kMostWidth) throw Fault("a width of a format is too large");
  }
  return out;
}

/// Separates groups of `size` digits, counted from the right.
std::string grouped(std::string_view digits, char mark, size_t size) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % size == 0) out += mark;
    out += digits[i];
  }
  return out;
}

/// Returns `head` (sign and prefix) and `body`, padded to the width.
std::string padded(const std::string& head, const std::string& body, const Spec& spec, char usual) {
  const size_t size = utf8_count(head) + utf8_count(body);
  const size_t lacks = static_cast<size_t>(spec.width) > size ? spec.width - size : 0;
  const char align = spec.align != 0 ? spec.align : usual;
  const size_t left = align == '^' ? lacks / 2 : align == '<' ? 0 : lacks;
  std::string before, behind;
  for (size_t i = 0; i < lacks; ++i) (i < left ? before : behind) += spec.fill;
  return align == '=' ? head + before + body : before + head + body + behind;
}

std::string sign_of(bool negative, const Spec& spec) {
  return negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::string whole_text(int64_t value, const Spec& spec) {
  const auto bits = static_cast<uint64_t>(value);
  const uint64_t size = value < 0 ? ~bits + 1 : bits;
  const int base = spec.type == 'x' || spec.type == 'X' ? 16
                   : spec.type == 'o'                   ? 8
                   : spec.type == 'b'                   ? 2
                                                        : 10;
  std::array<char, 72> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), size, base).ptr;
  std::string digits(buffer.data(), end);
  std::string head = sign_of(value < 0, spec);
  if (spec.alternate && base != 10) head += base == 16 ? "0x" : base == 8 ? "0o" : "0b";
  if (spec.type == 'X') {
    for (std::string* part : {&digits, &head})
      for (char& c : *part) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  }
  if (spec.precision > std::ssize(digits))
    digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
  if (spec.group != 0) digits = grouped(digits, spec.group, base == 10 ? 3 : 4);
  return padded(head, digits, spec, '>');
}

std::string real_text(double value, const Spec& spec) {
  const char type = spec.type == '%' ? 'f' : spec.type == 'F' ? 'f' : spec.type;
  const std::string how = concat(spec.alternate ? "%#.*" : "%.*", std::string(1, type));
  const double size = std::fabs(spec.type == '%' ? value * 100 : value);
  std::array<char, kMostWidth + 400> buffer{};
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  std::snprintf(buffer.data(), buffer.size(), how.c_str(), precision, size);
  std::string digits = buffer.data();
  const size_t point = std::min(digits.find_first_not_of("0123456789"), digits.size());
  if (spec.group != 0)
    digits =
        grouped(std::string_view(digits).substr(0, point), spec.group, 3) + digits.substr(point);
  if (spec.type == '%') digits += '%';
  return padded(sign_of(std::signbit(value), spec), digits, spec, '>');
}

std::string cut_text(std::string text, const Spec& spec) {
  if (spec.precision >= 0) {
    size_t at = 0;
    for (int i = 0; i < spec.precision && at < text.size(); ++i) at += utf8_at(text, at).size;
    text.resize(at);
  }
  return padded("", text, spec, '<');
}

bool is_in(std::string_view all, char c) { return all.find(c) != all.npos; }
bool is_real_type(char type) { return is_in("eEfFgG%", type); }
bool is_whole_type(char type) { return is_in("dxXob", type); }

// Formatting with %

/// Reads "-5.2f" of "%-5.2f" at `at`, and moves `at` after it.
Spec percent_spec(const std::string& text, size_t& at) {
  Spec spec;
  spec.align = '>';
  bool left = false, zeros = false;
  for (; at < text.size(); ++at) {
    if (text[at] == '-')
      left = true;
    else if (text[at] == '0')
      zeros = true;
    else if (text[at] == '+')
      spec.sign = '+';
    else if (text[at] == ' ')
      spec.sign = spec.sign == '+' ? '+' : ' ';
    else if (text[at] == '#')
      spec.alternate = true;
    else
      break;
  }
  spec.width = std::max(read_number(text, at), 0);
  if (at < text.size() && text[at] == '.') spec.precision = std::max(read_number(text, ++at), 0);
  while (at < text.size() && (text[at] == 'l' || text[at] == 'h' || text[at] == 'L')) ++at;
  if (at == text.size()) throw Fault("a format is not complete");
  spec.type = text[at++];
  if (left) spec.align = '<';
  const bool number =
      is_real_type(spec.type) || is_whole_type(spec.type) || spec.type == 'i' || spec.type == 'u';
  if (zeros && !left && number) spec.align = '=', spec.fill = "0";
  return spec;
}

std::string percent_value(const Value& value, Spec spec, Budget& budget) {
  if (spec.type == 's') return cut_text(str(value, budget), spec);
  if (spec.type == 'r' || spec.type == 'a') return cut_text(repr(value, budget), spec);
  if (spec.type == 'c' && value.is_text() && utf8_count(value.text()) == 1)
    return cut_text(value.text(), spec);
  if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
  if (is_real_type(spec.type) || is_whole_type(spec.type)) {
    if (!value.is_number())
      throw Fault(concat("%", std::string(1, spec.type), " takes a number, not ", value.kind()));
    if (is_real_type(spec.type)) return real_text(value.number(), spec);
    if (!value.is_float()) return whole_text(value.whole(), spec);
    if (spec.type == 'd' && std::fabs(value.number()) < 9e18)
      return whole_text(static_cast<int64_t>(value.number()), spec);
  }
  throw Fault(concat("the format '%", std::string(1, spec.type), "' of a ", value.kind(),
                     " is not supported"));
}

// Formatting with format()

/// Reads a specification like "*^10.2f".
Spec field_spec(std::string_view text) {
  Spec spec;
  size_t at = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  const size_t first = text.empty() ? 0 : utf8_at(text, 0).size;
  if (first > 0 && first < text.size() && is_align(text[first])) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    at = first + 1;
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[at++];
  }
  const auto skip = [&](std::string_view any) {
    return at < text.size() && any.find(text[at]) != any.npos ? text[at++] : '\0';
  };
  if (const char sign = skip("+- ")) spec.sign = sign;
  spec.alternate = skip("#") != 0;
  if (skip("0") != 0 && spec.align == 0) spec.align = '=', spec.fill = "0";
  spec.width = std::max(read_number(text, at), 0);
  spec.group = skip(",_");
  if (skip(".") != 0 && (spec.precision = read_number(text, at)) < 0)
    throw Fault("a format lacks its precision");
  spec.type = skip("sdxXobeEfFgGn%c");
  if (at != text.size())
    throw Fault(concat("the format '", text.substr(0, 50), "' is not supported"));
  return spec;
}

std::string field_value(const Value& value, std::string_view how, Budget& budget) {
  if (how.empty()) return str(value, budget);
  const Spec spec = field_spec(how);
  if (value.is_text()) {
    if ((spec.type != 0 && spec.type != 's') || spec.align == '=')
      throw Fault(concat("the format '", how.substr(0, 50), "' of a str is not supported"));
    return cut_text(value.text(), spec);
  }
  if (value.is_number() && !value.is_bool()) {
    if (is_real_type(spec.type)) return real_text(value.number(), spec);
    Spec whole = spec;
    if (whole.type == 0) whole.type = 'd';
    if (value.is_int() && is_whole_type(whole.type) && spec.precision < 0)
      return whole_text(value.whole(), whole);
    if (value.is_float() && spec.type == 0 && spec.precision < 0 && spec.group == 0)
      return padded(sign_of(std::signbit(value.number()), spec),
                    str(Value(std::fabs(value.number())), budget), spec, '>');
  }
  throw Fault(
      concat("the format '", how.substr(0, 50), "' of a ", value.kind(), " is not supported"));
}

}  // namespace

std::string formatted_by_percent(const std::string& text, const Value& with, Budget& budget) {
  budget.spend_bytes(text.size());
  const bool several = with.is_list() && with.list()->tuple;
  const size_t given = several ? with.items().size() : 1;
  size_t used = 0;
  bool named = false;
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t sign = std::min(text.find('%', at), text.size());
    out.append(text, at, sign - at);
    if (sign == text.size()) break;
    at = sign + 1;
    Value value = with;
    bool by_name = false;
    if (at < text.size() && text[at] == '(') {
      const size_t close = text.find(')', at);
      if (close == text.npos || !with.is_map()) throw Fault("a format with names takes a dict");
      const std::string name = text.substr(at + 1, close - at - 1);
      const Value* found = with.map().find(name);
      if (found == nullptr) throw Fault(concat("the dict lacks '", name.substr(0, 100), "'"));
      value = *found;
      by_name = named = true;
      at = close + 1;
    }
    const Spec spec = percent_spec(text, at);
    if (spec.type == '%') {
      out += '%';
      continue;
    }
    if (!by_name) {
      if (used == given) throw Fault("a format has more fields than values");
      if (several) value = with.items()[used];
      ++used;
    }
    const std::string piece = percent_value(value, spec, budget);
    budget.spend_bytes(piece.size());
    out += piece;
  }
  if (used < given && !named && !with.is_map())
    throw Fault("a format has fewer fields than values");
  return out;
}

std::string formatted_by_fields(const std::string& text, const Arguments& given, Budget& budget) {
  budget.spend_bytes(text.size());
  std::string out;
  size_t next = 0;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if ((c == '{' || c == '}') && at + 1 < text.size() && text[at + 1] == c) {
      out += c;
      at += 2;
      continue;
    }
    if (c == '}') throw Fault("a single '}' in a format");
    if (c != '{') {
      out += c;
      ++at;
      continue;
    }
    const std::string_view rest = std::string_view(text).substr(at + 1);
    const std::string_view field = rest.substr(0, rest.find('}'));
    if (field.size() == rest.size()) throw Fault("a single '{' in a format");
    if (field.find('{') != field.npos) throw Fault("a format within a format is not supported");
    const size_t colon = std::min(field.find(':'), field.size());
    const std::string_view how = field.substr(std::min(colon + 1, field.size()));
    std::string_view name = field.substr(0, colon);
    const size_t mark = std::min(name.find('!'), name.size());
    const std::string_view conversion = name.substr(mark);
    name = name.substr(0, mark);
    if (name.find_first_of(".[") != name.npos)
      throw Fault("attributes and items in a format are not supported");
    const bool numbered = !name.empty() && std::all_of(name.begin(), name.end(), is_digit);
    size_t place = next, digits = 0;
    if (numbered) place = static_cast<size_t>(read_number(name, digits));
    if (name.empty()) ++next;
    const Value* value = nullptr;
    if (name.empty() || numbered) {
      if (place < given.values.size()) value = &given.values[place];
    } else {
      value = given.get(given.values.size(), name);
    }
    if (value == nullptr) throw Fault(concat("format() lacks '", name.substr(0, 100), "'"));
    if (!conversion.empty() && conversion != "!r" && conversion != "!s")
      throw Fault(concat("the conversion '", conversion.substr(0, 20), "' is not supported"));
    Value shown_value = *value;
    if (conversion == "!r") shown_value = repr(*value, budget);
    if (conversion == "!s") shown_value = str(*value, budget);
    const std::string piece = field_value(shown_value, how, budget);
    budget.spend_bytes(piece.size());
    out += piece;
    at += field.size() + 2;
  }
  return out;
}

}  // namespace syrinx::jinja
