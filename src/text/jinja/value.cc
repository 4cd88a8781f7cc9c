#include "text/jinja/value.h"

#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/check.h"
#include "text/jinja/calls.h"
#include "text/utf8.h"

namespace syrinx::jinja {
namespace {

constexpr char kHex[] = "0123456789abcdef";

int deepest(const std::vector<Value>& items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return depth + 1;
}

void check_depth(int depth) {
  if (depth > kMaxDepth) throw Fault(concat("values are nested deeper than ", kMaxDepth));
}

/// Returns the shortest digits that parse to the same number, as Python prints floats.
std::string float_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char digits[64];
  const char* end =
      std::to_chars(digits, digits + sizeof digits, number, std::chars_format::scientific).ptr;
  const std::string_view scientific(digits, static_cast<size_t>(end - digits));
  const size_t e = scientific.find('e');
  int power = 0;
  const char* exponent = digits + e + 1;
  std::from_chars(*exponent == '+' ? exponent + 1 : exponent, end, power);
  if (power < -4 || power >= 16) return std::string(scientific);
  end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed).ptr;
  std::string fixed(digits, static_cast<size_t>(end - digits));
  if (fixed.find('.') == fixed.npos) fixed += ".0";
  return fixed;
}

bool printable(char32_t code) {
  if (code == ' ') return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

void add_hex(std::string& out, const char* prefix, char32_t code, int digits) {
  out += prefix;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += kHex[code >> shift & 15];
}

std::string in_quotes(std::string_view text) {
  const bool single = text.find('\'') == text.npos || text.find('"') != text.npos;
  const char quote = single ? '\'' : '"';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = utf8_at(text, at);
    const char32_t code = point.value;
    if (code == '\\' || code == static_cast<char32_t>(quote)) {
      out += '\\';
      out += static_cast<char>(code);
    } else if (code == '\n') {
      out += "\\n";
    } else if (code == '\r') {
      out += "\\r";
    } else if (code == '\t') {
      out += "\\t";
    } else if (printable(code)) {
      out.append(text, at, point.size);
    } else if (code < 0x100) {
      add_hex(out, "\\x", code, 2);
    } else if (code < 0x10000) {
      add_hex(out, "\\u", code, 4);
    } else {
      add_hex(out, "\\U", code, 8);
    }
    at += point.size;
  }
  return out + quote;
}

void write_repr(const Value& value, std::string& out, Budget& budget) {
  budget.spend(1);
  if (value.is_text()) {
    budget.spend_bytes(value.text().size());
    out += in_quotes(value.text());
  } else if (value.is_list()) {
    const List& list = *value.list();
    out += list.tuple ? '(' : '[';
    for (size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) out += ", ";
      write_repr(list.items[i], out, budget);
    }
    if (list.tuple && list.items.size() == 1) out += ',';
    out += list.tuple ? ')' : ']';
  } else if (value.is_map()) {
    out += '{';
    bool first = true;
    for (const auto& [key, item] : value.map().entries()) {
      if (!first) out += ", ";
      first = false;
      budget.spend_bytes(key.size());
      out += in_quotes(key) + ": ";
      write_repr(item, out, budget);
    }
    out += '}';
  } else if (value.is_undefined()) {
    out += "Undefined";
  } else {
    out += str(value, budget);
  }
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, Budget& budget) : style_(style), budget_(budget) {}
  std::string take() { return std::move(out_); }

  void write(const Value& value, int depth) {
    budget_.spend(1);
    if (value.is_none()) {
      out_ += "null";
    } else if (value.is_bool()) {
      out_ += value.flag() ? "true" : "false";
    } else if (value.is_int()) {
      out_ += std::to_string(value.integer());
    } else if (value.is_float()) {
      const double number = value.number();
      if (std::isnan(number)) {
        out_ += "NaN";
      } else if (std::isinf(number)) {
        out_ += number < 0 ? "-Infinity" : "Infinity";
      } else {
        out_ += float_text(number);
      }
    } else if (value.is_text()) {
      write_text(value.text());
    } else if (value.is_list()) {
      write_items('[', ']', value.items(), depth,
                  [&](const Value& item) { write(item, depth + 1); });
    } else if (value.is_map()) {
      write_map(value.map(), depth);
    } else {
      throw Fault(concat("cannot make JSON of ",
                         value.is_undefined() ? "an undefined value" : value.kind()));
    }
  }

 private:
  void write_map(const Map& map, int depth) {
    const auto write_entry = [&](const std::pair<std::string, Value>& entry) {
      write_text(entry.first);
      out_ += style_.after_key;
      write(entry.second, depth + 1);
    };
    if (!style_.sort_keys) return write_items('{', '}', map.entries(), depth, write_entry);
    auto entries = map.entries();
    budget_.spend(4 * entries.size());
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    write_items('{', '}', entries, depth, write_entry);
  }

  template <typename Items, typename Write>
  void write_items(char open, char close, const Items& items, int depth, Write write_item) {
    out_ += open;
    bool first = true;
    for (const auto& item : items) {
      if (!first) out_ += style_.between;
      first = false;
      new_line(depth + 1);
      write_item(item);
    }
    if (!items.empty()) new_line(depth);
    out_ += close;
  }

  void new_line(int depth) {
    if (style_.indent < 0) return;
    const auto spaces = static_cast<size_t>(style_.indent) * static_cast<size_t>(depth);
    budget_.spend_bytes(spaces);
    out_ += '\n';
    out_.append(spaces, ' ');
  }

  void write_text(std::string_view text) {
    budget_.spend_bytes(text.size());
    out_ += '"';
    for (size_t at = 0; at < text.size();) {
      const auto byte = static_cast<unsigned char>(text[at]);
      if (byte >= 0x80) {
        const CodePoint point = utf8_at(text, at);
        if (style_.ascii) {
          write_escape(point.value);
        } else {
          out_.append(text, at, point.size);
        }
        at += point.size;
        continue;
      }
      ++at;
      switch (byte) {
        case '"':
          out_ += "\\\"";
          break;
        case '\\':
          out_ += "\\\\";
          break;
        case '\n':
          out_ += "\\n";
          break;
        case '\r':
          out_ += "\\r";
          break;
        case '\t':
          out_ += "\\t";
          break;
        case '\f':
          out_ += "\\f";
          break;
        case '\b':
          out_ += "\\b";
          break;
        default:
          if (byte < 0x20 || (style_.ascii && byte == 0x7f)) {
            add_hex(out_, "\\u", byte, 4);
          } else {
            out_ += static_cast<char>(byte);
          }
      }
    }
    out_ += '"';
  }

  void write_escape(char32_t code) {
    if (code < 0x10000) return add_hex(out_, "\\u", code, 4);
    add_hex(out_, "\\u", 0xd800 + ((code - 0x10000) >> 10), 4);
    add_hex(out_, "\\u", 0xdc00 + ((code - 0x10000) & 0x3ff), 4);
  }

  const JsonStyle& style_;
  Budget& budget_;
  std::string out_;
};

}  // namespace

Value Value::undefined(std::string_view name) {
  Value value;
  value.data_ = Undefined{std::make_shared<const std::string>(name)};
  return value;
}

const std::vector<Value>& Value::items() const { return list()->items; }

double Value::number() const {
  return is_float() ? std::get<double>(data_) : static_cast<double>(whole());
}

int Value::depth() const {
  if (is_list()) return list()->depth;
  if (is_map()) return map().depth();
  if (is_loop()) return loop().items->depth + 1;
  if (is_callable()) return callable().self.depth() + 1;
  return 0;
}

const char* Value::kind() const {
  constexpr const char* kNames[] = {"undefined", "None", "bool",      "int",  "float",   "str",
                                    "list",      "dict", "namespace", "loop", "function"};
  return kNames[data_.index()];
}

const Value* Map::find(std::string_view key) const {
  if (!index_.empty()) {
    const auto at = index_.find(std::string(key));
    return at == index_.end() ? nullptr : &entries_[at->second].second;
  }
  for (const auto& entry : entries_)
    if (entry.first == key) return &entry.second;
  return nullptr;
}

void Map::set(std::string key, Value value) {
  depth_ = std::max(depth_, value.depth() + 1);
  check_depth(depth_);
  if (const Value* known = find(key)) {
    *const_cast<Value*>(known) = std::move(value);
    return;
  }
  entries_.emplace_back(std::move(key), std::move(value));
  if (entries_.size() < kIndexed) return;
  if (entries_.size() == kIndexed) {
    for (size_t i = 0; i < entries_.size(); ++i) index_[entries_[i].first] = i;
  } else {
    index_[entries_.back().first] = entries_.size() - 1;
  }
}

Value make_list(std::vector<Value> items, bool tuple) {
  const int depth = deepest(items);
  check_depth(depth);
  return Value(std::make_shared<const List>(List{std::move(items), tuple, depth}));
}

Value make_group(Value grouper, Value list) {
  const Value pair = make_list({std::move(grouper), std::move(list)}, true);
  List group = *pair.list();
  group.group = true;
  return Value(std::make_shared<const List>(std::move(group)));
}

Value make_map(Map map) { return Value(std::make_shared<const Map>(std::move(map))); }

bool truth(const Value& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (value.is_number()) return value.number() != 0;
  if (value.is_text()) return !value.text().empty();
  if (value.is_list()) return !value.items().empty();
  if (value.is_map()) return !value.map().entries().empty();
  return true;
}

bool equal(const Value& a, const Value& b, Budget& budget) {
  budget.spend(1);
  if (a.is_int() && b.is_int()) return a.integer() == b.integer();
  if (a.is_number() && b.is_number()) return a.number() == b.number();
  if (a.is_text() && b.is_text()) {
    budget.spend_bytes(std::min(a.text().size(), b.text().size()) / 8);
    return a.text() == b.text();
  }
  if (a.is_list() && b.is_list()) {
    const auto same = [&](const Value& x, const Value& y) { return equal(x, y, budget); };
    return a.list()->tuple == b.list()->tuple && a.items().size() == b.items().size() &&
           std::equal(a.items().begin(), a.items().end(), b.items().begin(), same);
  }
  if (a.is_map() && b.is_map()) {
    const auto& entries = a.map().entries();
    if (entries.size() != b.map().entries().size()) return false;
    return std::all_of(entries.begin(), entries.end(), [&](const auto& entry) {
      budget.spend(2);
      const Value* other = b.map().find(entry.first);
      return other != nullptr && equal(entry.second, *other, budget);
    });
  }
  if (a.is_namespace() && b.is_namespace()) return &a.names() == &b.names();
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

int compare(const Value& a, const Value& b, Budget& budget) {
  budget.spend(1);
  if (a.is_number() && b.is_number()) {
    if (!a.is_float() && !b.is_float()) return (a.whole() > b.whole()) - (a.whole() < b.whole());
    return (a.number() > b.number()) - (a.number() < b.number());
  }
  if (a.is_text() && b.is_text()) {
    budget.spend_bytes(std::min(a.text().size(), b.text().size()));
    return a.text().compare(b.text());
  }
  if (a.is_list() && b.is_list()) {
    for (size_t i = 0; i < std::min(a.items().size(), b.items().size()); ++i)
      if (!equal(a.items()[i], b.items()[i], budget))
        return compare(a.items()[i], b.items()[i], budget);
    return (a.items().size() > b.items().size()) - (a.items().size() < b.items().size());
  }
  throw Fault(concat("cannot order ", a.kind(), " and ", b.kind()));
}

std::string str(const Value& value, Budget& budget) {
  if (value.is_text()) {
    budget.spend_bytes(value.text().size());
    return value.text();
  }
  if (value.is_undefined()) return "";
  if (value.is_none()) return "None";
  if (value.is_bool()) return value.flag() ? "True" : "False";
  if (value.is_int()) return std::to_string(value.integer());
  if (value.is_float()) return float_text(value.number());
  if (value.is_list() || value.is_map()) return repr(value, budget);
  throw Fault(concat("cannot print a ", value.kind()));
}

std::string repr(const Value& value, Budget& budget) {
  std::string out;
  write_repr(value, out, budget);
  return out;
}

std::shared_ptr<const List> iterate(const Value& value, Budget& budget) {
  if (value.is_list()) return value.list();
  std::vector<Value> items;
  if (value.is_map()) {
    budget.spend(value.map().entries().size());
    for (const auto& entry : value.map().entries()) items.emplace_back(entry.first);
  } else if (value.is_text()) {
    const std::string& text = value.text();
    budget.spend(2 * text.size());
    for (size_t at = 0; at < text.size();) {
      const size_t size = utf8_at(text, at).size;
      items.emplace_back(text.substr(at, size));
      at += size;
    }
  } else if (!value.is_undefined()) {
    throw Fault(concat("cannot iterate over a value of type ", value.kind()));
  }
  return make_list(std::move(items)).list();
}

std::string to_json(const Value& value, const JsonStyle& style, Budget& budget) {
  JsonWriter writer(style, budget);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace syrinx::jinja
