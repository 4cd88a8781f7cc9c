#include "server/request/object_fields.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "model/options.h"

namespace syrinx {
namespace {

/// How the reader accesses a JSON value. true and false are not numbers.
template <typename Json>
struct JsonView;

template <>
struct JsonView<JsonIn> {
  // The error code of OpenAI's events for a missing field.
  static constexpr const char* kMissingCode = "missing_required_parameter";
  static const JsonIn* at(const JsonIn& object, std::string_view name) {
    const auto found = object.find(std::string(name));
    return found == object.end() ? nullptr : &*found;
  }
  static bool is_null(const JsonIn& value) { return value.is_null(); }
  static bool is_object(const JsonIn& value) { return value.is_object(); }
  static const std::string* text(const JsonIn& value) {
    return value.get_ptr<const std::string*>();
  }
  static const bool* flag(const JsonIn& value) { return value.get_ptr<const bool*>(); }
  static const std::vector<JsonIn>* list(const JsonIn& value) {
    return value.get_ptr<const JsonIn::array_t*>();
  }
  static std::optional<double> number(const JsonIn& value) {
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
  }
  /// Reads a number that is stored as an integer.
  static std::optional<uint64_t> bits(const JsonIn& value) {
    return value.is_number_unsigned() ? std::optional(value.get<uint64_t>()) : std::nullopt;
  }
};

template <>
struct JsonView<jinja::Value> {
  using Value = jinja::Value;
  static constexpr const char* kMissingCode = "invalid_value";
  static const Value* at(const Value& object, std::string_view name) {
    return object.map().find(name);
  }
  static bool is_null(const Value& value) { return value.is_none(); }
  static bool is_object(const Value& value) { return value.is_map(); }
  static const std::string* text(const Value& value) {
    return value.is_text() ? &value.text() : nullptr;
  }
  static std::optional<bool> flag(const Value& value) {
    return value.is_bool() ? std::optional(value.flag()) : std::nullopt;
  }
  static const std::vector<Value>* list(const Value& value) {
    return value.is_list() ? &value.items() : nullptr;
  }
  static std::optional<double> number(const Value& value) {
    return value.is_number() && !value.is_bool() ? std::optional(value.number()) : std::nullopt;
  }
  /// Chat bodies keep large integers as doubles. 2^64 is the nearest to the largest 64-bit ones.
  static std::optional<uint64_t> bits(const Value& value) {
    if (number(value) == 0x1p64) return std::numeric_limits<uint64_t>::max();
    if (!value.is_int() || value.integer() < 0) return {};
    return static_cast<uint64_t>(value.integer());
  }
};

template <typename Json>
const char* kind_of(const Json& value) {
  using View = JsonView<Json>;
  if (View::is_object(value)) return "an object";
  if (View::list(value)) return "an array";
  if (View::text(value)) return "a string";
  if (View::flag(value)) return "a boolean";
  return View::number(value) ? "a number" : "null";
}

bool whole(double number) { return std::isfinite(number) && std::trunc(number) == number; }

std::string out_of_bounds(const std::string& path, double low, double high) {
  return concat("'", path, "' must be ", bounds_text({low, high}), ".");
}

}  // namespace

template <typename Json>
ObjectFields<Json> ObjectFields<Json>::of(const Json& value, const std::string& path) {
  ObjectFields out(value, path);
  if (!JsonView<Json>::is_object(value)) out.wrong_type("", "an object", value);
  out.scope_ += '.';
  return out;
}

template <typename Json>
void ObjectFields<Json>::refuse(std::string_view name, std::string message,
                                const char* code) const {
  throw ApiError{.message = std::move(message), .param = path(name), .code = code};
}

template <typename Json>
void ObjectFields<Json>::missing(std::string_view name) const {
  refuse(name, concat("'", path(name), "' is missing."), JsonView<Json>::kMissingCode);
}

template <typename Json>
void ObjectFields<Json>::wrong_type(std::string_view name, std::string_view want,
                                    const Json& got) const {
  refuse(name, concat("'", path(name), "' must be ", want, ", not ", kind_of(got), "."),
         "invalid_type");
}

template <typename Json>
bool ObjectFields<Json>::has(std::string_view name) const {
  return JsonView<Json>::at(*object_, name) != nullptr;
}

template <typename Json>
const Json* ObjectFields<Json>::find(std::string_view name) const {
  const Json* value = JsonView<Json>::at(*object_, name);
  return value == nullptr || JsonView<Json>::is_null(*value) ? nullptr : value;
}

template <typename Json>
std::optional<std::string> ObjectFields<Json>::text(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return {};
  const std::string* text = JsonView<Json>::text(*value);
  if (text == nullptr) wrong_type(name, "a string", *value);
  return *text;
}

template <typename Json>
std::string ObjectFields<Json>::need_text(std::string_view name) const {
  auto value = text(name);
  if (!value) missing(name);
  return std::move(*value);
}

template <typename Json>
std::optional<bool> ObjectFields<Json>::flag(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return {};
  const auto flag = JsonView<Json>::flag(*value);
  if (!flag) wrong_type(name, "true or false", *value);
  return *flag;
}

template <typename Json>
std::optional<double> ObjectFields<Json>::number(std::string_view name, double low,
                                                 double high) const {
  const Json* value = find(name);
  if (value == nullptr) return {};
  const auto number = JsonView<Json>::number(*value);
  if (!number) wrong_type(name, "a number", *value);
  if (!(*number >= low && *number <= high)) refuse(name, out_of_bounds(path(name), low, high));
  return *number;
}

template <typename Json>
std::optional<int64_t> ObjectFields<Json>::integer(std::string_view name, int64_t low,
                                                   int64_t high) const {
  const Json* value = find(name);
  if (value == nullptr) return {};
  const auto number = JsonView<Json>::number(*value);
  if (!number || !whole(*number)) wrong_type(name, "an integer", *value);
  const auto least = static_cast<double>(low), most = static_cast<double>(high);
  if (*number < least || *number > most) refuse(name, out_of_bounds(path(name), least, most));
  return static_cast<int64_t>(*number);
}

template <typename Json>
int64_t ObjectFields<Json>::need_integer(std::string_view name, int64_t low, int64_t high) const {
  const auto value = integer(name, low, high);
  if (!value) missing(name);
  return *value;
}

template <typename Json>
std::optional<uint64_t> ObjectFields<Json>::bits_or_minus_one(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return {};
  if (const auto bits = JsonView<Json>::bits(*value)) return bits;
  const auto number = JsonView<Json>::number(*value);
  if (!number || !whole(*number)) wrong_type(name, "an integer", *value);
  if (*number == -1) return {};
  if (*number < 0 || *number >= 0x1p64) {
    refuse(name, concat("'", path(name), "' must be between 0 and ",
                        std::numeric_limits<uint64_t>::max(), ", or -1."));
  }
  return static_cast<uint64_t>(*number);
}

template <typename Json>
std::optional<std::string> ObjectFields<Json>::choice(
    std::string_view name, std::span<const std::string_view> choices) const {
  auto value = text(name);
  if (!value || std::find(choices.begin(), choices.end(), *value) != choices.end()) return value;
  std::string all;
  for (size_t i = 0; i < choices.size(); ++i) {
    all += concat(i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ", "'", choices[i], "'");
  }
  refuse(name, concat("'", path(name), "' must be ", all, ", not '", value->substr(0, 100), "'."));
}

template <typename Json>
std::optional<ObjectFields<Json>> ObjectFields<Json>::object(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return {};
  return of(*value, path(name));
}

template <typename Json>
ObjectFields<Json> ObjectFields<Json>::need_object(std::string_view name) const {
  auto value = object(name);
  if (!value) missing(name);
  return std::move(*value);
}

template <typename Json>
const std::vector<Json>* ObjectFields<Json>::list(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return nullptr;
  const auto* list = JsonView<Json>::list(*value);
  if (list == nullptr) wrong_type(name, "an array", *value);
  return list;
}

template class ObjectFields<JsonIn>;
template class ObjectFields<jinja::Value>;

}  // namespace syrinx
