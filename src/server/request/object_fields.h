// Reads and checks the fields of JSON that clients send. Bodies of speech requests and events of
// the Realtime API are nlohmann's JSON. Bodies of chats are jinja values, which keep the order of
// keys. The first fault is thrown as an ApiError that names the field by its path; the parser of
// the body or event catches it. ObjectFields borrows the object. Call from any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/request/api_error.h"
#include "server/request/fields.h"
#include "text/jinja/value.h"

namespace syrinx {

/// `Json` is JsonIn or jinja::Value. A field that is null counts as absent, except in has().
template <typename Json>
class ObjectFields {
 public:
  using List = std::vector<Json>;

  /// `object` must be an object. `scope` precedes the names in messages: "session.audio.".
  explicit ObjectFields(const Json& object, std::string scope = "")
      : object_(&object), scope_(std::move(scope)) {}
  /// Returns the fields of the value at `path`, which must be an object.
  static ObjectFields of(const Json& value, const std::string& path);

  std::string path(std::string_view name) const { return scope_ + std::string(name); }
  const Json& json() const { return *object_; }
  /// Returns whether the field exists, null included.
  bool has(std::string_view name) const;
  /// Returns the value; null pointer if the field is absent or null.
  const Json* find(std::string_view name) const;

  std::optional<std::string> text(std::string_view name) const;
  std::string need_text(std::string_view name) const;
  std::optional<bool> flag(std::string_view name) const;
  /// Returns a number in [low, high].
  std::optional<double> number(std::string_view name, double low, double high) const;
  /// Returns an integer in [low, high]; 3.0 is an integer, too. The bounds must be within 2^53.
  std::optional<int64_t> integer(std::string_view name, int64_t low, int64_t high) const;
  int64_t need_integer(std::string_view name, int64_t low, int64_t high) const;
  /// Returns an unsigned integer of 64 bits; nullopt also for -1.
  std::optional<uint64_t> bits_or_minus_one(std::string_view name) const;
  /// Returns a text that is one of `choices`.
  std::optional<std::string> choice(std::string_view name,
                                    std::initializer_list<std::string_view> choices) const {
    return choice(name, std::span(choices.begin(), choices.size()));
  }
  std::optional<std::string> choice(std::string_view name,
                                    std::span<const std::string_view> choices) const;
  std::optional<ObjectFields> object(std::string_view name) const;
  ObjectFields need_object(std::string_view name) const;
  const List* list(std::string_view name) const;

  [[noreturn]] void refuse(std::string_view name, std::string message,
                           const char* code = "invalid_value") const;
  /// Throws for a value that is well-formed but not supported.
  [[noreturn]] void unsupported(std::string_view name, std::string message) const {
    refuse(name, std::move(message), "unsupported_value");
  }
  [[noreturn]] void missing(std::string_view name) const;
  /// Throws for a value of another type. `want`: the expected type, e.g. "a string".
  [[noreturn]] void wrong_type(std::string_view name, std::string_view want, const Json& got) const;

 private:
  const Json* object_;
  std::string scope_;
};

extern template class ObjectFields<JsonIn>;
extern template class ObjectFields<jinja::Value>;

using JsonFields = ObjectFields<JsonIn>;
using ChatFields = ObjectFields<jinja::Value>;

}  // namespace syrinx
