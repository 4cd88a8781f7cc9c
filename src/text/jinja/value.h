// Values of templates: Python's None, bool, int, float, str, list, tuple and dict, and a few
// objects of Jinja. Values are immutable and cheap to copy. Text is UTF-8, and its positions count
// code points. Errors are thrown as Fault. Work that grows with the data is subtracted from a
// Budget, so that no template runs forever.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"

namespace syrinx::jinja {

/// An error of a template or its data; the message is for users.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The remaining work of a rendering, in units: a step, an item or some bytes of text.
class Budget {
 public:
  explicit Budget(uint64_t units) : left_(units) {}
  void spend(uint64_t units) {
    if (units > left_) throw Fault("the template exceeds the limit of work");
    left_ -= units;
  }
  void spend_bytes(size_t bytes) { spend(bytes / 8); }
  uint64_t left() const { return left_; }

 private:
  uint64_t left_;
};

/// The most levels of nested lists and maps.
inline constexpr int kMaxDepth = 100;

class Value;
struct List;
class Map;
struct Loop;
struct Callable;
struct Namespace;

/// The value `none`.
struct None {
  bool operator==(const None&) const = default;
};
/// The value of a missing variable or attribute; printed as an empty text.
struct Undefined {
  std::shared_ptr<const std::string> name;
};

/// A value of any kind; copies share lists and mappings.
class Value {
 public:
  Value() = default;  // undefined
  Value(None none) : data_(none) {}
  Value(bool flag) : data_(flag) {}
  Value(int64_t number) : data_(number) {}
  Value(double number) : data_(number) {}
  Value(std::string text) : data_(std::make_shared<const std::string>(std::move(text))) {}
  Value(std::string_view text) : Value(std::string(text)) {}
  Value(const char* text) : Value(std::string(text)) {}
  Value(std::shared_ptr<const List> list) : data_(std::move(list)) {}
  Value(std::shared_ptr<const Map> map) : data_(std::move(map)) {}
  Value(std::shared_ptr<const Loop> loop) : data_(std::move(loop)) {}
  Value(std::shared_ptr<const Callable> callable) : data_(std::move(callable)) {}
  Value(Namespace* names) : data_(names) {}
  static Value undefined(std::string_view name);

  bool is_undefined() const { return is<Undefined>(); }
  bool is_none() const { return is<None>(); }
  bool is_bool() const { return is<bool>(); }
  bool is_int() const { return is<int64_t>(); }
  bool is_float() const { return is<double>(); }
  /// Returns whether the value is an int, a float or a bool, as in Python.
  bool is_number() const { return is_int() || is_float() || is_bool(); }
  bool is_text() const { return is<std::shared_ptr<const std::string>>(); }
  bool is_list() const { return is<std::shared_ptr<const List>>(); }
  bool is_map() const { return is<std::shared_ptr<const Map>>(); }
  bool is_namespace() const { return is<Namespace*>(); }
  bool is_loop() const { return is<std::shared_ptr<const Loop>>(); }
  bool is_callable() const { return is<std::shared_ptr<const Callable>>(); }

  // Each of these returns the value, whose type must be the returned type.
  bool flag() const { return std::get<bool>(data_); }
  int64_t integer() const { return std::get<int64_t>(data_); }
  const std::string& text() const { return *std::get<std::shared_ptr<const std::string>>(data_); }
  const std::vector<Value>& items() const;
  const std::shared_ptr<const List>& list() const {
    return std::get<std::shared_ptr<const List>>(data_);
  }
  const Map& map() const { return *std::get<std::shared_ptr<const Map>>(data_); }
  const Loop& loop() const { return *std::get<std::shared_ptr<const Loop>>(data_); }
  const Callable& callable() const { return *std::get<std::shared_ptr<const Callable>>(data_); }
  Namespace& names() const { return *std::get<Namespace*>(data_); }
  const Undefined& missing() const { return std::get<Undefined>(data_); }
  /// Returns a number as a float; bools are 0 and 1.
  double number() const;
  /// Returns an int, or a bool as 0 or 1.
  int64_t whole() const { return is_bool() ? flag() : integer(); }

  int depth() const;
  /// Returns Python's name of the type: "str", "dict", ...
  const char* kind() const;

 private:
  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(data_);
  }
  std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const std::string>,
               std::shared_ptr<const List>, std::shared_ptr<const Map>, Namespace*,
               std::shared_ptr<const Loop>, std::shared_ptr<const Callable>>
      data_;
};

/// A list, or a tuple.
struct List {
  std::vector<Value> items;
  bool tuple = false;
  int depth = 1;
  bool group = false;  ///< made by groupby: its two items are also called grouper and list
};

/// A dict that keeps the order of insertion, as in Python; keys are text.
class Map {
 public:
  /// Returns the value of a key, or null if the map lacks the key.
  const Value* find(std::string_view key) const;
  void set(std::string key, Value value);
  const std::vector<std::pair<std::string, Value>>& entries() const { return entries_; }
  int depth() const { return depth_; }

 private:
  static constexpr size_t kIndexed = 12;  // a map of at least this many entries has a hash table
  std::vector<std::pair<std::string, Value>> entries_;
  std::unordered_map<std::string, size_t> index_;
  int depth_ = 1;
};

/// The result of namespace(): the only value that a loop may change outside of itself. The
/// interpreter owns it, because a namespace may contain itself.
struct Namespace {
  Map values;
};

/// The variable `loop` in a for loop.
struct Loop {
  std::shared_ptr<const List> items;
  size_t at = 0;
  std::shared_ptr<std::optional<std::vector<Value>>> last = {};  ///< last arguments of changed()
};

/// Makes a list or a tuple. Throws a Fault if the items are nested too deeply.
Value make_list(std::vector<Value> items, bool tuple = false);
/// Makes the pair (grouper, list) of the filter groupby.
Value make_group(Value grouper, Value list);
/// Makes a dict of the map.
Value make_map(Map map);

/// Computes Python's bool(): false for undefined, None, zero and empty values.
bool truth(const Value& value);
/// Computes Python's ==.
bool equal(const Value& a, const Value& b, Budget& budget);
/// Returns < 0, 0 or > 0 for numbers, texts and lists of these; throws a Fault for other values.
int compare(const Value& a, const Value& b, Budget& budget);
/// Computes Python's str().
std::string str(const Value& value, Budget& budget);
/// Computes Python's repr().
std::string repr(const Value& value, Budget& budget);
/// Returns what a for loop over the value visits: items, keys or characters.
std::shared_ptr<const List> iterate(const Value& value, Budget& budget);

/// Options of the filter tojson.
struct JsonStyle {
  int indent = -1;  ///< spaces per level; below 0: everything on one line
  std::string between = ", ";
  std::string after_key = ": ";
  bool ascii = false;
  bool sort_keys = false;
};
/// Computes Python's json.dumps().
std::string to_json(const Value& value, const JsonStyle& style, Budget& budget);

/// Parses JSON of at most `max_values` values and kMaxDepth / 2 levels. Integers beyond 64 bits
/// become floats. If a key occurs again, the last value counts. Errors are kInvalid without param.
Result<Value> parse_json(std::string_view text, size_t max_values = 1'000'000);

}  // namespace syrinx::jinja
